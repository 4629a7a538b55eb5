package library

import (
	"encoding"

	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/internal/measuring"
	"github.com/bloomery/bloomery/sizing"
)

// keyed is what the filters of package bloom share.
type keyed interface {
	AddKeys(dst []bool, keys [][]byte)
	ContainsKeys(dst []bool, keys [][]byte)
	Shape() sizing.Shape
}

// ours wraps a filter of package bloom.
func ours(f keyed) Filter {
	w := Filter{
		Subject: measuring.Subject{
			Add:      func(keys [][]byte) { f.AddKeys(nil, keys) },
			Contains: f.ContainsKeys,
		},
		Bits: func() uint64 { return f.Shape().Bits },
	}
	if m, ok := f.(encoding.BinaryMarshaler); ok {
		w.Encode = m.MarshalBinary
	}
	return w
}

// filter is bloom.Filter.
func filter() Library {
	return Library{
		Name:  "bloom.Filter",
		Ours:  true,
		Large: true,
		Make: func(n int64, p float64) (Filter, error) {
			f, err := bloom.Config{Capacity: int(n), ErrorRate: p}.New()
			if err != nil {
				return Filter{}, err
			}
			return ours(f), nil
		},
		Decode: func(data []byte) (Filter, error) {
			var f bloom.Filter
			err := f.UnmarshalBinary(data)
			return ours(&f), err
		},
		Hostile: claimTerabytes,
		Array: func(bytes, k int) (Array, bool) {
			f, err := bloom.Config{Bits: uint64(bytes) * 8, Hashes: k}.New()
			if err != nil {
				return Array{}, false
			}
			return filterArray(f), true
		},
	}
}

func filterArray(f *bloom.Filter) Array {
	hasher := f.Hasher()
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
		Ints: map[Call]func([]bool, []uint64){
			HasBatch: func(dst []bool, keys []uint64) {
				var hs [group]uint64
				for len(keys) > 0 {
					n := min(group, len(keys))
					for i, key := range keys[:n] {
						hs[i] = hasher.HashUint64(key)
					}
					f.ContainsHashes(dst[:n], hs[:n])
					keys, dst = keys[n:], dst[n:]
				}
			},
			HasOne: func(dst []bool, keys []uint64) {
				for i, key := range keys {
					dst[i] = f.ContainsHash(hasher.HashUint64(key))
				}
			},
			AddOne: func(_ []bool, keys []uint64) {
				for _, key := range keys {
					f.AddHash(hasher.HashUint64(key))
				}
			},
		},
		Keys: map[Call]func([]bool, [][]byte){
			HasBatch: f.ContainsKeys,
			AddBatch: func(_ []bool, keys [][]byte) { f.AddKeys(nil, keys) },
			HasOne: func(dst []bool, keys [][]byte) {
				for i, key := range keys {
					dst[i] = f.Contains(key)
				}
			},
			AddOne: func(_ []bool, keys [][]byte) {
				for _, key := range keys {
					f.Add(key)
				}
			},
		},
	}
}
