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
