package ribbon_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/ribbon"
)

// TestBody puts a filter and a map one behind the other, opens them where they lie,
// and cuts them short everywhere.
func TestBody(t *testing.T) {
	hs := hashes(3000, 1)
	for _, c := range []ribbon.Config{{ErrorRate: 0.01}, {ErrorRate: 0.3, Width: 128, Shards: 4}} {
		f := built(t, c, hs)
		words, err := f.AppendBody(nil)
		if err != nil {
			t.Fatal(err)
		}
		c.ValueBits = 5
		m := mapped(t, c, hs)
		long, err := m.AppendBody(slices.Clone(words))
		if err != nil {
			t.Fatal(err)
		}
		first, rest, err := ribbon.OpenBody(append(long, 1, 2, 3), 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		second, rest, err := ribbon.OpenMapBody(rest, 1<<20)
		if err != nil || !slices.Equal(rest, []uint64{1, 2, 3}) {
			t.Fatalf("%v; behind the map: %v", err, rest)
		}
		if got := forgotten(first, hs); got > 0 {
			t.Errorf("%d keys forgotten", got)
		}
		checkMap(t, second, hs, 5)
		a, b := first.Stats(), f.Stats()
		if a.Items != b.Items || a.Predicted != b.Predicted || a.Bytes >= b.Bytes {
			t.Errorf("opened: %v, built: %v", a, b)
		}
		if _, err := first.MarshalBinary(); !errors.Is(err, bloomery.ErrParameter) {
			t.Errorf("a body is encoded: %v", err)
		}
		for n := range words {
			if _, _, err := ribbon.OpenBody(words[:n:n], 1<<20); !errors.Is(err, bloomery.ErrCorrupt) {
				t.Fatalf("%d of %d words: %v, want ErrCorrupt", n, len(words), err)
			}
		}
		if _, _, err := ribbon.OpenMapBody(words, 1<<20); !errors.Is(err, bloomery.ErrCorrupt) {
			t.Errorf("a filter as a map: %v, want ErrCorrupt", err)
		}
		if _, _, err := ribbon.OpenBody(long[len(words):], 1<<20); !errors.Is(err, bloomery.ErrCorrupt) {
			t.Errorf("a map as a filter: %v, want ErrCorrupt", err)
		}
		if _, _, err := ribbon.OpenBody(words, f.Shards()-1); !errors.Is(err, bloomery.ErrCorrupt) {
			t.Errorf("more shards than allowed: %v, want ErrCorrupt", err)
		}
	}
	if _, err := new(ribbon.Filter).AppendBody(nil); !errors.Is(err, bloomery.ErrParameter) {
		t.Errorf("the body of a zero filter: %v, want ErrParameter", err)
	}
}
