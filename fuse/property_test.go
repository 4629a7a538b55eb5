package fuse_test

import (
	"bytes"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/bloomery/bloomery/fuse"
)

// A random set goes through all ways to a filter: built at once, by a builder
// that was used before, with another number of goroutines, as a stream, written
// and read. All must hold it, count it, and end in the same bytes.
func TestWays(t *testing.T) {
	var builder fuse.Builder[uint16]
	dir := scratch(t)
	rapid.Check(t, func(r *rapid.T) {
		hs := random(rapid.IntRange(0, 3000).Draw(r, "n"), rapid.Uint64().Draw(r, "seed"))
		// Some keys come again, and some hashes are not well mixed.
		for range rapid.IntRange(0, 20).Draw(r, "duplicates") {
			if len(hs) > 0 {
				hs = append(hs, hs[rapid.IntRange(0, len(hs)-1).Draw(r, "which")])
			}
		}
		hs = append(hs, rapid.SliceOfN(rapid.Uint64(), 0, 20).Draw(r, "others")...)
		c := fuse.Config[uint16]{
			Arity:  rapid.SampledFrom([]int{0, 3, 4}).Draw(r, "arity"),
			Shards: rapid.SampledFrom([]int{0, 1, 2, 16}).Draw(r, "shards"),
		}
		f := built(t, c, hs)
		holds(t, f, hs)
		want := encoded(t, f)

		c.Workers = rapid.IntRange(1, 4).Draw(r, "workers")
		g, err := builder.Build(t.Context(), c, slices.Clone(hs))
		if err != nil || !bytes.Equal(encoded(t, g), want) {
			r.Fatalf("builder: other bytes (%v)", err)
		}
		var again fuse.Filter[uint16]
		if err := again.UnmarshalBinary(want); err != nil || !bytes.Equal(encoded(t, &again), want) {
			r.Fatalf("decoded: other bytes (%v)", err)
		}
		holds(t, &again, hs)
		var buf bytes.Buffer
		c.Scratch, c.Memory = dir, 1<<20
		if _, err := c.Stream(t.Context(), slices.Values(hs)).WriteTo(&buf); err != nil || !bytes.Equal(buf.Bytes(), want) {
			r.Fatalf("stream: other bytes (%v)", err)
		}
		v, err := fuse.Config[uint16]{}.View(want)
		if err != nil || v.Stats() != f.Stats() {
			r.Fatalf("view: %v", err)
		}
		for _, h := range append(random(100, 1), hs...) {
			if v.ContainsHash(h) != f.ContainsHash(h) {
				r.Fatalf("view: another answer for %#x", h)
			}
		}
	})
}
