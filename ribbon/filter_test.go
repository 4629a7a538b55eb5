package ribbon_test

import (
	"testing"

	"github.com/bloomery/bloomery/ribbon"
)

// TestViewClones checks that a clone of a view has the keys.
func TestViewClones(t *testing.T) {
	hs := hashes(1000, 1)
	v, err := ribbon.Config{}.View(encoded(t, built(t, ribbon.Config{ErrorRate: 0.01}, hs)))
	if err != nil {
		t.Fatal(err)
	}
	f, err := v.Clone()
	if err != nil {
		t.Fatal(err)
	}
	if n := forgotten(f.(*ribbon.Filter), hs); n != 0 {
		t.Errorf("the clone has lost %d keys", n)
	}
}

// TestSaturation checks the share of slots in use: nearly all of a table, all of a
// list, and none where there are no keys.
func TestSaturation(t *testing.T) {
	for n, least := range map[int]float64{0: 0, 5: 1, 20_000: 0.95} {
		got := built(t, ribbon.Config{ErrorRate: 0.01, Shards: 1}, hashes(n, 2)).Stats().Saturation
		if !(got >= least && got <= 1) || n == 0 && got != 0 || n > 1000 && got == 1 {
			t.Errorf("%d keys: %v, want %v", n, got, least)
		}
	}
	var f ribbon.Filter
	if got := f.Stats().Saturation; got != 0 {
		t.Errorf("a zero filter: %v", got)
	}
}
