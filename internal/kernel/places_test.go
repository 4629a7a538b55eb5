package kernel

import (
	"math/rand/v2"
	"testing"
)

// The places of a key are the bits that Set sets, each once.
func TestPlacesAreTheBitsOfSet(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 7))
	for k := 1; k <= MaxK; k++ {
		for _, n := range []uint64{1, 2, 7, 1000} {
			for range 500 {
				h := r.Uint64()
				want := make([]Block, n)
				Set(want, k, h)
				var at [MaxK]uint16
				block, places := Places(&at, n, k, h)
				got := make([]Block, n)
				for _, p := range at[:places] {
					if got[block][p>>6]>>(p&63)&1 != 0 {
						t.Fatalf("k = %d: place %d comes twice", k, p)
					}
					got[block][p>>6] |= 1 << (p & 63)
				}
				for i := range want {
					if got[i] != want[i] {
						t.Fatalf("k = %d, n = %d, h = %#x: places %v in block %d are not the bits of Set", k, n, h, at[:places], block)
					}
				}
			}
		}
	}
}

func TestPlacesPanics(t *testing.T) {
	for name, run := range map[string]func(at *[MaxK]uint16){
		"k = 0":     func(at *[MaxK]uint16) { Places(at, 1, 0, 1) },
		"k = 17":    func(at *[MaxK]uint16) { Places(at, 1, 17, 1) },
		"no blocks": func(at *[MaxK]uint16) { Places(at, 0, 3, 1) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			run(new([MaxK]uint16))
		}()
	}
}
