package kernel

import (
	"math/rand/v2"
	"testing"
)

// The functions for shared arrays must set and find the same bits as the
// others, whatever they run on.
func TestSharedAgrees(t *testing.T) {
	r := rand.New(rand.NewPCG(20, 26))
	for k := 1; k <= MaxK; k++ {
		for _, n := range []int{1, 3, 64, 257} {
			one, shared, slow := make([]Block, n), make([]Block, n), make([]Block, n)
			hs := make([]uint64, 40*n)
			for i := range hs {
				hs[i] = r.Uint64()
			}
			fresh := make([]bool, len(hs))
			SetAllShared(fresh, shared, k, hs)
			for i, h := range hs {
				want := Set(one, k, h)
				if got := goSetShared(slow, k, h); got != want || fresh[i] != want {
					t.Fatalf("k = %d: Set = %v, goSetShared = %v, SetAllShared = %v", k, want, got, fresh[i])
				}
			}
			for i := range one {
				if one[i] != shared[i] || one[i] != slow[i] {
					t.Fatalf("k = %d: block %d differs", k, i)
				}
			}
			again := SetShared(shared, k, hs[0])
			SetAllShared(nil, shared, k, hs)
			found := make([]bool, len(hs))
			for i := range hs {
				hs[i] ^= r.Uint64() & -uint64(i&1) // every other key is absent
			}
			HasAllShared(found, shared, k, hs)
			for i, h := range hs {
				want := Has(one, k, h)
				if found[i] != want || HasShared(shared, k, h) != want || goHasShared(shared, k, h) != want || again {
					t.Fatalf("k = %d: lookups of key %d differ", k, i)
				}
			}
		}
	}
}
