package library

import (
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/metadata"
)

// arrowMax is the size that arrow-go never exceeds.
const arrowMax = 128 << 20

// arrowFilter is what the builder of arrow-go can do: it has its lookups only
// by a second interface.
type arrowFilter interface {
	metadata.BloomFilterBuilder
	CheckHash(hash uint64) bool
	CheckBulk(hashes []uint64) []bool
}

// arrowLoops are the loops over a filter of arrow-go.
type arrowLoops struct{ f arrowFilter }

func (a arrowLoops) has(dst []bool, hs []uint64) {
	for i, h := range hs {
		dst[i] = a.f.CheckHash(h)
	}
}

func (a arrowLoops) hasBulk(dst []bool, hs []uint64) { copy(dst, a.f.CheckBulk(hs)) }

func (a arrowLoops) add(_ []bool, hs []uint64) {
	for _, h := range hs {
		a.f.InsertHash(h)
	}
}

func (a arrowLoops) addBulk(_ []bool, hs []uint64) { a.f.InsertBulk(hs) }

// arrow is the Bloom filter of Parquet metadata in arrow-go. It is read and
// written only inside Parquet files.
func arrow() Library {
	return Library{
		Name:   "arrow-go",
		Module: "github.com/apache/arrow-go/v18",
		Sizing: "takes the number of distinct values as uint32, and at most 128 MiB",
		Make: func(n int64, p float64) (Filter, error) {
			f := metadata.NewBloomFilterFromNDVAndFPP(uint32(n), p, arrowMax, memory.DefaultAllocator).(arrowFilter)
			loops := arrowLoops{f}
			return Filter{
				Subject: hashed(f.Hasher().Sum64, loops.addBulk, loops.has),
				Bits:    func() uint64 { return uint64(f.Size()) * 8 },
			}, nil
		},
		Array: func(bytes, k int) (Array, bool) {
			if k != 8 || bytes > arrowMax {
				return Array{}, false
			}
			f := metadata.NewBloomFilter(uint32(bytes), arrowMax, memory.DefaultAllocator).(arrowFilter)
			loops := arrowLoops{f}
			return Array{
				Words: Memory(f, "bitset32"),
				Hashes: map[Call]func([]bool, []uint64){
					HasOne: loops.has, HasBatch: loops.hasBulk, AddOne: loops.add, AddBatch: loops.addBulk,
				},
			}, true
		},
	}
}
