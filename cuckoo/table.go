package cuckoo

import (
	"io"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/internal/envelope"
	"github.com/bloomery/bloomery/internal/kernel"
	"github.com/bloomery/bloomery/internal/memory"
	"github.com/bloomery/bloomery/sizing"
)

// batch is how many keys are hashed before their hashes are looked up: 2 KiB
// of stack.
const batch = 256

// table is an array of buckets that is only read: what Filter and View share.
type table struct {
	hasher   hashing.Hasher
	shape    sizing.Cuckoo
	capacity uint64
	rate     float64
	items    uint64
	buckets  kernel.Buckets
}

// newTable returns a table without items over the words of an array.
func newTable(h hashing.Hasher, shape sizing.Cuckoo, capacity uint64, rate float64, words []uint64) table {
	return table{
		hasher: h, shape: shape, capacity: capacity, rate: rate,
		buckets: kernel.NewBuckets(words, shape.Buckets, shape.Width),
	}
}

// Hash returns the hash under which the filter knows key.
func (t *table) Hash(key []byte) uint64 { return t.hasher.Hash(key) }

// Hasher returns the hasher of the filter.
func (t *table) Hasher() hashing.Hasher { return t.hasher }

// Shape returns the number of buckets and the width of the fingerprints.
func (t *table) Shape() sizing.Cuckoo { return t.shape }

// Contains reports whether key may be in the set. False is certain.
func (t *table) Contains(key []byte) bool { return t.ContainsHash(t.hasher.Hash(key)) }

// ContainsString is Contains for a string.
func (t *table) ContainsString(key string) bool { return t.ContainsHash(t.hasher.HashString(key)) }

// ContainsHash is Contains for a key whose hash is h.
func (t *table) ContainsHash(h uint64) bool { return t.shape.Buckets > 0 && t.buckets.Has(h) }

// ContainsHashes sets dst[i] to ContainsHash(hs[i]). It is several times
// faster than as many single calls. It panics if dst is shorter than hs.
func (t *table) ContainsHashes(dst []bool, hs []uint64) {
	dst = dst[:len(hs):len(dst)]
	if t.shape.Buckets == 0 { // a zero filter
		clear(dst)
		return
	}
	t.buckets.HasAll(dst, hs)
}

// ContainsKeys is ContainsHashes for keys.
func (t *table) ContainsKeys(dst []bool, keys [][]byte) {
	dst = dst[:len(keys):len(dst)]
	var hs [batch]uint64
	for len(keys) > 0 {
		n := t.hasher.HashKeys(hs[:], keys)
		t.ContainsHashes(dst[:n], hs[:n])
		keys, dst = keys[n:], dst[n:]
	}
}

// MaxCount returns the highest count: how many slots the two buckets of a key
// have.
func (t *table) MaxCount() uint64 { return 2 * sizing.CuckooSlots }

// Count returns an upper bound of how often key is in the filter, at most
// MaxCount.
// It is exact unless another key shares fingerprint and buckets, whose chance
// is the error rate.
func (t *table) Count(key []byte) uint64 { return t.CountHash(t.hasher.Hash(key)) }

// CountString is Count for a string.
func (t *table) CountString(key string) uint64 { return t.CountHash(t.hasher.HashString(key)) }

// CountHash is Count for a key whose hash is h.
func (t *table) CountHash(h uint64) uint64 {
	if t.shape.Buckets == 0 {
		return 0 // a zero filter
	}
	i, fingerprint := t.buckets.Place(h)
	j := t.buckets.Other(i, fingerprint)
	return uint64(t.buckets.Count(i, fingerprint) + t.buckets.Count(j, fingerprint))
}

// Stats tells the state of the filter. Items are counted, copies of a key
// included; Predicted takes them for different keys.
func (t *table) Stats() bloomery.Stats {
	if t.shape.Buckets == 0 {
		return bloomery.Stats{Kind: "cuckoo"}
	}
	slots := t.shape.Slots()
	items := min(t.items, slots) // a View may be damaged
	return bloomery.Stats{
		Kind:       "cuckoo",
		Capacity:   t.capacity,
		Items:      items,
		Exact:      true,
		Bits:       t.shape.Bits(),
		Bytes:      uint64(len(t.buckets.Words())) * 8,
		Saturation: float64(items) / float64(max(1, slots)),
		Asked:      t.rate,
		Predicted:  t.shape.Rate(float64(items)),
	}
}

func (t *table) clone() *Filter {
	words := memory.Words(len(t.buckets.Words()))
	copy(words, t.buckets.Words())
	c := newTable(t.hasher, t.shape, t.capacity, t.rate, words)
	c.items = t.items
	return &Filter{c}
}

// AppendBinary appends the encoding of the filter to dst. The error is nil but
// for a zero filter.
func (t *table) AppendBinary(dst []byte) ([]byte, error) {
	if t.shape.Buckets == 0 {
		return dst, errZero("marshal")
	}
	return envelope.Append(dst, t.header(), t.preface(), t.buckets.Words()), nil
}

// MarshalBinary returns the encoding of the filter. The error is nil but for a
// zero filter.
func (t *table) MarshalBinary() ([]byte, error) { return t.AppendBinary(nil) }

// WriteTo writes the encoding of the filter to w.
func (t *table) WriteTo(w io.Writer) (int64, error) {
	if t.shape.Buckets == 0 {
		return 0, errZero("write")
	}
	return envelope.WriteTo(w, t.header(), t.preface(), t.buckets.Words())
}
