package library

import (
	"encoding/binary"

	"github.com/bits-and-blooms/bloom/v3"

	"github.com/bloomery/bloomery/internal/measuring"
)

// bitsLoops are the loops over a bloom.BloomFilter of bits-and-blooms.
type bitsLoops struct{ f *bloom.BloomFilter }

func (b bitsLoops) add(keys [][]byte) {
	for _, key := range keys {
		b.f.Add(key)
	}
}

func (b bitsLoops) has(dst []bool, keys [][]byte) {
	for i, key := range keys {
		dst[i] = b.f.Test(key)
	}
}

func (b bitsLoops) addInts(_ []bool, keys []uint64) {
	var buf [8]byte
	for _, key := range keys {
		binary.LittleEndian.PutUint64(buf[:], key)
		b.f.Add(buf[:])
	}
}

func (b bitsLoops) hasInts(dst []bool, keys []uint64) {
	var buf [8]byte
	for i, key := range keys {
		binary.LittleEndian.PutUint64(buf[:], key)
		dst[i] = b.f.Test(buf[:])
	}
}

// bitsAndBlooms is bits-and-blooms/bloom.
func bitsAndBlooms() Library {
	wrap := func(f *bloom.BloomFilter) Filter {
		loops := bitsLoops{f}
		return Filter{
			Subject: measuring.Subject{Add: loops.add, Contains: loops.has},
			Bits:    func() uint64 { return uint64(f.Cap()) },
			Encode:  f.MarshalBinary,
		}
	}
	return Library{
		Name:   "bits-and-blooms",
		Module: "github.com/bits-and-blooms/bloom/v3",
		Make: func(n int64, p float64) (Filter, error) {
			return wrap(bloom.NewWithEstimates(uint(n), p)), nil
		},
		Decode: func(data []byte) (Filter, error) {
			var f bloom.BloomFilter
			if err := f.UnmarshalBinary(data); err != nil {
				return Filter{}, err
			}
			return wrap(&f), nil
		},
		Hostile: put64(binary.BigEndian, terabyteBits, 0, 16), // m, length of the bit set
		Array: func(bytes, k int) (Array, bool) {
			f := bloom.New(uint(bytes)*8, uint(k))
			loops := bitsLoops{f}
			return Array{
				Words: f.BitSet().Words(),
				Ints:  map[Call]func([]bool, []uint64){HasOne: loops.hasInts, AddOne: loops.addInts},
				Keys: map[Call]func([]bool, [][]byte){
					HasOne: loops.has,
					AddOne: func(_ []bool, keys [][]byte) { loops.add(keys) },
				},
			}, true
		},
	}
}
