package fuse

import (
	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/internal/envelope"
	"github.com/bloomery/bloomery/internal/kernel"
	"github.com/bloomery/bloomery/sizing"
)

// noJSON refuses JSON, and is no field that can be seen.
type noJSON = envelope.NoJSON

// batch is how many keys are hashed before their hashes are looked up: 2 KiB
// of stack.
const batch = 256

// array is a filter that is only read: what Filter and its view share.
type array[T Fingerprint] struct {
	noJSON
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
func (f array[T]) finished() array[T] {
	f.items, f.slots, f.plain = 0, 0, f.arity == 3
	for i := range f.shards {
		s := &f.shards[i]
		f.items += s.items
		f.slots += s.shape.Slots()
		f.plain = f.plain && s.salt == 0
		s.ahead = s.prefetcher()
	}
	f.first = f.shards[0]
	return f
}

// Contains reports whether key may be in the set. False is certain.
func (f *array[T]) Contains(key []byte) bool { return f.ContainsHash(f.hasher.Hash(key)) }

// ContainsString is Contains for a string.
func (f *array[T]) ContainsString(key string) bool { return f.ContainsHash(f.hasher.HashString(key)) }

// ContainsHash is Contains for a key whose hash is h.
func (f *array[T]) ContainsHash(h uint64) bool {
	s := &f.first
	if f.bits > 0 {
		s = &f.shards[bloomery.Route(h, f.bits)]
	}
	if !f.plain {
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
func (f *array[T]) ContainsHashes(dst []bool, hs []uint64) {
	dst = dst[:len(hs):len(dst)]
	switch far := f.slots*uint64(width[T]()) > nearBits && kernel.CanPrefetch(); {
	case f.bits > 0 || f.first.salt != 0:
		f.routed(dst, hs, far)
	case far:
		f.first.hasAllAhead(dst, hs)
	default:
		f.first.hasAll(dst, hs)
	}
}

// ContainsKeys is ContainsHashes for keys.
func (f *array[T]) ContainsKeys(dst []bool, keys [][]byte) { arrayContains(f, dst, keys) }

// ContainsStrings is ContainsHashes for strings.
func (f *array[T]) ContainsStrings(dst []bool, keys []string) { arrayContains(f, dst, keys) }

func arrayContains[K []byte | string, T Fingerprint](f *array[T], dst []bool, keys []K) {
	dst = dst[:len(keys):len(dst)]
	var hs [batch]uint64
	for len(keys) > 0 {
		n := hashing.HashBatch(f.hasher, hs[:], keys)
		f.ContainsHashes(dst[:n], hs[:n])
		keys, dst = keys[n:], dst[n:]
	}
}

// Hash returns the filter's hash of key.
func (f *array[T]) Hash(key []byte) uint64 { return f.hasher.Hash(key) }

// Hasher returns the hasher of the filter.
func (f *array[T]) Hasher() hashing.Hasher { return f.hasher }

// Shards returns the number of shards, a power of two.
func (f *array[T]) Shards() int { return len(f.shards) }

// Arity returns the number of slots of a key, 3 or 4.
func (f *array[T]) Arity() int { return f.arity }

// String returns Stats as a line of text.
func (f *array[T]) String() string { return f.Stats().String() }

// Stats describes the state of the filter: Items is the exact number of
// different keys, Capacity the same, and Saturation the share of the slots that
// keys were given.
func (f *array[T]) Stats() bloomery.Stats {
	if f.arity == 0 {
		return bloomery.Stats{Kind: kindName[T]()} // a zero filter
	}
	s := bloomery.Stats{
		Kind:     kindName[T](),
		Capacity: f.items,
		Items:    f.items,
		Exact:    true,
		Bits:     f.slots * uint64(width[T]()),
		Asked:    f.rate,
	}
	s.Bytes = s.Bits/8 + 8*uint64(directoryWords(f.bits))
	if f.items > 0 {
		s.Saturation = float64(f.items) / float64(f.slots)
		s.Predicted = sizing.Fuse{Width: width[T]()}.Rate()
	}
	return s
}
