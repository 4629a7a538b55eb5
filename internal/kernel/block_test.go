package kernel

import (
	"math/rand/v2"
	"testing"
)

// TestInBlock holds the lookup in one block to that in all of them, for every k.
func TestInBlock(t *testing.T) {
	rng := rand.New(rand.NewPCG(33, 5))
	for k := 1; k <= MaxK; k++ {
		blocks := make([]Block, 1+rng.IntN(100))
		n := uint64(len(blocks))
		hs := make([]uint64, 5000)
		for i := range hs {
			if hs[i] = rng.Uint64(); i < 20*len(blocks) {
				Set(blocks, k, hs[i])
			}
		}
		found := 0
		for _, h := range hs {
			want := Has(blocks, k, h)
			if got := InBlock(&blocks[BlockOf(n, h)], n, k, h); got != want {
				t.Fatalf("k = %d, %d blocks, hash %#x: %v, want %v", k, n, h, got, want)
			}
			if want {
				found++
			}
		}
		if found == 0 || found == len(hs) {
			t.Errorf("k = %d: %d keys were found", k, found)
		}
	}
}

// TestSplitBlockOf asks for the block that a key sets its bits in.
func TestSplitBlockOf(t *testing.T) {
	rng := rand.New(rand.NewPCG(33, 6))
	for range 1000 {
		blocks := make([]SplitBlock, 1+rng.IntN(100))
		h := rng.Uint64()
		SetSplit(blocks, h)
		at := SplitBlockOf(uint64(len(blocks)), h)
		if blocks[at] == (SplitBlock{}) {
			t.Fatalf("%d blocks, hash %#x: block %d is empty", len(blocks), h, at)
		}
		if !HasSplit(blocks[at:at+1], h) {
			t.Fatalf("%d blocks, hash %#x: the key is not found in its block alone", len(blocks), h)
		}
	}
}
