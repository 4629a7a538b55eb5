package redisbloom_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/internal/redisbloom"
)

// TestOldLayers loads the header of a very old version, whose layer uses a power
// of two of bits, fewer than it has: no other bit is set.
func TestOldLayers(t *testing.T) {
	b := newBloom(t, redisbloom.BloomParams{ErrorRate: 0.01, Capacity: 1000, Expansion: 2})
	header := b.AppendHeader(nil)
	const firstLayer, n2 = 20, 52
	header[firstLayer+n2] = 10
	h, err := redisbloom.ParseBloomHeader(header)
	if err != nil {
		t.Fatal(err)
	}
	old, err := h.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 100 {
		_, _ = old.Add(item(i))
	}
	for data := range old.Arrays() {
		if used := data[:1<<10/8]; !slices.ContainsFunc(used[64:], func(b byte) bool { return b != 0 }) {
			t.Error("no bit is set in the second half of the power of two")
		}
		if slices.ContainsFunc(data[1<<10/8:], func(b byte) bool { return b != 0 }) {
			t.Error("a bit is set behind the power of two")
		}
	}
	header[firstLayer+n2] = 14 // the layer has less than 2^14 bits
	if _, err := redisbloom.ParseBloomHeader(header); !errors.Is(err, redisbloom.ErrHeader) {
		t.Errorf("a power of two larger than the layer: %v", err)
	}
}

// TestTopKDumpLengths makes each part of a dump shorter and longer.
func TestTopKDumpLengths(t *testing.T) {
	k := newTopK(t, redisbloom.TopKParams{K: 3, Width: 4, Depth: 3, Decay: 0.9})
	k.Add([]byte("a"))
	if _, err := k.Dump().Bytes(); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(d *redisbloom.TopKDump){
		"fewer cells": func(d *redisbloom.TopKDump) { d.Cells = d.Cells[1:] },
		"more cells":  func(d *redisbloom.TopKDump) { d.Cells = append(d.Cells, 0) },
		"fewer slots": func(d *redisbloom.TopKDump) { d.Slots = d.Slots[1:] },
		"more slots":  func(d *redisbloom.TopKDump) { d.Slots = append(d.Slots, 0) },
		"fewer items": func(d *redisbloom.TopKDump) { d.Items = d.Items[1:] },
		"more items":  func(d *redisbloom.TopKDump) { d.Items = append(d.Items, []byte{0}) },
	} {
		d := k.Dump()
		change(&d)
		if _, err := d.Bytes(); !errors.Is(err, bloomery.ErrCorrupt) {
			t.Errorf("%s: Bytes: %v", name, err)
		}
		if _, err := d.New(nil); !errors.Is(err, bloomery.ErrCorrupt) {
			t.Errorf("%s: New: %v", name, err)
		}
	}
}

// TestTopKSaturation compares with the cells of the dump, of a sketch with so few
// that all are looked at.
func TestTopKSaturation(t *testing.T) {
	k := newTopK(t, redisbloom.TopKParams{K: 3, Width: 9, Depth: 3, Decay: 0.9})
	for i := range 12 {
		used, cells := 0, k.Dump().Cells
		for j := 0; j < len(cells); j += 8 {
			if binary.LittleEndian.Uint32(cells[j+4:]) > 0 {
				used++
			}
		}
		if got, want := k.Stats().Saturation, float64(used)/27; got != want {
			t.Errorf("after %d items: saturation %v, want %v", i, got, want)
		}
		k.Add(item(i))
	}
}

// TestCompactPieceReportsTheDrop empties the newest of three sub-filters: the
// piece that drops it moves nothing and has changed the filter nevertheless.
func TestCompactPieceReportsTheDrop(t *testing.T) {
	c := newCuckoo(t, redisbloom.CuckooParams{Capacity: 64, BucketSize: 2, MaxIterations: 20, Expansion: 1})
	last := 0
	for ; c.Filters() < 3; last++ {
		if err := c.Insert(item(last)); err != nil {
			t.Fatal(err)
		}
	}
	if !c.Delete(item(last-1)) || c.Filters() != 3 {
		t.Fatalf("%d filters after the delete, want 3", c.Filters())
	}
	next, changed := c.CompactPiece(c.CompactFrom(), math.MaxUint64)
	if want := (redisbloom.Place{Filter: 1}); next != want || !changed || c.Filters() != 2 {
		t.Errorf("CompactPiece = %+v, %v, and %d filters, want %+v, true and 2", next, changed, c.Filters(), want)
	}
}

