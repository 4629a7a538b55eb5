package fuse

import (
	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/internal/kernel"
	"github.com/bloomery/bloomery/sizing"
)

// batch is how many keys are hashed before their hashes are looked up: 2 KiB
// of stack.
const batch = 256

// array is a filter that is only read: what Filter and View share.
type array[T Fingerprint] struct {
	first  shard[T] // the only shard, if bits is 0
	plain  bool     // all shards have three slots and take hashes as they are
	shards []shard[T]
	bits   uint // binary logarithm of their number
	arity  int
	hasher hashing.Hasher
	rate   float64 // asked for
	items  uint64
	slots  uint64
}

// finished returns the array with all that follows from its shards.
func (a array[T]) finished() array[T] {
	a.items, a.slots, a.plain = 0, 0, a.arity == 3
	for i := range a.shards {
		s := &a.shards[i]
		a.items += s.items
		a.slots += s.shape.Slots()
		a.plain = a.plain && s.salt == 0
		s.ahead = s.prefetcher()
	}
	a.first = a.shards[0]
	return a
}

// Contains reports whether key may be in the set. False is certain.
func (a *array[T]) Contains(key []byte) bool { return a.ContainsHash(a.hasher.Hash(key)) }

// ContainsString is Contains for a string.
func (a *array[T]) ContainsString(key string) bool { return a.ContainsHash(a.hasher.HashString(key)) }

// ContainsHash is Contains for a key whose hash is h.
func (a *array[T]) ContainsHash(h uint64) bool {
	s := &a.first
	if a.bits > 0 {
		s = &a.shards[bloomery.Route(h, a.bits)]
	}
	if !a.plain {
		return s.has(s.mixed(h))
	}
	i0, i1, i2 := s.three(h)
	t := s.table
	if int(i2) >= len(t) {
		return false
	}
	return fingerprint[T](h)^t[i0]^t[i1]^t[i2] == 0
}

// ContainsHashes sets dst[i] to ContainsHash(hs[i]). It is faster than
// as many single calls. It panics if dst is shorter than hs.
func (a *array[T]) ContainsHashes(dst []bool, hs []uint64) {
	dst = dst[:len(hs):len(dst)]
	switch far := a.slots*uint64(width[T]()) > nearBits && kernel.CanPrefetch(); {
	case a.bits > 0 || a.first.salt != 0:
		a.routed(dst, hs, far)
	case far:
		a.first.hasAllAhead(dst, hs)
	default:
		a.first.hasAll(dst, hs)
	}
}

// ContainsKeys is ContainsHashes for keys.
func (a *array[T]) ContainsKeys(dst []bool, keys [][]byte) {
	dst = dst[:len(keys):len(dst)]
	var hs [batch]uint64
	for len(keys) > 0 {
		n := a.hasher.HashKeys(hs[:], keys)
		a.ContainsHashes(dst[:n], hs[:n])
		keys, dst = keys[n:], dst[n:]
	}
}

// Hash returns the hash under which the filter knows key.
func (a *array[T]) Hash(key []byte) uint64 { return a.hasher.Hash(key) }

// Hasher returns the hasher of the filter.
func (a *array[T]) Hasher() hashing.Hasher { return a.hasher }

// Shards returns the number of shards, a power of two.
func (a *array[T]) Shards() int { return len(a.shards) }

// Arity returns the number of slots of a key, 3 or 4.
func (a *array[T]) Arity() int { return a.arity }

// Stats tells the state of the filter: Items is the exact number of different
// keys, Capacity the same, and Saturation the share of the slots that keys
// were given.
func (a *array[T]) Stats() bloomery.Stats {
	if a.arity == 0 {
		return bloomery.Stats{Kind: kindName[T]()} // a zero filter
	}
	s := bloomery.Stats{
		Kind:     kindName[T](),
		Capacity: a.items,
		Items:    a.items,
		Exact:    true,
		Bits:     a.slots * uint64(width[T]()),
		Asked:    a.rate,
	}
	s.Bytes = s.Bits/8 + 8*uint64(directoryWords(a.bits))
	if a.items > 0 {
		s.Saturation = float64(a.items) / float64(a.slots)
		s.Predicted = sizing.FuseRate(width[T]())
	}
	return s
}
