package admin_test

import (
	"strings"
	"testing"

	"github.com/bloomery/bloomery/server/internal/command/commandtest"
)

// TestRefusalsExplain asks that commands which are not supported say so, why, and
// what to do instead.
func TestRefusalsExplain(t *testing.T) {
	b := commandtest.New(t, 1<<30)
	for _, tt := range []struct {
		line  string
		words []string
	}{
		{"EVAL x 0", []string{"-ERR", "not supported", "MULTI", "WATCH"}},
		{"EVALSHA x 0", []string{"-ERR", "not supported", "MULTI"}},
		{"EVAL_RO x 0", []string{"-ERR", "not supported", "MULTI"}},
		{"FCALL x 0", []string{"-ERR", "not supported", "MULTI"}},
		{"SCRIPT LOAD x", []string{"-ERR", "not supported", "MULTI"}},
		{"FUNCTION LOAD x", []string{"-ERR", "not supported", "MULTI"}},
		{"SUBSCRIBE x", []string{"-ERR", "not supported", "beside it"}},
		{"PSUBSCRIBE x", []string{"-ERR", "not supported", "beside it"}},
		{"SSUBSCRIBE x", []string{"-ERR", "not supported", "beside it"}},
		{"PUBLISH x m", []string{"-ERR", "not supported", "beside it"}},
		{"SELECT 1", []string{"-ERR DB index is out of range", "one database", "prefix"}},
		{"SELECT -1", []string{"-ERR DB index is out of range", "one database", "prefix"}},
	} {
		got := b.Line(tt.line)
		for _, w := range tt.words {
			if !strings.Contains(got, w) {
				t.Errorf("%s = %s, without %q", tt.line, got, w)
			}
		}
	}
	if got := b.Line("COMMAND INFO eval"); !strings.Contains(got, "eval") {
		t.Errorf("COMMAND INFO eval = %s", got)
	}
}
