// Package shards cuts a set of hashes into 2^b shards by bloomery.Route, so
// that a static filter can be built shard by shard: on several cores, or from
// a stream that is larger than memory.
//
// In memory:
//
//	ends := shards.Partition(dst, hashes, b) // shard i is dst[ends[i]:ends[i+1]]
//	err := shards.Each(ctx, 1<<b, workers, func(worker, i int) error { ... })
//
// Out of core:
//
//	                 by Route, in blocks
//	stream ─► Spill ─► scratch ─► Load(dst, i, b) ─► build ─► Store ─► scratch ─► Restore ─► file
//	          2^Bits buffers       shard i of 2^b              result i
//
// The stream is cut finer than needed, because its length is not known; b is
// chosen when it is, and a shard is then a row of neighbouring parts. Route
// makes that possible: its answer for b bits is the upper part of that for
// more.
package shards

import (
	"io"
	"math/bits"

	"github.com/bloomery/bloomery"
)

// MaxBits is the most shards that a filter can have, as a power of two.
const MaxBits = 20

// Scratch is a place for what does not fit into memory: an *os.File is one.
// Its content before is not looked at, and means nothing afterwards. A Spill
// calls it from several goroutines.
type Scratch interface {
	io.ReaderAt
	io.WriterAt
}

// Bits returns the smallest b for which n keys in 2^b shards are at most each
// per shard, on average. It is at most MaxBits.
func Bits(n, each uint64) uint {
	if n <= each {
		return 0
	}
	return min(uint(bits.Len64((n-1)/max(each, 1))), MaxBits)
}

// Partition copies hashes into dst, which must be as long, shard by shard and
// else in their order. Shard i is then dst[ends[i]:ends[i+1]].
func Partition(dst, hashes []uint64, b uint) (ends []int) {
	dst = dst[:len(hashes)]
	ends = make([]int, 1<<b+1)
	for _, h := range hashes {
		ends[bloomery.Route(h, b)+1]++
	}
	sum := 0
	for i, n := range ends {
		sum += n
		ends[i] = sum
	}
	at := append([]int(nil), ends[:1<<b]...)
	for _, h := range hashes {
		part := bloomery.Route(h, b)
		dst[at[part]] = h
		at[part]++
	}
	return ends
}
