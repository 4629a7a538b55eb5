package bloom_test

import (
	"math/rand/v2"
	"testing"

	"github.com/bloomery/bloomery/bloom"
)

// TestGrowBytes asks that a filter never takes more memory for n keys than GrowBytes
// has said before, and that it says 0 while there is room.
func TestGrowBytes(t *testing.T) {
	taken := uint64(0)
	f, err := bloom.Config{Capacity: 100, ErrorRate: 0.01, Alloc: func(n int) ([]byte, error) {
		taken += uint64(n)
		return make([]byte, n), nil
	}}.NewScalable()
	if err != nil {
		t.Fatal(err)
	}
	if got := f.GrowBytes(100); got != 0 {
		t.Errorf("GrowBytes(100) of an empty filter for 100 = %d, want 0", got)
	}
	rng := rand.New(rand.NewPCG(1, 1))
	free, grown := 0, 0
	for range 400 {
		hashes := make([]uint64, 1+rng.IntN(150))
		for i := range hashes {
			hashes[i] = rng.Uint64()
		}
		most, before := f.GrowBytes(len(hashes)), taken
		f.AddHashes(nil, hashes)
		switch got := taken - before; {
		case got > most:
			t.Fatalf("%d keys took %d bytes, GrowBytes said %d", len(hashes), got, most)
		case got > 0:
			grown++
		case most == 0:
			free++
		}
	}
	if grown < 4 || free < 300 {
		t.Errorf("it grew %d times and had room %d times: nothing was asked", grown, free)
	}
	if got := new(bloom.Scalable).GrowBytes(5); got != 0 {
		t.Errorf("GrowBytes of a zero filter = %d, want 0", got)
	}
}

// TestGrowLayers asks that GrowLayers counts the layers that keys make, however many there are,
// and none that a filter of the same series has been asked for.
func TestGrowLayers(t *testing.T) {
	made := func(capacity int, rate float64, keys int) *bloom.Scalable {
		f := bloom.NewScalable(capacity, rate)
		for i := range keys {
			f.AddHash(uint64(i) * 0x9e3779b97f4a7c15)
		}
		return f
	}
	for _, keys := range []int{0, 9, 10, 11, 40, 3000} {
		for _, n := range []int{0, 1, 10, 100, 5000} {
			f := made(10, 0.01, keys)
			before, said := f.Layers(), f.GrowLayers(n, nil)
			for i := range n {
				f.AddHash(uint64(keys+i) * 0x9e3779b97f4a7c15)
			}
			if got := f.Layers() - before; got > said || said > got+1 {
				t.Errorf("%d keys after %d made %d layers, GrowLayers said %d", n, keys, got, said)
			}
		}
	}
	f := made(10, 0.01, 300)
	for _, o := range []*bloom.Scalable{made(10, 0.01, 0), made(10, 0.01, 5000), f.Clone()} {
		if n := f.GrowLayers(10_000, o); n != 0 {
			t.Errorf("%d sizes are looked for after a filter of the same series", n)
		}
	}
	for _, o := range []*bloom.Scalable{made(11, 0.01, 300), made(10, 0.0100001, 300), {}, nil} {
		if n := f.GrowLayers(10_000, o); n == 0 {
			t.Error("no size is looked for after a filter of another series")
		}
	}
	if n := new(bloom.Scalable).GrowLayers(5, f); n != 0 {
		t.Errorf("GrowLayers of a zero filter = %d, want 0", n)
	}
}
