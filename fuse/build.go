package fuse

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/internal/memory"
	"github.com/bloomery/bloomery/internal/shards"
	"github.com/bloomery/bloomery/sizing"
)

const (
	// maxTries is how many seeds are tried. Fewer than one of five tries
	// fails, so that the last is only reached by hashes that were made to.
	maxTries = 64
	// growFrom is the try from which on the array grows with each.
	growFrom = 8
	// cached is how many words a build can work on in any order: half of a
	// second-level cache.
	cached = 1 << 20 / 8
	// bucket is how many words the keys of a bucket belong to, if there are
	// more than that.
	bucket     = 256 << 10 / 8
	maxBuckets = 2048
)

// worker builds shards one after the other and keeps its buffers.
type worker struct {
	peeler
	near []uint64           // hashes, by buckets
	at   [maxBuckets]uint32 // where the buckets end
}

// build returns a shard that holds the keys with these hashes, which it may
// reorder. alloc returns zero words for its array. The result depends on the
// set of hashes and on nothing else.
func build[T Fingerprint](w *worker, arity int, hashes []uint64, alloc func(words int) ([]uint64, error)) (shard[T], error) {
	distinct := false
	for seed := uint32(0); seed < maxTries; {
		s := newShard[T](shapeFor(uint64(len(hashes)), arity, seed), seed, uint64(len(hashes)))
		slots := s.shape.Slots()
		if slots > math.MaxUint32 || slots > math.MaxInt/16 {
			return s, fmt.Errorf("%w: %d keys in one shard", bloomery.ErrTooLarge, len(hashes))
		}
		if w.load(&s.place, int(slots), w.arrange(int(slots), s.salt, hashes)) && w.peel(&s.place) == len(hashes) {
			words, err := alloc(int(slots) * width[T]() / 64)
			if err != nil {
				return s, err
			}
			s.table = lanes[T](words)
			fill(s.table, &w.peeler, &s.place)
			return s, nil
		}
		if distinct {
			seed++
			continue
		}
		// Duplicates are the one failure that no seed cures. They are looked
		// for only now, since most sets have none.
		distinct = true
		n := len(hashes)
		if hashes = shards.Dedupe(hashes); len(hashes) == n {
			seed++
		}
	}
	return shard[T]{}, fmt.Errorf("%w: %d seeds were tried in vain for %d keys: their hashes are not well mixed",
		bloomery.ErrParameter, maxTries, len(hashes))
}

// shapeFor returns the shape of the array for n different keys and a seed.
// Some sizes fail more often with one length of segments than with another:
// tries alternate, and late ones take more slots.
func shapeFor(n uint64, arity int, seed uint32) sizing.FuseShard {
	s := sizing.FuseShardSize(n, arity)
	if seed%4 == 2 && s.Log > sizing.MinFuseLog {
		s.Log--
		s.Segments *= 2
	}
	if seed >= growFrom {
		s.Segments += 1 + s.Segments*int(seed-growFrom)/16
	}
	return s
}

// arrange returns the hashes as they are mixed by a seed. If the words of the
// build do not fit into the cache, hashes that are near each other have keys
// that are near each other in the array.
func (w *worker) arrange(slots int, salt uint64, hashes []uint64) []uint64 {
	if salt == 0 && slots <= cached {
		return hashes
	}
	if cap(w.near) < len(hashes) {
		w.near = memory.Words(len(hashes))
	}
	near := w.near[:len(hashes)]
	mixed := func(h uint64) uint64 {
		if salt == 0 {
			return h
		}
		return mix(h, salt)
	}
	if slots <= cached {
		for i, h := range hashes {
			near[i] = mixed(h)
		}
		return near
	}
	log := uint(min(bits.Len(uint(slots/bucket)), bits.Len(maxBuckets)-1))
	at := &w.at
	clear(at[:])
	for _, h := range hashes {
		at[mixed(h)>>(64-log)%maxBuckets]++
	}
	sum := uint32(0)
	for i, n := range at {
		at[i] = sum
		sum += n
	}
	for _, h := range hashes {
		h = mixed(h)
		to := h >> (64 - log) % maxBuckets
		near[at[to]] = h
		at[to]++
	}
	return near
}
