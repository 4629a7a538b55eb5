package exact_test

import (
	"bytes"
	"iter"
	"testing"

	"github.com/bloomery/bloomery/exact"
	"github.com/bloomery/bloomery/hashing"
)

// TestAnyGroup asks a filter of two groups with rates of their own without saying which: it has the keys
// of both, and few others.
func TestAnyGroup(t *testing.T) {
	a := exact.Group{In: hashes(100, 1), Out: hashes(100_000, 2)}
	b := exact.Group{In: hashes(1000, 3), Out: hashes(50_000, 4)}
	for _, groups := range [][]exact.Group{{a, b}, {b, a}} {
		f, err := exact.Config{}.BuildGroups(t.Context(), groups)
		if err != nil {
			t.Fatal(err)
		}
		if got := wrong(f, a.In, true) + wrong(f, b.In, true); got > 0 {
			t.Errorf("%d keys are in no group", got)
		}
		// The rates are 2^-9 and 2^-5, and a bit halves them: 1.6%, and 4% is 27 σ more.
		const others = 20_000
		if got := others - wrong(f, hashes(others, 5), true); got > others/25 {
			t.Errorf("%d of %d keys that nobody knows are in a group", got, others)
		}
	}
}

// TestGroupsFrom asks that sources in groups make the filter that BuildGroups makes, whichever group comes
// first.
func TestGroupsFrom(t *testing.T) {
	groups := []exact.Group{{In: hashes(10, 1), Out: hashes(1000, 2)}, {}, {In: hashes(9, 3)}, {In: hashes(20, 4), Out: hashes(50, 5)}}
	from := func(of func(*exact.Group) []uint64) exact.Source {
		return func(hashing.Hasher) iter.Seq2[int, uint64] {
			return func(yield func(int, uint64) bool) {
				for g := range groups {
					g = len(groups) - 1 - g
					for _, h := range of(&groups[g]) {
						if !yield(g, h) {
							return
						}
					}
				}
			}
		}
	}
	in, out := from(func(g *exact.Group) []uint64 { return g.In }), from(func(g *exact.Group) []uint64 { return g.Out })
	f, err := exact.Config{Scratch: &disk{room: 1 << 40}}.BuildFrom(t.Context(), in, out)
	if err != nil {
		t.Fatal(err)
	}
	want, err := exact.Config{}.BuildGroups(t.Context(), groups)
	if err != nil || !bytes.Equal(encoded(t, f), encoded(t, want)) {
		t.Errorf("%d groups, want %d, and the same bytes: %v", f.Groups(), want.Groups(), err)
	}
}
