package command_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/command/commandtest"
)

// TestMemoryIsRefused asks that whatever would take more memory than there is
// gets an error, that nothing is allocated for it, and that the rest works on.
func TestMemoryIsRefused(t *testing.T) {
	const limit = 1 << 20
	b := commandtest.New(t, limit)
	for _, tt := range []struct{ cmd, want string }{
		{"BF.RESERVE k 1e-300 1073741824", "-ERR Insufficient memory to create filter"},
		{"BF.RESERVE k 0.001 1073741824", "-ERR Insufficient memory to create filter"},
		{"CF.RESERVE k 1073741824", "-ERR Insufficient memory"},
		{"BF.INSERT k CAPACITY 1073741824 ITEMS a", "-OOM command not allowed when used memory > 'maxmemory'."},
		{"CF.INSERT k CAPACITY 1073741824 ITEMS a", "-OOM command not allowed when used memory > 'maxmemory'."},
		{"SETRANGE k 500000000 x", "-OOM command not allowed when used memory > 'maxmemory'."},
		{"EXISTS k", ":0"},
		{"BF.RESERVE g 0.01 1000 EXPANSION 32768", "+OK"},
		{"CF.RESERVE h 500000 EXPANSION 32768", "+OK"},
		{"CF.ADD h a", ":1"},
	} {
		if got := b.Line(tt.cmd); got != tt.want {
			t.Errorf("%s = %s, want %s", tt.cmd, got, tt.want)
		}
	}
	refused := false
	for i := range 3000 {
		got := b.Do("BF.ADD", "g", strings.Repeat("x", i))
		refused = refused || strings.HasPrefix(got, "-OOM")
	}
	if !refused {
		t.Error("a Bloom filter that grows by 32768 was never refused")
	}
	if got := b.Line("BF.INFO g FILTERS"); got != "[+Number of filters :1]" {
		t.Errorf("BF.INFO g FILTERS = %s, want 1", got)
	}
	// Repeated items fill their buckets and ask for a sub-filter that does
	// not fit; others still find a slot.
	last := ""
	for range 10 {
		last = b.Line("CF.ADD h a")
	}
	if !strings.HasPrefix(last, "-OOM") {
		t.Errorf("CF.ADD of an item without room = %s, want OOM", last)
	}
	if got := b.Line("CF.ADD h other"); got != ":1" {
		t.Errorf("CF.ADD of an item with room = %s, want :1", got)
	}
	if got := b.State.Bytes(); got > limit {
		t.Errorf("%d bytes in use, limit %d", got, limit)
	}
	if got := b.Line("DEL g h"); got != ":2" {
		t.Errorf("DEL = %s, want :2", got)
	}
	if got := b.State.Bytes(); got != 0 {
		t.Errorf("%d bytes in use after DEL, want 0", got)
	}
}

// TestReadsAndWritesWithoutMemory asks for more than maxmemory leaves: an error, and
// the server goes on.
func TestReadsAndWritesWithoutMemory(t *testing.T) {
	b := commandtest.New(t, 1<<30)
	b.Line("BF.RESERVE bf 0.001 100000")
	b.Line("FILTER.CREATE f bloom CAPACITY 100000")
	b.Do("SET", "s", strings.Repeat("x", 300_000))
	dumps := map[string]string{}
	for _, name := range []string{"bf", "f", "s"} {
		dumps[name] = b.Line("DUMP " + name)
	}
	b.Line(fmt.Sprint("CONFIG SET maxmemory ", b.State.Bytes()+50_000))
	for range 2 { // what the first has frozen is free again
		for name := range dumps {
			if got := b.Line("DUMP " + name); got != "-"+answer.TextOOM {
				t.Errorf("DUMP %s without memory = %.50s", name, got)
			}
		}
	}
	for _, words := range [][]string{
		{"SETRANGE", "n", "0", strings.Repeat("x", 200_000)}, {"SETRANGE", "n", "200000", "x"}, {"APPEND", "n", strings.Repeat("x", 200_000)},
	} {
		if got := b.Do(words...); got != "-"+answer.TextOOM {
			t.Errorf("%s without memory = %.50s", words[0], got)
		}
	}
	b.Line("CONFIG SET maxmemory 1073741824")
	for name, want := range dumps {
		if got := b.Line("DUMP " + name); got != want {
			t.Errorf("DUMP %s with memory again = %.50s", name, got)
		}
		b.Line("MULTI")
		b.Line("DUMP " + name)
		b.Line("DUMP " + name)
		if got := b.Line("EXEC"); got != "["+want+" "+want+"]" {
			t.Errorf("DUMP %s twice in a transaction = %.50s", name, got)
		}
	}
	small := commandtest.New(t, 3000)
	got := "+OK"
	for i := 0; i < 1000 && got == "+OK"; i++ {
		got = small.Line(fmt.Sprint("WATCH key", i))
	}
	if !strings.HasPrefix(got, "-") {
		t.Errorf("WATCH of 1000 keys in 3000 bytes = %s", got)
	}
}
