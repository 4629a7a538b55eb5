package ribbon_test

import (
	"bytes"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/bloomery/bloomery/ribbon"
)

// A random set goes through variants of one filter: built in another order,
// with duplicates and other workers, from a stream, reloaded, viewed. All hold
// the set, answer alike and have the same bytes.
func TestVariants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := ribbon.Config{
			ErrorRate: rapid.Float64Range(1e-9, 0.99).Draw(t, "p"),
			Width:     rapid.SampledFrom([]int{0, 64, 128}).Draw(t, "width"),
			Shards:    1 << rapid.IntRange(0, 3).Draw(t, "shards"),
			Workers:   rapid.IntRange(1, 3).Draw(t, "workers"),
		}
		hs := hashes(rapid.IntRange(0, 3000).Draw(t, "n"), rapid.Uint64Range(0, 1000).Draw(t, "seed"))
		hs = append(hs, rapid.SliceOfN(rapid.Uint64(), 0, 100).Draw(t, "hashes")...)
		plain, err := c.Build(t.Context(), hs)
		if err != nil {
			t.Fatal(err)
		}
		want, _ := plain.MarshalBinary()
		for _, h := range hs {
			if !plain.ContainsHash(h) {
				t.Fatalf("hash %#x is forgotten", h)
			}
		}

		again := append(slices.Clone(hs), hs[:len(hs)/2]...)
		slices.Reverse(again)
		c.Workers = 4 - c.Workers
		other, err := c.Build(t.Context(), again)
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := other.MarshalBinary(); !bytes.Equal(got, want) {
			t.Fatal("another order, duplicates and other workers give other bytes")
		}
		c.Scratch, c.Memory = newDisk(), 4<<20
		var buf bytes.Buffer
		if _, err := c.Stream(t.Context(), slices.Values(again)).WriteTo(&buf); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(buf.Bytes(), want) {
			t.Fatal("the stream gives other bytes")
		}

		var reloaded ribbon.Filter
		if err := reloaded.UnmarshalBinary(want); err != nil {
			t.Fatal(err)
		}
		view, err := ribbon.Config{}.View(want)
		if err != nil {
			t.Fatal(err)
		}
		asked := append(hashes(1000, 4242), hs...)
		x, y, z := make([]bool, len(asked)), make([]bool, len(asked)), make([]bool, len(asked))
		plain.ContainsHashes(x, asked)
		reloaded.ContainsHashes(y, asked)
		view.ContainsHashes(z, asked)
		if !slices.Equal(x, y) || !slices.Equal(x, z) {
			t.Fatal("the reloaded filter or the view answers differently")
		}
		for i, h := range asked {
			if plain.ContainsHash(h) != x[i] {
				t.Fatalf("hash %#x: one by one %v, in a batch %v", h, !x[i], x[i])
			}
		}
		if s := plain.Stats(); s != reloaded.Stats() || s != view.Stats() {
			t.Fatalf("Stats differ: %+v, %+v, %+v", s, reloaded.Stats(), view.Stats())
		}
	})
}
