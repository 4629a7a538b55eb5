package cuckoo_test

import (
	"bytes"
	"errors"
	"math"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/cuckoo"
	"github.com/bloomery/bloomery/internal/envelope"
)

// Encodings with sound checksums whose header or payload claims what is not
// so. They must be refused before anything is allocated for them. A view sees
// what is wrong with the header at once, and with the payload by Verify.
func TestHostile(t *testing.T) {
	f := shaped(t, 100, 13)
	fillUp(f, 1)
	sealed, err := envelope.Open(encoded(f))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		change  func(h *envelope.Header, words []uint64)
		payload bool
	}{
		"width 0":          {change: func(h *envelope.Header, _ []uint64) { h.K = 0 }},
		"width 3":          {change: func(h *envelope.Header, _ []uint64) { h.K = 3 }},
		"width 31":         {change: func(h *envelope.Header, _ []uint64) { h.K = 31 }},
		"width 33":         {change: func(h *envelope.Header, _ []uint64) { h.K = 33 }},
		"width 255":        {change: func(h *envelope.Header, _ []uint64) { h.K = 255 }},
		"another width":    {func(h *envelope.Header, _ []uint64) { h.K = 26 }, true},
		"no buckets":       {change: func(h *envelope.Header, _ []uint64) { h.Size = 0 }},
		"one bucket more":  {change: func(h *envelope.Header, _ []uint64) { h.Size += 4 * 13 }},
		"two buckets more": {change: func(h *envelope.Header, _ []uint64) { h.Size += 8 * 13 }},
		"one bit more":     {change: func(h *envelope.Header, _ []uint64) { h.Size++ }},
		"most bits":        {change: func(h *envelope.Header, _ []uint64) { h.Size = math.MaxUint64 }},
		"many bits":        {change: func(h *envelope.Header, _ []uint64) { h.Size = 1 << 62 / (8 * 13) * (8 * 13) }},
		"extra":            {change: func(h *envelope.Header, _ []uint64) { h.Extra = 1 }},
		"one item more":    {func(_ *envelope.Header, w []uint64) { w[0]++ }, true},
		"items over slots": {change: func(_ *envelope.Header, w []uint64) { w[0] = 4*100 + 1 }},
		"most items":       {change: func(_ *envelope.Header, w []uint64) { w[0] = math.MaxUint64 }},
		"rest of line":     {change: func(_ *envelope.Header, w []uint64) { w[7] = 1 }},
		"behind the array": {change: func(_ *envelope.Header, w []uint64) { w[len(w)-1] = 1 }},
		"end of last word": {change: func(_ *envelope.Header, w []uint64) { w[len(w)-2] |= 1 << 63 }},
		"a free slot more": {func(_ *envelope.Header, w []uint64) { w[8] &^= 1<<13 - 1 }, true},
	} {
		h, words := sealed.Header, sealed.Words()
		c.change(&h, words)
		bad := envelope.Append(nil, h, words)
		x := cuckoo.New(10, 0.1)
		if err := x.InsertString("stays"); err != nil {
			t.Fatal(err)
		}
		before := encoded(x)
		_, readErr := cuckoo.Config{}.Read(bytes.NewReader(bad))
		v, viewErr := cuckoo.Config{}.View(bad)
		if c.payload && viewErr == nil {
			v.ContainsHash(1)
			v.(bloomery.Counter).CountHash(1)
			if s := v.Stats(); s.Saturation > 1 || s.Predicted > 1 {
				t.Errorf("%s: Stats of a damaged view: %+v", name, s)
			}
			viewErr = v.Verify()
		}
		for way, err := range map[string]error{"unmarshal": x.UnmarshalBinary(bad), "read": readErr, "view": viewErr} {
			if !errors.Is(err, bloomery.ErrCorrupt) {
				t.Errorf("%s: %s: %v, want ErrCorrupt", name, way, err)
			}
		}
		if !bytes.Equal(before, encoded(x)) {
			t.Errorf("%s: the refused encoding changed the filter", name)
		}
	}
	h := sealed.Header
	h.Kind = envelope.KindBloom
	if err := f.UnmarshalBinary(envelope.Append(nil, h, sealed.Words())); !errors.Is(err, bloomery.ErrIncompatible) {
		t.Errorf("another kind: %v, want ErrIncompatible", err)
	}
}

// A view whose number of items is wrong is not cloned: deleting what was
// inserted would end below zero.
func TestViewCloneCounts(t *testing.T) {
	f := shaped(t, 100, 13)
	hs := hashes(50, 1)
	for _, h := range hs {
		if err := f.InsertHash(h); err != nil {
			t.Fatal(err)
		}
	}
	sealed, err := envelope.Open(encoded(f))
	if err != nil {
		t.Fatal(err)
	}
	for _, claim := range []uint64{0, 49, 51, 400} {
		words := sealed.Words()
		words[0] = claim
		v, err := cuckoo.Config{}.View(envelope.Append(nil, sealed.Header, words))
		if err != nil {
			t.Fatal(err)
		}
		if g, err := v.Clone(); g != nil || !errors.Is(err, bloomery.ErrCorrupt) {
			t.Errorf("the encoding claims %d items: Clone = %v, %v, want ErrCorrupt", claim, g, err)
		}
	}
}

// Slots may hold anything: moves through an array that no history leads to do
// no harm.
func TestInsertIntoAnything(t *testing.T) {
	f := shaped(t, 100, 11)
	fillUp(f, 1)
	sealed, err := envelope.Open(encoded(f))
	if err != nil {
		t.Fatal(err)
	}
	words := sealed.Words()
	for i := range words[8 : len(words)-2] {
		words[8+i] = words[8+i]&^0xff00 | 0x1100
	}
	var g *cuckoo.Filter
	for words[0] = 0; g == nil; words[0]++ { // until it is the number of slots taken
		g, err = cuckoo.Config{}.Decode(envelope.Append(nil, sealed.Header, words))
		if words[0] > 400 {
			t.Fatal(err)
		}
	}
	for _, h := range hashes(300, 2) {
		if g.DeleteHash(h) || g.InsertHash(h) == nil && !g.ContainsHash(h) {
			continue
		}
		g.CountHash(h)
	}
	g.Stats()
}
