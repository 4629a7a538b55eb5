package library

import (
	"bytes"
	"fmt"

	"github.com/dgraph-io/ristretto/v2/z"
)

// zLoops are the loops over a z.Bloom of ristretto.
type zLoops struct{ f *z.Bloom }

func (l zLoops) has(dst []bool, hs []uint64) {
	for i, h := range hs {
		dst[i] = l.f.Has(h)
	}
}

func (l zLoops) add(_ []bool, hs []uint64) {
	for _, h := range hs {
		l.f.Add(h)
	}
}

// ristretto is z.Bloom of ristretto.
func ristretto() Library {
	wrap := func(f *z.Bloom) Filter {
		loops := zLoops{f}
		return Filter{
			Subject: hashed(xxh3.Hash, loops.add, loops.has),
			Bits:    func() uint64 { return uint64(len(Memory(f, "bitset"))) * 64 },
			Encode:  func() ([]byte, error) { return f.JSONMarshal(), nil },
		}
	}
	return Library{
		Name:   "ristretto",
		Module: "github.com/dgraph-io/ristretto/v2",
		Make: func(n int64, p float64) (Filter, error) {
			return wrap(z.NewBloomFilter(float64(n), p)), nil
		},
		Decode: func(data []byte) (Filter, error) {
			f, err := z.JSONUnmarshal(data)
			if err != nil {
				return Filter{}, err
			}
			return wrap(f), nil
		},
		Hostile: func(data []byte) []byte {
			at := bytes.LastIndex(data, []byte(`"SetLocs"`))
			return fmt.Appendf(bytes.Clone(data[:at]), `"SetLocs":%d}`, uint64(terabyteBits))
		},
		Array: func(bytes, k int) (Array, bool) {
			f := z.NewBloomFilter(float64(bytes)*8, float64(k)) // from 1 on, p is k
			loops := zLoops{f}
			return Array{
				Words:  Memory(f, "bitset"),
				Hashes: map[Call]func([]bool, []uint64){HasOne: loops.has, AddOne: loops.add},
			}, true
		},
	}
}
