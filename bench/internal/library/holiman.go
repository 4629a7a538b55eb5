package library

import (
	"encoding/binary"

	bloomfilter "github.com/holiman/bloomfilter/v2"
)

// holimanLoops are the loops over a bloomfilter.Filter of holiman.
type holimanLoops struct{ f *bloomfilter.Filter }

func (l holimanLoops) has(dst []bool, hs []uint64) {
	for i, h := range hs {
		dst[i] = l.f.ContainsHash(h)
	}
}

func (l holimanLoops) add(_ []bool, hs []uint64) {
	for _, h := range hs {
		l.f.AddHash(h)
	}
}

// holiman is holiman/bloomfilter.
func holiman() Library {
	wrap := func(f *bloomfilter.Filter) Filter {
		loops := holimanLoops{f}
		return Filter{
			Subject: hashed(xxh3.Hash, loops.add, loops.has),
			Bits:    f.M,
			Encode:  f.MarshalBinary,
		}
	}
	return Library{
		Name:   "holiman",
		Module: "github.com/holiman/bloomfilter/v2",
		Make: func(n int64, p float64) (Filter, error) {
			f, err := bloomfilter.NewOptimal(uint64(n), p)
			if err != nil {
				return Filter{}, err
			}
			return wrap(f), nil
		},
		Decode: func(data []byte) (Filter, error) {
			var f bloomfilter.Filter
			if err := f.UnmarshalBinary(data); err != nil {
				return Filter{}, err
			}
			return wrap(&f), nil
		},
		Hostile: put64(binary.LittleEndian, terabyteBits, 28), // m, after magic, k and n
		Array: func(bytes, k int) (Array, bool) {
			f, err := bloomfilter.New(uint64(bytes)*8, uint64(k))
			if err != nil {
				return Array{}, false
			}
			loops := holimanLoops{f}
			return Array{
				Words:  Memory(f, "bits"),
				Hashes: map[Call]func([]bool, []uint64){HasOne: loops.has, AddOne: loops.add},
			}, true
		},
	}
}
