package engine_test

import (
	"fmt"
	"strings"
	"testing"
)

// TestTransactionStates asks for the answer to every command on transactions in
// every state, and for the state behind it.
func TestTransactionStates(t *testing.T) {
	const nested, noMulti, noDiscard = "-ERR MULTI calls can not be nested", "-ERR EXEC without MULTI", "-ERR DISCARD without MULTI"
	for _, tt := range []struct {
		lines string // with semicolons
		want  string // prefixes of the answers, the same way
	}{
		{"EXEC; DISCARD; MULTI; MULTI; EXEC; EXEC", noMulti + "; " + noDiscard + "; +OK; " + nested + "; []; " + noMulti},
		{"MULTI; EXEC", "+OK; []"},
		{"MULTI; DISCARD; EXEC", "+OK; +OK; " + noMulti},
		{"MULTI; SET a; SET a 1; EXEC; GET a", "+OK; -ERR wrong number; +QUEUED; -EXECABORT; nil"},
		{"MULTI; NOSUCH; EXEC", "+OK; -ERR unknown command; -EXECABORT"},
		{"MULTI; SET a 1; INCR a; BF.ADD a x; GET a; EXEC", "+OK; +QUEUED; +QUEUED; +QUEUED; +QUEUED; [+OK :2 -WRONGTYPE"},
		{"MULTI; WATCH a; EXEC", "+OK; -ERR WATCH inside MULTI; []"},
		{"MULTI; SAVE; PING; EXEC", "+OK; -ERR Command not allowed inside a transaction; +QUEUED; -EXECABORT"},
		{"MULTI; SET a 1; RESET; EXEC; GET a", "+OK; +QUEUED; +RESET; " + noMulti + "; nil"},
		{"MULTI; UNWATCH; PING x; EXEC", "+OK; +QUEUED; +QUEUED; [+OK \"x\"]"},
	} {
		b := newBench(t, 1<<30)
		want := strings.Split(tt.want, "; ")
		for i, line := range strings.Split(tt.lines, "; ") {
			if got := b.line(line); !strings.HasPrefix(got, want[i]) {
				t.Errorf("%s: %s = %.80s, want %s", tt.lines, line, got, want[i])
			}
		}
		if b.session.Busy() || b.session.Memory() != 0 {
			t.Errorf("%s: a transaction is open, or %d bytes are held", tt.lines, b.session.Memory())
		}
	}
}

// TestWatchSeesEveryChange changes what a client watches in every way, and asks that
// its transaction is refused; and that what changes nothing refuses none.
func TestWatchSeesEveryChange(t *testing.T) {
	for _, tt := range []struct {
		line    string
		changes bool
	}{
		{"SET s other", true}, {"SET s v", true}, {"DEL s", true}, {"APPEND s x", true}, {"EXPIRE s 100", true}, {"RENAME s t", true},
		{"RENAME b s", true}, {"FLUSHALL", true}, {"FLUSHDB ASYNC", true}, {"COPY n s REPLACE", true}, {"GETDEL s", true}, {"SETRANGE s 0 x", true},
		{"BF.ADD b new", true}, {"BF.MADD b i new", true}, {"CF.ADD c i", true}, {"CF.DEL c i", true}, {"DEL b", true}, {"SET none 1", true},
		{"BF.ADD none x", true}, {"MSET x 1 none 2", true}, {"GETEX s EX 100", true},
		{"GET s", false}, {"BF.EXISTS b i", false}, {"BF.ADD b i", false}, {"CF.DEL c absent", false}, {"SET elsewhere 1", false}, {"SET s v NX", false},
		{"DEL absent", false}, {"SETNX s x", false}, {"EXPIRE absent 1", false}, {"APPEND absent x", false}, {"PERSIST s", false}, {"DUMP b", false},
		{"GETEX s", false}, {"KEYS *", false},
	} {
		b := newBench(t, 1<<30)
		setup(b)
		b.line("WATCH s b c none")
		other := b.connect()
		if got := other.line(tt.line); strings.HasPrefix(got, "-") {
			t.Fatalf("%s = %s", tt.line, got)
		}
		got := b.lines("MULTI", "PING", "EXEC")[2]
		if refused := got != "[+PONG]"; refused != tt.changes {
			t.Errorf("EXEC behind %s = %s, want it refused: %v", tt.line, got, tt.changes)
		}
		if got := b.lines("MULTI", "PING", "EXEC")[2]; got != "[+PONG]" {
			t.Errorf("the next EXEC behind %s = %s", tt.line, got)
		}
	}
	// What ends a watch.
	for _, end := range []string{"UNWATCH", "DISCARD", "RESET"} {
		b := newBench(t, 1<<30)
		b.line("WATCH s")
		if end == "DISCARD" {
			b.line("MULTI")
		}
		b.line(end)
		b.connect().line("SET s x")
		if got := b.lines("MULTI", "PING", "EXEC")[2]; got != "[+PONG]" {
			t.Errorf("EXEC behind %s = %s", end, got)
		}
	}
	// A deadline that passes is a change, too.
	b := newBench(t, 1<<30)
	b.lines("SET s v PX 100", "WATCH s")
	b.now = b.now.Add(1e9)
	if got := b.lines("MULTI", "PING", "EXEC")[2]; got == "[+PONG]" {
		t.Errorf("EXEC behind a deadline = %s", got)
	}
}

// TestFullBudgetInATransaction asks that with the budget full a transaction of
// reads and deletes runs, and that one that needs memory is refused as a whole.
func TestFullBudgetInATransaction(t *testing.T) {
	b := newBench(t, 4<<20)
	for i := 0; b.do("SET", fmt.Sprint("s", i), strings.Repeat("v", 50_000)) == "+OK"; i++ {
	}
	for b.do("SET", fmt.Sprint("small", b.state.Names.Len()), strings.Repeat("v", 100)) == "+OK" {
	}
	used := b.state.Bytes()
	if got := b.lines("MULTI", "STRLEN s0", "DBSIZE", "EXISTS s0 s1", "EXEC")[4]; !strings.HasPrefix(got, "[:50000 :") || !strings.HasSuffix(got, " :2]") {
		t.Errorf("a transaction that reads = %.100s", got)
	}
	if got := b.do("APPEND", "s0", strings.Repeat("v", 100_000)); !strings.HasPrefix(got, "-OOM") {
		t.Errorf("APPEND = %.60s", got)
	}
	b.line("MULTI")
	first := b.do("SET", "new", strings.Repeat("v", 60_000))
	second := b.line("EXEC")
	if !strings.HasPrefix(first, "-OOM") && !strings.HasPrefix(second, "[-OOM") {
		t.Errorf("a transaction that needs memory = %.60s, %.60s", first, second)
	}
	if got := b.state.Bytes(); got != used {
		t.Errorf("%d bytes are in use, were %d", got, used)
	}
	if got := b.lines("MULTI", "DEL s0", "EXEC", "SET s0 x"); got[2] != "[:1]" || got[3] != "+OK" {
		t.Errorf("a transaction that makes room = %s", got)
	}
}
