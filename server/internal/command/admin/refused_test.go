package admin_test

import (
	"regexp"
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
		{"hset k f v", []string{"-ERR unknown command 'hset': ", "hashes", "(SET)"}},
		{"LPUSH k a", []string{"-ERR unknown command 'LPUSH': ", "lists", "message broker"}},
		{"SADD k a", []string{"-ERR unknown command 'SADD': ", "BF.ADD", "CF.DEL"}},
		{"ZADD k 1 a", []string{"-ERR unknown command 'ZADD': ", "TOPK.ADD", "TDIGEST.ADD"}},
		{"XADD k * f v", []string{"-ERR unknown command 'XADD': ", "streams"}},
		{"GEOADD k 1 1 a", []string{"-ERR unknown command 'GEOADD': ", "beside this one"}},
		{"PFCOUNT k", []string{"-ERR unknown command 'PFCOUNT': ", "FILTER.CARD"}},
		{"SETBIT k 1 1", []string{"-ERR unknown command 'SETBIT': ", "BF.ADD"}},
		{"VADD k", []string{"-ERR unknown command 'VADD': ", "vectors"}},
		{"REPLICAOF a 1", []string{"-ERR unknown command 'REPLICAOF': ", "cluster", "bloomery follow"}},
		{"ROLE", []string{"-ERR unknown command 'ROLE': ", "INFO cluster"}},
		{"SYNC", []string{"-ERR unknown command 'SYNC': ", "bloomery backup"}},
		{"PSYNC ? -1", []string{"-ERR unknown command 'PSYNC': ", "FILTER.DUMP"}},
		{"MIGRATE h 1 k 0 1", []string{"-ERR unknown command 'MIGRATE': ", "RESTORE"}},
		{"SWAPDB 0 1", []string{"-ERR unknown command 'SWAPDB': ", "prefix"}},
		{"SORT k", []string{"-ERR unknown command 'SORT': "}},
		{"JSON.SET k . 1", []string{"-ERR unknown command 'JSON.SET': ", "modules of Redis"}},
		{"BF.NOSUCH k", []string{"-ERR unknown command 'BF.NOSUCH', with args beginning with: 'k' "}},
		{"JSON k", []string{"-ERR unknown command 'JSON', with args"}},
		{".ft k", []string{"-ERR unknown command '.ft', with args"}},
		{"SELECT -1", []string{"-ERR DB index is out of range", "one database", "prefix"}},
	} {
		got := b.Line(tt.line)
		for _, w := range tt.words {
			if !strings.Contains(got, w) {
				t.Errorf("%s = %s, without %q", tt.line, got, w)
			}
		}
		_, advice, _ := strings.Cut(got, "': ")
		for _, name := range regexp.MustCompile(`[A-Z]+\.[A-Z]+`).FindAllString(advice, -1) {
			if info := b.Line("COMMAND INFO " + name); !strings.Contains(info, strings.ToLower(name)) {
				t.Errorf("%s advises %s, which is no command: %s", tt.line, name, info)
			}
		}
	}
	if got := b.Line("COMMAND INFO eval"); !strings.Contains(got, "eval") {
		t.Errorf("COMMAND INFO eval = %s", got)
	}
}
