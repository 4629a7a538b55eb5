package command_test

import (
	"strings"
	"testing"
)

// TestRefusalsInTransactions checks where the log of refusals places them.
func TestRefusalsInTransactions(t *testing.T) {
	b := newBench(t, 1<<30)
	b.script(t, `
		ACL SETUSER u on nopass +acl +multi +discard +auth -> +OK
		AUTH u x -> +OK
		MULTI -> +OK`)
	b.line("GET k")
	b.line("DISCARD")
	if got := b.line("ACL LOG"); !strings.Contains(got, `"context" "multi"`) {
		t.Errorf("ACL LOG = %s, want a refusal in a transaction", got)
	}
}

// TestTwoDumpsInATransaction dumps a filter twice at once: the second copies it, since
// the first has it frozen, and gives the same bytes.
func TestTwoDumpsInATransaction(t *testing.T) {
	b := newBench(t, 1<<30)
	b.line("BF.ADD bf x")
	b.line("CF.ADD cf x")
	for _, key := range []string{"bf", "cf"} {
		one := b.line("DUMP " + key)
		b.line("MULTI")
		b.line("DUMP " + key)
		b.line("DUMP " + key)
		if got, want := b.line("EXEC"), "["+one+" "+one+"]"; got != want || len(one) < 50 {
			t.Errorf("%s: two dumps of %d bytes in all, want twice %d", key, len(got), len(one))
		}
	}
}
