package bloom_test

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/bloomery/bloomery/bloom"
)

// marker is a filter that says which bits it sets.
type marker interface {
	AddHashes(dst []bool, hs []uint64)
	Mark(marks []uint8, hs []uint64)
	MarkedBits(dst, hs []uint64, marks []uint8) []uint64
	MarshalBinary() ([]byte, error)
}

// What Mark names is what changes: the bits of the encoded array that it names are clear before
// and set after it, no other bit is another one, and all is as after AddHashes.
func TestMark(t *testing.T) {
	filters := map[string]func(rate float64) marker{
		"bloom":       func(p float64) marker { return bloom.New(2000, p) },
		"split":       func(p float64) marker { return bloom.NewSplit(2000, p) },
		"standard":    func(p float64) marker { return bloom.NewStandard(2000, p) },
		"partitioned": func(p float64) marker { return bloom.NewPartitioned(2000, p) },
	}
	for name, open := range filters {
		for _, rate := range []float64{0.3, 0.01, 0.001, 0.00002} { // more than 8 bits a key, too
			f, plain := open(rate), open(rate)
			rng := rand.New(rand.NewPCG(3, 4))
			hs, marks := make([]uint64, 500), make([]uint8, 500)
			for range 6 {
				for i := range hs {
					hs[i] = rng.Uint64()
				}
				before, _ := f.MarshalBinary()
				f.Mark(marks, hs)
				plain.AddHashes(nil, hs)
				at := f.MarkedBits(nil, hs, marks)
				after, _ := f.MarshalBinary()
				if want, _ := plain.MarshalBinary(); !bytes.Equal(after, want) {
					t.Fatalf("%s at %v: Mark does not leave what AddHashes does", name, rate)
				}
				size := binary.LittleEndian.Uint64(before[48:])
				old, now := before[64:64+size], after[64:64+size]
				clean := bytes.Clone(old)
				for _, p := range at {
					if clean[p/8]>>(p%8)&1 == 1 && rate >= 0.01 { // of more than 8 bits a key some share a mark
						t.Fatalf("%s at %v: bit %d was set", name, rate, p)
					}
					old[p/8] |= 1 << (p % 8)
				}
				if !bytes.Equal(old, now) {
					t.Fatalf("%s at %v: other bits have changed than those that Mark names", name, rate)
				}
			}
			if f.Mark(marks, hs); len(f.MarkedBits(nil, hs, marks)) > 0 {
				t.Errorf("%s at %v: bits of keys that are there", name, rate)
			}
		}
	}
}
