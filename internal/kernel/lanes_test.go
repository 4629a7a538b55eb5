package kernel

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// In every tier, MarkAll leaves the bits that SetAll leaves, and the bits in the lanes that it
// names are all that have changed.
func TestMarkAll(t *testing.T) {
	for _, tier := range tiers() {
		use(t, tier)
		for k := 1; k <= MaxK; k++ {
			r := rand.New(rand.NewPCG(5, uint64(k)))
			got, want := make([]Block, 29), make([]Block, 29)
			for _, size := range []int{0, 1, 7, 8, 9, 64, 211} {
				hs, lanes, fresh := make([]uint64, size), make([]uint8, size), make([]bool, size)
				for i := range hs {
					hs[i] = r.Uint64()
				}
				if size > 1 {
					hs[1] = hs[0] // in order: the second one changes nothing
				}
				marked := slices.Clone(want)
				MarkAll(lanes, got, k, hs)
				SetAll(fresh, want, k, hs)
				for i := range lanes {
					if (lanes[i] != 0) != fresh[i] {
						t.Fatalf("%s, k %d: key %d of %d changed lanes %08b, want fresh %t", tier, k, i, size, lanes[i], fresh[i])
					}
				}
				for _, p := range MarkedBits(nil, uint64(len(marked)), k, hs, lanes) {
					if k <= len(Block{}) && marked[p>>9][p>>6&7]>>(p&63)&1 == 1 {
						t.Fatalf("%s, k %d: bit %d was set before, or is named twice", tier, k, p)
					}
					marked[p>>9][p>>6&7] |= 1 << (p & 63)
				}
				if !slices.Equal(got, want) || !slices.Equal(marked, want) {
					t.Fatalf("%s, k %d: %d keys have left other bits", tier, k, size)
				}
			}
		}
	}
}

func TestMarkAllSplit(t *testing.T) {
	for _, tier := range tiers() {
		use(t, tier)
		r := rand.New(rand.NewPCG(5, 6))
		got, want := make([]SplitBlock, 29), make([]SplitBlock, 29)
		for _, size := range []int{0, 1, 7, 8, 9, 64, 211} {
			hs, lanes, fresh := make([]uint64, size), make([]uint8, size), make([]bool, size)
			for i := range hs {
				hs[i] = r.Uint64()
			}
			marked := slices.Clone(want)
			MarkAllSplit(lanes, got, hs)
			SetAllSplit(fresh, want, hs)
			for _, p := range MarkedBitsSplit(nil, len(marked), hs, lanes) {
				if marked[p>>8][p>>6&3]>>(p&63)&1 == 1 {
					t.Fatalf("%s: bit %d was set before, or is named twice", tier, p)
				}
				marked[p>>8][p>>6&3] |= 1 << (p & 63)
			}
			if !slices.Equal(got, want) || !slices.Equal(marked, want) {
				t.Fatalf("%s: %d keys have left other bits", tier, size)
			}
			for i := range lanes {
				if (lanes[i] != 0) != fresh[i] {
					t.Fatalf("%s: key %d of %d changed lanes %08b, want fresh %t", tier, i, size, lanes[i], fresh[i])
				}
			}
		}
	}
}
