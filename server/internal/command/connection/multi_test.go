package connection_test

import (
	"strings"
	"testing"

	"github.com/bloomery/bloomery/server/internal/command/commandtest"
)

// TestRefusalsInTransactions checks where the log of refusals places them.
func TestRefusalsInTransactions(t *testing.T) {
	b := commandtest.New(t, 1<<30)
	b.Script(t, `
		ACL SETUSER u on nopass +acl +multi +discard +auth -> +OK
		AUTH u x -> +OK
		MULTI -> +OK`)
	b.Line("GET k")
	b.Line("DISCARD")
	if got := b.Line("ACL LOG"); !strings.Contains(got, `"context" "multi"`) {
		t.Errorf("ACL LOG = %s, want a refusal in a transaction", got)
	}
}

// TestTwoDumpsInATransaction dumps a filter twice at once: the second copies it, since
// the first has it frozen, and gives the same bytes.
func TestTwoDumpsInATransaction(t *testing.T) {
	b := commandtest.New(t, 1<<30)
	b.Line("BF.ADD bf x")
	b.Line("CF.ADD cf x")
	for _, key := range []string{"bf", "cf"} {
		one := b.Line("DUMP " + key)
		b.Line("MULTI")
		b.Line("DUMP " + key)
		b.Line("DUMP " + key)
		if got, want := b.Line("EXEC"), "["+one+" "+one+"]"; got != want || len(one) < 50 {
			t.Errorf("%s: two dumps of %d bytes in all, want twice %d", key, len(got), len(one))
		}
	}
}
