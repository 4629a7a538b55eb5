package library

import (
	"encoding"

	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/internal/measuring"
)

// kind is what further filters of package bloom share.
type kind interface {
	AddKeys(dst []bool, keys [][]byte)
	ContainsKeys(dst []bool, keys [][]byte)
	encoding.BinaryMarshaler
	encoding.BinaryUnmarshaler
}

// kindLibrary returns the library of a kind: how one is made, and an empty one
// that decodes. bits returns the size of its array.
func kindLibrary[F kind](name string, create func(bloom.Config) (F, error), bits func(F) uint64) Library {
	wrap := func(f F) Filter {
		return Filter{
			Subject: measuring.Subject{
				Add:      func(keys [][]byte) { f.AddKeys(nil, keys) },
				Contains: f.ContainsKeys,
			},
			Bits:   func() uint64 { return bits(f) },
			Encode: f.MarshalBinary,
		}
	}
	return Library{
		Name: name,
		Ours: true, Large: true,
		Make: func(n int64, p float64) (Filter, error) {
			f, err := create(bloom.Config{Capacity: int(n), ErrorRate: p})
			if err != nil {
				return Filter{}, err
			}
			return wrap(f), nil
		},
		Decode: func(data []byte) (Filter, error) {
			f, err := create(bloom.Config{Capacity: 1, ErrorRate: 0.5})
			if err != nil {
				return Filter{}, err
			}
			err = f.UnmarshalBinary(data)
			return wrap(f), err
		},
		Hostile: claimTerabytes,
	}
}

func partitioned() Library {
	return kindLibrary("bloom.Partitioned", bloom.Config.NewPartitioned,
		func(f *bloom.Partitioned) uint64 { return f.Shape().Bits })
}

func split() Library {
	l := kindLibrary("bloom.Split", bloom.Config.NewSplit,
		func(f *bloom.Split) uint64 { return f.Shape().Bits })
	l.Array = func(bytes, k int) (Array, bool) {
		f, err := bloom.Config{Bits: uint64(bytes) * 8, Hashes: k}.NewSplit()
		if err != nil {
			return Array{}, false
		}
		return splitArray(f), true
	}
	return l
}

func splitArray(f *bloom.Split) Array {
	return Array{
		Words: Memory(f, "blocks"),
		Hashes: map[Call]func([]bool, []uint64){
			HasBatch:   f.ContainsHashes,
			AddBatch:   func(_ []bool, hs []uint64) { f.AddHashes(nil, hs) },
			AddAnswers: f.AddHashes,
			HasOne: func(dst []bool, hs []uint64) {
				for i, h := range hs {
					dst[i] = f.ContainsHash(h)
				}
			},
			AddOne: func(_ []bool, hs []uint64) {
				for _, h := range hs {
					f.AddHash(h)
				}
			},
		},
	}
}

// scalable gets the right number of keys as its first capacity.
func scalable() Library {
	return kindLibrary("bloom.Scalable", bloom.Config.NewScalable,
		func(f *bloom.Scalable) uint64 { return f.Stats().Bits })
}

// grown is a Scalable that was made for a thousandth of the number of keys: ten
// layers instead of one.
func grown() Library {
	l := kindLibrary("bloom.Scalable, grown", func(c bloom.Config) (*bloom.Scalable, error) {
		if c.Capacity > 0 {
			c.Capacity = max(1, c.Capacity/1000)
		}
		return c.NewScalable()
	}, func(f *bloom.Scalable) uint64 { return f.Stats().Bits })
	l.Sizing = "is made for a thousandth of the keys and grows"
	l.Uneven = true // its first layers are small
	return l
}
