package library

import (
	"math"

	"github.com/parquet-go/parquet-go/bloom"
)

// splitLoops are the loops over a bloom.SplitBlockFilter of parquet-go.
type splitLoops struct{ f bloom.SplitBlockFilter }

func (s splitLoops) has(dst []bool, hs []uint64) {
	for i, h := range hs {
		dst[i] = s.f.Check(h)
	}
}

func (s splitLoops) add(_ []bool, hs []uint64) {
	for _, h := range hs {
		s.f.Insert(h)
	}
}

func (s splitLoops) addBulk(_ []bool, hs []uint64) { s.f.InsertBulk(hs) }

func (s splitLoops) hasInts(dst []bool, keys []uint64) {
	for i, key := range keys {
		dst[i] = s.f.Check(bloom.XXH64{}.Sum64Uint64(key))
	}
}

func (s splitLoops) hasKeys(dst []bool, keys [][]byte) {
	for i, key := range keys {
		dst[i] = s.f.Check(bloom.XXH64{}.Sum64(key))
	}
}

func (s splitLoops) addInts(_ []bool, keys []uint64) {
	for _, key := range keys {
		s.f.Insert(bloom.XXH64{}.Sum64Uint64(key))
	}
}

func (s splitLoops) addKeys(_ []bool, keys [][]byte) {
	for _, key := range keys {
		s.f.Insert(bloom.XXH64{}.Sum64(key))
	}
}

// parquetGo is package bloom of parquet-go. Its filters are slices of blocks,
// and their encoding is their memory.
func parquetGo() Library {
	wrap := func(f bloom.SplitBlockFilter) Filter {
		loops := splitLoops{f}
		return Filter{
			Subject: hashed(bloom.XXH64{}.Sum64, loops.addBulk, loops.has),
			Bits:    func() uint64 { return uint64(len(f)) * bloom.BlockSize * 8 },
			Encode:  func() ([]byte, error) { return f.Bytes(), nil },
		}
	}
	return Library{
		Name:   "parquet-go",
		Module: "github.com/parquet-go/parquet-go",
		NoRate: true,
		Sizing: "takes bits per value: those of the textbook formula, rounded up",
		Make: func(n int64, p float64) (Filter, error) {
			perKey := uint(math.Ceil(-math.Log2(p) / math.Ln2))
			return wrap(make(bloom.SplitBlockFilter, bloom.NumSplitBlocksOf(n, perKey))), nil
		},
		Decode: func(data []byte) (Filter, error) {
			return wrap(bloom.MakeSplitBlockFilter(data)), nil
		},
		Array: func(bytes, k int) (Array, bool) {
			if k != 8 {
				return Array{}, false
			}
			f := make(bloom.SplitBlockFilter, bytes/bloom.BlockSize)
			loops := splitLoops{f}
			return Array{
				Words: Memory(struct{ F bloom.SplitBlockFilter }{f}, "F"),
				Hashes: map[Call]func([]bool, []uint64){
					HasOne: loops.has, AddOne: loops.add, AddBatch: loops.addBulk,
				},
				Ints: map[Call]func([]bool, []uint64){HasOne: loops.hasInts, AddOne: loops.addInts},
				Keys: map[Call]func([]bool, [][]byte){HasOne: loops.hasKeys, AddOne: loops.addKeys},
			}, true
		},
	}
}
