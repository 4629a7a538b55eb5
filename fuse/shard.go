package fuse

import (
	"math/bits"

	"github.com/bloomery/bloomery/internal/kernel"
	"github.com/bloomery/bloomery/sizing"
)

// shard is a filter of its own for the keys that Route sends to it: an array,
// and where keys lie in it.
type shard[T Fingerprint] struct {
	place
	salt  uint64 // of the seed, 0 for hashes as they are
	table []T
	ahead kernel.Ahead
	shape sizing.FuseShard
	seed  uint32 // the number of tries that failed
	items uint64 // different keys
}

// newShard returns a shard without its array.
func newShard[T Fingerprint](shape sizing.FuseShard, seed uint32, items uint64) shard[T] {
	return shard[T]{place: placeIn(shape), shape: shape, seed: seed, salt: saltOf(seed), items: items}
}

// saltOf returns what hashes are mixed with after so many failures. The first
// try takes them as they are: they are mixed already.
func saltOf(seed uint32) uint64 { return uint64(seed) * 0x9e3779b97f4a7c15 }

// mix returns another hash of the same key (the finalizer of MurmurHash3). It
// is not the mixer of bloomery.Route, so that shards stay independent.
func mix(h, salt uint64) uint64 {
	h ^= salt
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}

// mixed returns the hash that the shard knows the key with hash h by.
func (s *shard[T]) mixed(h uint64) uint64 {
	if s.salt != 0 {
		return mix(h, s.salt)
	}
	return h
}

// has reports whether the key with this hash, mixed, may be in the shard.
func (s *shard[T]) has(h uint64) bool {
	t := s.table
	if s.arity == 4 {
		i0, i1, i2, i3 := s.four(h)
		if int(i3) >= len(t) { // an empty shard
			return false
		}
		return fingerprint[T](h)^t[i0]^t[i1]^t[i2]^t[i3] == 0
	}
	i0, i1, i2 := s.three(h)
	if int(i2) >= len(t) {
		return false
	}
	return fingerprint[T](h)^t[i0]^t[i1]^t[i2] == 0
}

// hasAll is has for many. No answer waits for the one before, so that the
// memory accesses of several keys are under way at once.
func (s *shard[T]) hasAll(dst []bool, hs []uint64) {
	dst = dst[:len(hs)]
	t, p := s.table, s.place
	if p.arity == 4 {
		for i, h := range hs {
			dst[i] = s.has(h)
		}
		return
	}
	for i, h := range hs {
		i0, i1, i2 := p.three(h)
		if int(i2) >= len(t) {
			dst[i] = false
			continue
		}
		dst[i] = fingerprint[T](h)^t[i0]^t[i1]^t[i2] == 0
	}
}

// prefetcher returns what asks for slots of the shard before they are read.
func (s *shard[T]) prefetcher() kernel.Ahead {
	return kernel.Ahead{
		Table: memoryOf(s.table), Scale: uint(bits.Len(uint(width[T]() / 16))),
		Starts: s.starts, Length: uint64(s.length), Four: s.arity == 4,
	}
}