// TestTDigestInParts makes digests of the header and the nodes of others.
func TestTDigestInParts(t *testing.T) {
	for _, n := range []int{0, 1, 2, 50, 2000} {
		for _, compression := range []int64{100, 30} {
			d, got := newTDigest(t, 100), newTDigest(t, compression)
			_ = got.Add(7, 8, 9) // to be forgotten
			for i := range n {
				_ = d.Add(float64(i * i % 1009))
			}
			want, _ := d.MarshalBinary()
			merged, waiting := d.Nodes()
			if err := got.Begin(d.AppendHeader(nil)); err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(got.LoadNodes(merged, false), got.LoadNodes(waiting, true)); err != nil {
				t.Fatalf("%d values: %v", n, err)
			}
			if data, _ := got.MarshalBinary(); !bytes.Equal(data, want) {
				t.Errorf("%d values, of compression %d before: another digest", n, compression)
			}
		}
	}
}

// TestTDigestBadNodes refuses nodes, and nothing changes.
func TestTDigestBadNodes(t *testing.T) {
	node := func(mean float64, weight int64) []byte {
		b := binary.LittleEndian.AppendUint64(nil, math.Float64bits(mean))
		return binary.LittleEndian.AppendUint64(b, uint64(weight))
	}
	d := newTDigest(t, 1) // 16 nodes
	if err := errors.Join(d.LoadNodes(node(1, 2), false), d.LoadNodes(node(5, math.MaxInt64-10), true)); err != nil {
		t.Fatal(err)
	}
	before, _ := d.MarshalBinary()
	for name, c := range map[string]struct {
		data    []byte
		waiting bool
	}{
		"half a node":              {node(1, 1)[:8], true},
		"merged behind waiting":    {node(1, 1), false},
		"too many":                 {bytes.Repeat(node(1, 1), 15), true},
		"no weight":                {node(1, 0), true},
		"negative weight":          {node(1, -1), true},
		"more weight than fits in": {node(1, 9), true},
	} {
		if err := d.LoadNodes(c.data, c.waiting); !errors.Is(err, bloomery.ErrCorrupt) {
			t.Errorf("%s: %v, want ErrCorrupt", name, err)
		}
		if after, _ := d.MarshalBinary(); !bytes.Equal(after, before) {
			t.Errorf("%s: the digest has changed", name)
		}
	}
	if err := d.LoadNodes(node(1, 8), true); err != nil || d.Observations() != math.MaxInt64 {
		t.Errorf("what fits in: %v, %d values", err, d.Observations())
	}
}

// TestTDigestHeavyEnds asks for values within the first and the last node of
// known weights, and in the only one.
func TestTDigestHeavyEnds(t *testing.T) {
	digest := func(least, largest float64, means, weights []float64) *redisbloom.TDigest {
		t.Helper()
		d := newTDigest(t, 100).Dump()
		d.Min, d.Max, d.Merged, d.Means, d.Weights = least, largest, uint64(len(means)), means, weights
		for _, w := range weights {
			d.MergedWeight += w
		}
		loaded, err := d.New(nil)
		if err != nil {
			t.Fatal(err)
		}
		return loaded
	}
	d := digest(5, 40, []float64{10, 20, 30}, []float64{10, 2, 20})
	for x, want := range map[float64]float64{
		1: 5, 2: 6.25, 3: 7.5, 4: 8.75, // from the least to the mean of the first, which has ranks 1 to 5
		22: 30, 26.5: 35, 31: 40, // from the mean of the last to the largest
	} {
		if got := d.Quantile(x / 32); math.Abs(got-want) > 1e-9 {
			t.Errorf("Quantile(%v/32) = %v, want %v", x, got, want)
		}
	}
	if got := digest(5, 40, []float64{10}, []float64{10}).Quantile(0.5); got != 10 {
		t.Errorf("Quantile of one node = %v, want its mean, 10", got)
	}
}

