package bloom_test

import (
	"math/rand/v2"
	"testing"

	"github.com/bloomery/bloomery/bloom"
)

// TestSkewFindsABlockAnywhere aims keys at one block of an array that is too large to
// be looked at as a whole. While other keys come, the looks fall on different blocks,
// and sooner or later on that one.
func TestSkewFindsABlockAnywhere(t *testing.T) {
	const keys = 4_000_000
	f := bloom.New(keys, 0.01)
	r := rand.New(rand.NewPCG(1, 1))
	for range keys / 4 {
		f.AddHash(r.Uint64())
	}
	blocks := f.Shape().Bits / 512
	width := ^uint64(0)/blocks + 1 // of the hashes of a block
	for _, block := range []uint64{1, blocks / 2, blocks - 1} {
		g := f.Clone()
		for range 1000 {
			g.AddHash(block*width + width/4 + r.Uint64N(width/2))
		}
		found := 0
		const looks = 200
		for range looks {
			g.AddHash(r.Uint64())
			for range keys / 4000 {
				g.AddHash(r.Uint64())
			}
			if g.Stats().Skew > 12 {
				found++
			}
		}
		// One look in 4 or 5 sees it; this is 6 standard deviations less.
		if found < looks/25 || found == looks {
			t.Errorf("block %d of %d was found by %d of %d looks", block, blocks, found, looks)
		}
	}
}
