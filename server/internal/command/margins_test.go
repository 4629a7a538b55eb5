package command_test

import (
	"fmt"
	"strings"
	"testing"
)

// TestRefusedCopiesLeaveNothing copies a filter with a wrong option and onto itself:
// both are refused, and nothing stays in memory.
func TestRefusedCopiesLeaveNothing(t *testing.T) {
	b := newBench(t, 1<<30)
	b.line("FILTER.CREATE f bloom CAPACITY 100000")
	before := b.state.Bytes()
	b.script(t, `
		COPY f g SOON -> -ERR syntax error
		COPY f f -> -ERR source and destination objects are the same
		EXISTS g -> :0`)
	if after := b.state.Bytes(); after != before {
		t.Errorf("%d bytes after refused copies, %d before", after, before)
	}
}

// TestExpansionOfNothing checks that a filter with an expansion of 0 does not grow.
func TestExpansionOfNothing(t *testing.T) {
	b := newBench(t, 1<<30)
	b.script(t, `
		BF.RESERVE f 0.01 1 EXPANSION 0 -> +OK
		BF.INFO f EXPANSION -> [+Expansion rate nil]
		BF.ADD f a -> :1
		BF.ADD f b -> -ERR non scaling filter is full`)
}

// TestOldValueNeedsReading has a user set a key that it may not read: GET of the old
// value is refused, though the new value is the name of a key that it may read.
func TestOldValueNeedsReading(t *testing.T) {
	b := newBench(t, 1<<30)
	b.script(t, `
		ACL SETUSER u on nopass %W~k %R~v +set +get -> +OK
		AUTH u x -> +OK
		SET k v -> +OK`)
	if got := b.line("SET k v GET"); !strings.HasPrefix(got, "-NOPERM") {
		t.Errorf("SET k v GET = %s, want a refusal", got)
	}
	if got := b.line("COMMAND INFO incr"); !strings.HasPrefix(got, "-NOPERM") {
		t.Errorf("COMMAND INFO = %s, want a refusal", got)
	}
}

// TestFlagsOfIncrements asks COMMAND INFO for the flags of commands that count.
func TestFlagsOfIncrements(t *testing.T) {
	b := newBench(t, 1<<30)
	for _, name := range []string{"incr", "decr", "incrby", "decrby"} {
		if got := b.line("COMMAND INFO " + name); !strings.Contains(got, "[+write +denyoom +fast]") {
			t.Errorf("COMMAND INFO %s = %s", name, got)
		}
	}
}

// TestRandomKeyIsReadable asks for a random key as users who may read one of 300, or
// none with that command: rules of different selectors do not add up.
func TestRandomKeyIsReadable(t *testing.T) {
	b := newBench(t, 1<<30)
	for i := range 300 {
		b.line(fmt.Sprintf("SET k%d v", i))
	}
	b.script(t, `
		ACL SETUSER one on nopass ~k7 +randomkey -> +OK
		ACL SETUSER none on nopass ~nokey +randomkey +acl (~k7 +get) -> +OK
		AUTH one x -> +OK
		RANDOMKEY -> "k7"
		AUTH none x -> +OK
		RANDOMKEY -> nil`)
}

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