// TestTDigestLargest asks for the memory of the largest digest.
func TestTDigestLargest(t *testing.T) {
	if math.MaxInt < 1<<40 {
		t.Skip("addresses of 32 bits")
	}
	largest := int64(1<<40)/(6*16) - 16
	if n, err := (redisbloom.TDigestParams{Compression: largest}).Bytes(); err != nil || n > 1<<40 {
		t.Errorf("Bytes of compression %d: %d, %v", largest, n, err)
	}
	if _, err := (redisbloom.TDigestParams{Compression: largest + 1}).Bytes(); !errors.Is(err, bloomery.ErrTooLarge) {
		t.Errorf("Bytes of compression %d: %v, want ErrTooLarge", largest+1, err)
	}
}

// TestPiecesOfManyPages snapshots a sketch of more pages than a word has bits,
// of which many are put aside, and one whose last page is one byte.
func TestPiecesOfManyPages(t *testing.T) {
	c := newCountMin(t, 200_000, 1)
	for i := range 5000 {
		c.Incr(item(i), 1)
	}
	want, _ := c.MarshalBinary()
	f, err := c.Freeze()
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	got := pieces(t, f, redisbloom.NewCountMinLoader, func() {
		for range 50 {
			n++
			c.Incr(item(n), 1)
		}
	})
	if data, _ := got.MarshalBinary(); !bytes.Equal(data, want) {
		t.Error("pieces give another sketch")
	}

	k := newTopK(t, redisbloom.TopKParams{K: 1, Width: 4, Depth: 3, Decay: 0.9})
	k.Add(bytes.Repeat([]byte("x"), 4*4096+1-16)) // a slot has 16 bytes beside its item
	want, _ = k.MarshalBinary()
	if f, err = k.Freeze(); err != nil {
		t.Fatal(err)
	}
	loaded := pieces(t, f, redisbloom.NewTopKLoader, func() {})
	if data, _ := loaded.MarshalBinary(); !bytes.Equal(data, want) {
		t.Error("pieces give another top-k")
	}
}

// TestDecodeWithoutMemory decodes what there is no memory for.
func TestDecodeWithoutMemory(t *testing.T) {
	all, _ := sampleSketches(t, nil)
	_, m := newArena(t, 0)
	for i, decode := range []func(data []byte) error{
		func(data []byte) error { _, err := redisbloom.DecodeCountMin(data, m); return err },
		func(data []byte) error { _, err := redisbloom.DecodeTopK(data, m); return err },
		func(data []byte) error { _, err := redisbloom.DecodeTDigest(data, m); return err },
	} {
		data, err := all[i].MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		if err := decode(data); !errors.Is(err, errArena) {
			t.Errorf("%T: %v, want the error of Alloc", all[i], err)
		}
	}
}

// TestSmallestCuckooIsFreed loads a filter of one slot, which none is made with.
func TestSmallestCuckooIsFreed(t *testing.T) {
	a, m := newArena(t, 1)
	header := newCuckoo(t, redisbloom.CuckooParams{Capacity: 2, BucketSize: 1, MaxIterations: 1}).AppendHeader(nil)
	binary.LittleEndian.PutUint64(header[8:], 1) // buckets
	h, err := redisbloom.ParseCuckooHeader(header)
	if err != nil {
		t.Fatal(err)
	}
	c, err := h.New(m)
	if err != nil || c.Buckets() != 1 {
		t.Fatalf("New: %v", err)
	}
	if err := c.Insert([]byte("a")); err != nil || !c.Contains([]byte("a")) {
		t.Errorf("Insert into the one slot: %v", err)
	}
	c.Release()
	a.empty()
}
