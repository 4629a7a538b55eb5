package ribbon_test

import (
	"bytes"
	"errors"
	"math"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/internal/envelope"
	"github.com/bloomery/bloomery/ribbon"
)

// Encodings with sound checksums whose header or directory claims what is not
// so. They must be refused, by every way in.
func TestHostile(t *testing.T) {
	data := encoded(t, built(t, ribbon.Config{ErrorRate: 0.01, Shards: 2}, hashes(5000, 1)))
	sealed, err := envelope.Open(data)
	if err != nil {
		t.Fatal(err)
	}
	type header = *envelope.Header
	for name, change := range map[string]func(h header, w []uint64){
		"no columns":          func(h header, _ []uint64) { h.K = 0 },
		"33 columns":          func(h header, _ []uint64) { h.K = 33 },
		"one column more":     func(h header, _ []uint64) { h.K++ },
		"wide with 32":        func(h header, _ []uint64) { h.K = 32 },
		"rows of no words":    func(h header, _ []uint64) { h.Extra &^= 0xff },
		"rows of 3 words":     func(h header, _ []uint64) { h.Extra += 2 },
		"one shard":           func(h header, _ []uint64) { h.Extra &= 0xff },
		"2^20 shards":         func(h header, _ []uint64) { h.Extra = 20<<8 | 1 },
		"2^21 shards":         func(h header, _ []uint64) { h.Extra = 21<<8 | 1 },
		"most shards":         func(h header, _ []uint64) { h.Extra = math.MaxUint32&^0xff | 1 },
		"larger":              func(h header, _ []uint64) { h.Size += 64 },
		"largest":             func(h header, _ []uint64) { h.Size = math.MaxUint64 },
		"no layers":           func(_ header, w []uint64) { w[0] = 0 },
		"a layer less":        func(_ header, w []uint64) { w[0]-- },
		"a layer more":        func(_ header, w []uint64) { w[0]++ },
		"many layers":         func(_ header, w []uint64) { w[0] = 13 },
		"most layers":         func(_ header, w []uint64) { w[0] = math.MaxUint64 },
		"layers that wrap":    func(_ header, w []uint64) { w[0] = 1 << 63 },
		"longer list":         func(_ header, w []uint64) { w[1] += 8 },
		"longest list":        func(_ header, w []uint64) { w[1] = math.MaxUint64 },
		"list beyond all":     func(_ header, w []uint64) { w[1] = math.MaxInt64 },
		"no blocks":           func(_ header, w []uint64) { w[2], w[3] = 0, 0 },
		"one block":           func(_ header, w []uint64) { w[2], w[3] = 1, 1 },
		"more blocks":         func(_ header, w []uint64) { w[2] += 8 },
		"most blocks":         func(_ header, w []uint64) { w[2] = math.MaxUint64 },
		"blocks that wrap":    func(_ header, w []uint64) { w[2] = 1 << 61 },
		"blocks beyond all":   func(_ header, w []uint64) { w[2] = uint64(len(w)) },
		"all wide":            func(_ header, w []uint64) { w[3] = 0 },
		"more narrow blocks":  func(_ header, w []uint64) { w[3] = w[2] + 1 },
		"most narrow blocks":  func(_ header, w []uint64) { w[3] = math.MaxUint64 },
		"another kind":        func(h header, _ []uint64) { h.Kind = envelope.KindBloom },
		"rate that is no one": func(h header, _ []uint64) { h.Rate = math.NaN() },
	} {
		h, words := sealed.Header, sealed.Words()
		change(&h, words)
		bad := envelope.Append(nil, h, words)
		x := built(t, ribbon.Config{ErrorRate: 0.1}, []uint64{7})
		before := encoded(t, x)
		_, readErr := ribbon.Config{}.Read(bytes.NewReader(bad))
		_, viewErr := ribbon.Config{}.View(bad)
		for way, err := range map[string]error{"unmarshal": x.UnmarshalBinary(bad), "read": readErr, "view": viewErr} {
			if !errors.Is(err, bloomery.ErrCorrupt) && !errors.Is(err, bloomery.ErrIncompatible) {
				t.Errorf("%s: %s: %v, want ErrCorrupt", name, way, err)
			}
		}
		if after := encoded(t, x); !bytes.Equal(before, after) {
			t.Errorf("%s: the refused encoding changed the filter", name)
		}
	}
}

// A list that is not sorted would hide keys that are in it: it is refused.
func TestHostileList(t *testing.T) {
	hs := hashes(10, 1) // so few are all listed
	data := encoded(t, built(t, ribbon.Config{ErrorRate: 0.01}, hs))
	sealed, err := envelope.Open(data)
	if err != nil {
		t.Fatal(err)
	}
	words := sealed.Words()
	if words[0] != 0 || words[1] != 10 {
		t.Fatalf("the shard has %d layers and a list of %d keys, want none and 10", words[0], words[1])
	}
	list := words[8:18]
	for i := range len(list) - 1 {
		list[i], list[i+1] = list[i+1], list[i]
		bad := envelope.Append(nil, sealed.Header, words)
		list[i], list[i+1] = list[i+1], list[i]
		var f ribbon.Filter
		_, readErr := ribbon.Config{}.Read(bytes.NewReader(bad))
		_, viewErr := ribbon.Config{}.View(bad)
		for way, err := range map[string]error{"unmarshal": f.UnmarshalBinary(bad), "read": readErr, "view": viewErr} {
			if !errors.Is(err, bloomery.ErrCorrupt) {
				t.Errorf("%d and %d are swapped: %s: %v, want ErrCorrupt", i, i+1, way, err)
			}
		}
	}
}

// Tables may hold anything, and headers what is possible though it is not so:
// answers are wrong then, and nothing else.
func TestHostileTables(t *testing.T) {
	data := encoded(t, built(t, ribbon.Config{ErrorRate: 0.01, Width: 128}, hashes(5000, 1)))
	sealed, err := envelope.Open(data)
	if err != nil {
		t.Fatal(err)
	}
	for _, fill := range []uint64{0, math.MaxUint64, 0x5555555555555555} {
		h, words := sealed.Header, sealed.Words()
		h.Capacity = fill
		for i := 16; i < len(words); i++ { // behind the directory
			words[i] = fill
		}
		var f ribbon.Filter
		if err := f.UnmarshalBinary(envelope.Append(nil, h, words)); err != nil {
			t.Fatal(err)
		}
		f.ContainsHashes(make([]bool, 5000), hashes(5000, 2))
		for _, h := range []uint64{0, 1, 1 << 63, math.MaxUint64} {
			f.ContainsHash(h)
		}
		f.Stats()
	}
}

// A directory that fills the payload to its last word, which is not the end of
// a line: nothing lies behind it, not even its padding.
func TestHostileDirectory(t *testing.T) {
	words := []uint64{4, 0, 2, 2, 2, 2, 2, 2, 2, 2} // four layers of two narrow blocks
	h := envelope.Header{Kind: envelope.KindRibbon, K: 1, Extra: 1, Rate: 0.5, Payload: uint64(len(words)) * 8}
	h.Size = h.Payload * 8
	data := envelope.Append(nil, h, words)
	var f ribbon.Filter
	_, readErr := ribbon.Config{}.Read(bytes.NewReader(data))
	_, viewErr := ribbon.Config{}.View(data)
	for way, err := range map[string]error{"unmarshal": f.UnmarshalBinary(data), "read": readErr, "view": viewErr} {
		if !errors.Is(err, bloomery.ErrCorrupt) {
			t.Errorf("%s: %v, want ErrCorrupt", way, err)
		}
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
