package library

import (
	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/internal/measuring"
)

// slicedColumns is how many columns there is room for: the fewest possible.
const slicedColumns = 64

// sliced is a column of bloom.Sliced. Another one holds other keys, so that a
// bit that lands in the wrong column shows.
func sliced() Library {
	return Library{
		Name:   "bloom.Sliced",
		Ours:   true,
		Sizing: "is one of two columns, in answers and bits per key",
		Make: func(n int64, p float64) (Filter, error) {
			f, err := bloom.Config{Columns: slicedColumns, Capacity: int(n), ErrorRate: p}.NewSliced()
			if err != nil {
				return Filter{}, err
			}
			for range 2 {
				if _, err := f.AddColumn(); err != nil {
					return Filter{}, err
				}
			}
			return slicedFilter(f), nil
		},
		Decode: func(data []byte) (Filter, error) {
			var f bloom.Sliced
			err := f.UnmarshalBinary(data)
			return slicedFilter(&f), err
		},
		Hostile: claimTerabytes,
	}
}

// slicedFilter adds keys to column 1, and the complements of their hashes to
// column 0.
func slicedFilter(f *bloom.Sliced) Filter {
	hasher := f.Hasher()
	return Filter{
		Subject: measuring.Subject{
			Add: func(keys [][]byte) {
				for _, key := range keys {
					h := hasher.Hash(key)
					for column, h := range [...]uint64{^h, h} {
						if _, err := f.AddHash(column, h); err != nil {
							panic(err)
						}
					}
				}
			},
			Contains: func(dst []bool, keys [][]byte) {
				var which [slicedColumns / 64]uint64
				for i, key := range keys {
					f.Which(which[:], hasher.Hash(key))
					dst[i] = which[0]>>1&1 == 1
				}
			},
		},
		Bits:   func() uint64 { return f.Shape().Bits },
		Encode: f.MarshalBinary,
	}
}
