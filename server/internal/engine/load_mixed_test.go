package engine_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/bloomery/bloomery/server/internal/door/cluster/memlog"
)

// TestLoadOfPartsOfAnotherFilter loads a part of another filter behind one that another node may hold. It is refused as by a single
// server, before it is sent to anybody, and the load goes on with the right one.
func TestLoadOfPartsOfAnotherFilter(t *testing.T) {
	newBench(t, 1<<30).loadOthers(t, "a single server")
	synctest.Test(t, func(t *testing.T) {
		v := newSpread(t, memlog.Faults{})
		v.place(t, oneCopy)
		v.nodes[0].loadOthers(t, "a node") // which holds one of four parts
	})
}

func (b *bench) loadOthers(t *testing.T, where string) {
	const bloom, window = "bloom CAPACITY 3000 SEED 1", "window CAPACITY 3000 SEED 1 SPAN 60s GENERATIONS 6"
	const differs = "kind, hash or generations differ"
	for _, tt := range []struct{ good, bad, options, want string }{
		{bloom, "standard CAPACITY 3000 SEED 1", "", differs},
		{bloom, "bloom CAPACITY 3000 SEED 2", "", differs},
		{window, "window CAPACITY 3000 SEED 1 SPAN 30s GENERATIONS 3", "SPAN 60s", differs},
		{window, "window CAPACITY 3000 SEED 1 SPAN 6s GENERATIONS 6", "SPAN 60s", "give the SPAN that it was made with"},
		{window, "window CAPACITY 3000 SEED 1 SPAN 600s GENERATIONS 6", "SPAN 60s", "no item would be left"},
	} {
		b.lines("FLUSHALL", "FILTER.CREATE good "+tt.good+" PARTS 4", "FILTER.CREATE bad "+tt.bad+" PARTS 4")
		b.do(withItems("FILTER.ADD good", 0, 100)...)
		b.do(withItems("FILTER.ADD bad", 0, 100)...)
		cursors, data := b.pieces(t, "good")
		_, other := b.pieces(t, "bad")
		for first := range data {
			load := func(part int, data []byte) string {
				return b.do(append([]string{"FILTER.LOAD", "x", cursors[part], string(data)}, strings.Fields(tt.options)...)...)
			}
			if got := load(first, data[first]); got != "+OK" {
				t.Fatalf("%s, %s: %s", where, tt.good, got)
			}
			next := (first + 1) % len(data)
			if got := load(next, other[next]); !strings.HasPrefix(got, "-ERR ") || !strings.Contains(got, tt.want) {
				t.Errorf("%s, %s behind part %d of %s: %s, want %s", where, tt.bad, first, tt.good, got, tt.want)
			}
			for i := 1; i < len(data); i++ {
				part := (first + i) % len(data)
				if got := load(part, data[part]); got != "+OK" {
					t.Errorf("%s, %s, part %d of it behind one of another: %s", where, tt.good, part, got)
				}
			}
			if got := b.do(withItems("FILTER.HAS x", 0, 100)...); strings.Count(got, "true") != 100 {
				t.Errorf("%s, %s: items are lost: %s", where, tt.good, got)
			}
			b.line("DEL x")
		}
	}
}
