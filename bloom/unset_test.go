package bloom_test

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/bloomery/bloomery/bloom"
)

// unsetter is a filter that says which bits it would set.
type unsetter interface {
	AddHashes(dst []bool, hs []uint64)
	Unset(masks []uint16, hs []uint64)
	UnsetBits(dst, hs []uint64, masks []uint16) []uint64
	MarshalBinary() ([]byte, error)
}

// What Unset names before is what changes: the bits of the encoded array that it names are
// clear before AddHashes, set after it, and no other bit is another one.
func TestUnset(t *testing.T) {
	filters := map[string]func(rate float64) unsetter{
		"bloom":       func(p float64) unsetter { return bloom.New(2000, p) },
		"split":       func(p float64) unsetter { return bloom.NewSplit(2000, p) },
		"standard":    func(p float64) unsetter { return bloom.NewStandard(2000, p) },
		"partitioned": func(p float64) unsetter { return bloom.NewPartitioned(2000, p) },
	}
	for name, open := range filters {
		for _, rate := range []float64{0.3, 0.01, 0.001, 0.00002} { // more than 8 bits a key, too
			f := open(rate)
			rng := rand.New(rand.NewPCG(3, 4))
			hs, masks := make([]uint64, 500), make([]uint16, 500)
			for range 6 {
				for i := range hs {
					hs[i] = rng.Uint64()
				}
				before, _ := f.MarshalBinary()
				f.Unset(masks, hs)
				f.AddHashes(nil, hs)
				at := f.UnsetBits(nil, hs, masks)
				after, _ := f.MarshalBinary()
				size := binary.LittleEndian.Uint64(before[48:])
				old, now := before[64:64+size], after[64:64+size]
				clean := bytes.Clone(old)
				for _, p := range at {
					if clean[p/8]>>(p%8)&1 == 1 && rate > 0.00003 { // of 17 bits a key one is named in any case
						t.Fatalf("%s at %v: bit %d was set", name, rate, p)
					}
					old[p/8] |= 1 << (p % 8)
				}
				if !bytes.Equal(old, now) {
					t.Fatalf("%s at %v: other bits have changed than those that Unset names", name, rate)
				}
			}
			if f.Unset(masks, hs); rate > 0.00003 && len(f.UnsetBits(nil, hs, masks)) > 0 {
				t.Errorf("%s at %v: bits of keys that are there", name, rate)
			}
		}
	}
}
