package library

import (
	"bytes"
	"encoding/binary"
	"math"

	boom "github.com/tylertreat/BoomFilters"

	"github.com/bloomery/bloomery/internal/measuring"
)

// boomMax is the size in bytes above which BoomFilters counts its bits with
// too few bits and sets the wrong ones.
const boomMax = 1 << 29

// boomLoops are the loops over a boom.BloomFilter.
type boomLoops struct{ f *boom.BloomFilter }

func (l boomLoops) add(keys [][]byte) {
	for _, key := range keys {
		l.f.Add(key)
	}
}

func (l boomLoops) has(dst []bool, keys [][]byte) {
	for i, key := range keys {
		dst[i] = l.f.Test(key)
	}
}

func (l boomLoops) addInts(_ []bool, keys []uint64) {
	var buf [8]byte
	for _, key := range keys {
		binary.LittleEndian.PutUint64(buf[:], key)
		l.f.Add(buf[:])
	}
}

func (l boomLoops) hasInts(dst []bool, keys []uint64) {
	var buf [8]byte
	for i, key := range keys {
		binary.LittleEndian.PutUint64(buf[:], key)
		dst[i] = l.f.Test(buf[:])
	}
}

// boomFilters is the classic filter of BoomFilters.
func boomFilters() Library {
	wrap := func(f *boom.BloomFilter) Filter {
		loops := boomLoops{f}
		return Filter{
			Subject: measuring.Subject{Add: loops.add, Contains: loops.has},
			Bits:    func() uint64 { return uint64(f.Capacity()) },
			Encode: func() ([]byte, error) {
				var buf bytes.Buffer
				_, err := f.WriteTo(&buf)
				return buf.Bytes(), err
			},
		}
	}
	return Library{
		Name:   "BoomFilters",
		Module: "github.com/tylertreat/BoomFilters",
		Make: func(n int64, p float64) (Filter, error) {
			return wrap(boom.NewBloomFilter(uint(n), p)), nil
		},
		Decode: func(data []byte) (Filter, error) {
			var f boom.BloomFilter
			if _, err := f.ReadFrom(bytes.NewReader(data)); err != nil {
				return Filter{}, err
			}
			return wrap(&f), nil
		},
		Hostile: put64(binary.BigEndian, terabyte, 34), // length, after count, m, k, two bytes, count
		Array: func(bytes, k int) (Array, bool) {
			if bytes > boomMax {
				return Array{}, false
			}
			// The constructor takes n and p: these give k and the size.
			n := uint(float64(bytes) * 8 * math.Ln2 / float64(k))
			f := boom.NewBloomFilter(n, math.Pow(2, -float64(k)))
			loops := boomLoops{f}
			return Array{
				Words: Memory(f, "buckets", "data"),
				Ints:  map[Call]func([]bool, []uint64){HasOne: loops.hasInts, AddOne: loops.addInts},
				Keys: map[Call]func([]bool, [][]byte){
					HasOne: loops.has,
					AddOne: func(_ []bool, keys [][]byte) { loops.add(keys) },
				},
			}, true
		},
	}
}
