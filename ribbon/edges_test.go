package ribbon_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/internal/envelope"
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

// TestHostileNarrowBlocks has a directory whose only layer claims more narrow blocks
// than blocks, and one with more blocks than there is payload.
func TestHostileNarrowBlocks(t *testing.T) {
	sealed, err := envelope.Open(encoded(t, built(t, ribbon.Config{ErrorRate: 0.01, Shards: 1}, hashes(5000, 1))))
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(words []uint64){
		"narrow":      func(words []uint64) { words[3] = words[2] + 1 },
		"most narrow": func(words []uint64) { words[3] = 1 << 63 },
		"blocks":      func(words []uint64) { words[2] = 1 << 62 },
	} {
		words := sealed.Words()
		change(words)
		data := envelope.Append(nil, sealed.Header, words)
		var f ribbon.Filter
		if err := f.UnmarshalBinary(data); !errors.Is(err, bloomery.ErrCorrupt) {
			t.Errorf("%s: %v, want ErrCorrupt", name, err)
		}
		if _, err := (ribbon.Config{}).Read(bytes.NewReader(data)); !errors.Is(err, bloomery.ErrCorrupt) {
			t.Errorf("%s: read: %v, want ErrCorrupt", name, err)
		}
	}
}
