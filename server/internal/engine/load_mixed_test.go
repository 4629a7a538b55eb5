package engine_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/bloomery/bloomery/bloom"
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

// TestUnionOfUnevenParts unites, intersects and compares filters whose parts differ in size, as a FILTER.FOLD that was cut short
// leaves them, or a dump that was begun before one: bits of the larger array mean nothing in the smaller one.
func TestUnionOfUnevenParts(t *testing.T) {
	newBench(t, 1<<30).uniteUneven(t, "a single server")
	synctest.Test(t, func(t *testing.T) {
		v := newSpread(t, memlog.Faults{})
		v.place(t, oneCopy)
		for i, n := range v.nodes {
			n.uniteUneven(t, fmt.Sprint("node ", i+1))
		}
	})
}

func (b *bench) uniteUneven(t *testing.T, where string) {
	for name, tt := range map[string]struct{ part, other bloom.Config }{
		"large":                      {bloom.Config{Capacity: 50_000, ErrorRate: 0.01}, bloom.Config{Capacity: 100_000, ErrorRate: 0.01}},
		"small":                      {bloom.Config{Capacity: 1000, ErrorRate: 0.01}, bloom.Config{Capacity: 500, ErrorRate: 0.01}},
		"of 233,984 bits, K differs": {bloom.Config{Capacity: 23_506, ErrorRate: 0.01}, bloom.Config{Capacity: 15_010, ErrorRate: 0.001}},
	} {
		b.line("FLUSHALL")
		for i, c := range []bloom.Config{tt.part, tt.part, tt.other, tt.other} {
			cursor := fmt.Sprint(int64(3)<<32 | int64(i+1))
			if got := b.do("FILTER.LOAD", "even", cursor, encodedBloom(t, tt.part)) + b.do("FILTER.LOAD", "uneven", cursor, encodedBloom(t, c)); got != "+OK+OK" {
				t.Fatalf("%s, %s: %s", where, name, got)
			}
		}
		b.lines("FILTER.CREATE to bloom LIKE even", strings.Join(withItems("FILTER.ADD uneven", 0, 100), " "))
		for _, line := range []string{
			"FILTER.UNION new uneven", "FILTER.UNION to uneven", "FILTER.UNION uneven even", "FILTER.UNION to even uneven", "FILTER.INTERSECT new even uneven",
			"FILTER.INTERSECT new uneven uneven", "FILTER.SIMILAR even uneven", "FILTER.SIMILAR uneven even",
		} {
			if got := b.line(line); !strings.HasPrefix(got, "-ERR the parts of a filter differ in size") {
				t.Errorf("%s, %s: %s = %s", where, name, line, got)
			}
		}
		if got := b.lines("EXISTS new", "FILTER.CARD to"); fmt.Sprint(got) != "[:0 :0]" {
			t.Errorf("%s, %s: something of what was refused is done: %v", where, name, got)
		}
	}
}

// encodedBloom returns the encoding of an empty filter.
func encodedBloom(t *testing.T, c bloom.Config) string {
	t.Helper()
	f, err := c.New()
	if err != nil {
		t.Fatal(err)
	}
	data, err := f.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func (b *bench) loadOthers(t *testing.T, where string) {
	const flat, window = "bloom CAPACITY 3000 SEED 1", "window CAPACITY 3000 SEED 1 SPAN 60s GENERATIONS 6"
	const differs = "kind, hash or generations differ"
	for _, tt := range []struct{ good, bad, options, want string }{
		{flat, "standard CAPACITY 3000 SEED 1", "", differs},
		{flat, "bloom CAPACITY 3000 SEED 2", "", differs},
		{window, "window CAPACITY 3000 SEED 1 SPAN 30s GENERATIONS 3", "SPAN 60s", differs},
		{window, "window CAPACITY 3000 SEED 1 SPAN 6s GENERATIONS 6", "SPAN 60s", "give the SPAN that it was made with"},
		{window, "window CAPACITY 3000 SEED 1 SPAN 600s GENERATIONS 6", "SPAN 60s", "no item would be left"},
	} {
		b.lines("FLUSHALL", "FILTER.CREATE good "+tt.good+" PARTS 4", "FILTER.CREATE bad "+tt.bad+" PARTS 4")
		b.do(withItems("FILTER.ADD good", 0, 100)...)
		b.do(withItems("FILTER.ADD bad", 0, 100)...)
		cursors, data := b.pieces(t, "good")
		_, other := b.pieces(t, "bad")
		for next := 1; next < len(data); next++ {
			load := func(part int, data []byte) string {
				return b.do(append([]string{"FILTER.LOAD", "x", cursors[part], string(data)}, strings.Fields(tt.options)...)...)
			}
			if got := load(0, data[0]); got != "+OK" {
				t.Fatalf("%s, %s: %s", where, tt.good, got)
			}
			if got := load(next, other[next]); !strings.HasPrefix(got, "-ERR ") || !strings.Contains(got, tt.want) {
				t.Errorf("%s, part %d of %s behind %s: %s, want %s", where, next, tt.bad, tt.good, got, tt.want)
			}
			for i := range len(data) - 1 {
				part := 1 + (next-1+i)%(len(data)-1)
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
