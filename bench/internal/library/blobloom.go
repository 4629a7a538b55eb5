package library

import (
	"bytes"
	"encoding/binary"
	"slices"

	"github.com/greatroar/blobloom"
)

// blobLoops are the loops over a blobloom.Filter.
type blobLoops struct{ f *blobloom.Filter }

func (b blobLoops) has(dst []bool, hs []uint64) {
	for i, h := range hs {
		dst[i] = b.f.Has(h)
	}
}

func (b blobLoops) add(_ []bool, hs []uint64) {
	for _, h := range hs {
		b.f.Add(h)
	}
}

func (b blobLoops) hasInts(dst []bool, keys []uint64) {
	for i, key := range keys {
		dst[i] = b.f.Has(xxh3.HashUint64(key))
	}
}

func (b blobLoops) hasKeys(dst []bool, keys [][]byte) {
	for i, key := range keys {
		dst[i] = b.f.Has(xxh3.Hash(key))
	}
}

func (b blobLoops) addInts(_ []bool, keys []uint64) {
	for _, key := range keys {
		b.f.Add(xxh3.HashUint64(key))
	}
}

func (b blobLoops) addKeys(_ []bool, keys [][]byte) {
	for _, key := range keys {
		b.f.Add(xxh3.Hash(key))
	}
}

// blob is blobloom.Filter. New(m, k) sets k-1 bits per key; Array passes k on
// as it is, which is to the advantage of blobloom by one probe.
func blob() Library {
	wrap := func(f *blobloom.Filter) Filter {
		loops := blobLoops{f}
		return Filter{
			Subject: hashed(xxh3.Hash, loops.add, loops.has),
			Bits:    f.NumBits,
			Encode: func() ([]byte, error) {
				var buf bytes.Buffer
				_, err := blobloom.Dump(&buf, f, "")
				return buf.Bytes(), err
			},
		}
	}
	return Library{
		Name:   "blobloom",
		Module: "github.com/greatroar/blobloom",
		Make: func(n int64, p float64) (Filter, error) {
			return wrap(blobloom.NewOptimized(blobloom.Config{Capacity: uint64(n), FPRate: p})), nil
		},
		Decode: func(data []byte) (Filter, error) {
			l, err := blobloom.NewLoader(bytes.NewReader(data))
			if err != nil {
				return Filter{}, err
			}
			f, err := l.Load(nil)
			if err != nil {
				return Filter{}, err
			}
			return wrap(f), nil
		},
		Hostile: func(data []byte) []byte {
			data = slices.Clone(data)
			binary.LittleEndian.PutUint32(data[12:], 1<<32-1) // blocks, less one
			return data
		},
		Array: func(bytes, k int) (Array, bool) {
			f := blobloom.New(uint64(bytes)*8, k)
			loops := blobLoops{f}
			return Array{
				Words:  Memory(f, "b"),
				Hashes: map[Call]func([]bool, []uint64){HasOne: loops.has, AddOne: loops.add},
				Ints:   map[Call]func([]bool, []uint64){HasOne: loops.hasInts, AddOne: loops.addInts},
				Keys:   map[Call]func([]bool, [][]byte){HasOne: loops.hasKeys, AddOne: loops.addKeys},
			}, true
		},
	}
}
