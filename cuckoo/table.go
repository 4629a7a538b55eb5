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

// noJSON refuses JSON, and is no field that can be seen.
type noJSON = envelope.NoJSON

// batch is how many keys are hashed before their hashes are looked up: 2 KiB
// of stack.
const batch = 256

// table is an array of buckets that is only read: what Filter and its view share.
type table struct {
	noJSON
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

// Hash returns the filter's hash of key.
func (f *table) Hash(key []byte) uint64 { return f.hasher.Hash(key) }

// Hasher returns the hasher of the filter.
func (f *table) Hasher() hashing.Hasher { return f.hasher }

// Shape returns the number of buckets and the width of the fingerprints.
func (f *table) Shape() sizing.Cuckoo { return f.shape }

// Contains reports whether key may be in the set. False is certain.
func (f *table) Contains(key []byte) bool { return f.ContainsHash(f.hasher.Hash(key)) }

// ContainsString is Contains for a string.
func (f *table) ContainsString(key string) bool { return f.ContainsHash(f.hasher.HashString(key)) }

// ContainsHash is Contains for a key whose hash is h.
func (f *table) ContainsHash(h uint64) bool { return f.shape.Buckets > 0 && f.buckets.Has(h) }

// ContainsHashes sets dst[i] to ContainsHash(hs[i]). It is several times
// faster than as many single calls. It panics if dst is shorter than hs.
func (f *table) ContainsHashes(dst []bool, hs []uint64) {
	dst = dst[:len(hs):len(dst)]
	if f.shape.Buckets == 0 { // a zero filter
		clear(dst)
		return
	}
	f.buckets.HasAll(dst, hs)
}

// ContainsKeys is ContainsHashes for keys.
func (f *table) ContainsKeys(dst []bool, keys [][]byte) { tableContains(f, dst, keys) }

// ContainsStrings is ContainsHashes for strings.
func (f *table) ContainsStrings(dst []bool, keys []string) { tableContains(f, dst, keys) }

func tableContains[K []byte | string](f *table, dst []bool, keys []K) {
	dst = dst[:len(keys):len(dst)]
	var hs [batch]uint64
	for len(keys) > 0 {
		n := hashing.HashBatch(f.hasher, hs[:], keys)
		f.ContainsHashes(dst[:n], hs[:n])
		keys, dst = keys[n:], dst[n:]
	}
}

// MaxCount returns the highest count: how many slots the two buckets of a key
// have.
func (f *table) MaxCount() uint64 { return 2 * sizing.CuckooSlots }

// Count returns an upper bound of how often key is in the filter, at most
// MaxCount. It is exact unless another key shares fingerprint and buckets,
// whose chance is the false positive rate.
func (f *table) Count(key []byte) uint64 { return f.CountHash(f.hasher.Hash(key)) }

// CountString is Count for a string.
func (f *table) CountString(key string) uint64 { return f.CountHash(f.hasher.HashString(key)) }

// CountHash is Count for a key whose hash is h.
func (f *table) CountHash(h uint64) uint64 {
	if f.shape.Buckets == 0 {
		return 0 // a zero filter
	}
	i, fingerprint := f.buckets.Place(h)
	j := f.buckets.Other(i, fingerprint)
	return uint64(f.buckets.Count(i, fingerprint) + f.buckets.Count(j, fingerprint))
}

// String returns Stats as a line of text.
func (f *table) String() string { return f.Stats().String() }

// Stats describes the state of the filter. Items are counted, copies of a key
// included; Predicted takes them for different keys.
func (f *table) Stats() bloomery.Stats {
	if f.shape.Buckets == 0 {
		return bloomery.Stats{Kind: "cuckoo"}
	}
	slots := f.shape.Slots()
	items := min(f.items, slots) // a View may be damaged
	return bloomery.Stats{
		Kind:       "cuckoo",
		Capacity:   f.capacity,
		Items:      items,
		Exact:      true,
		Bits:       f.shape.Bits(),
		Bytes:      uint64(len(f.buckets.Words())) * 8,
		Saturation: float64(items) / float64(max(1, slots)),
		Asked:      f.rate,
		Predicted:  f.shape.Rate(float64(items)),
	}
}

func (f *table) clone() *Filter {
	words := memory.Words(len(f.buckets.Words()))
	copy(words, f.buckets.Words())
	c := newTable(f.hasher, f.shape, f.capacity, f.rate, words)
	c.items = f.items
	return &Filter{c}
}

// AppendBinary appends the encoding of the filter to dst. The error is nil but
// for a zero filter.
func (f *Filter) AppendBinary(dst []byte) ([]byte, error) {
	if f.shape.Buckets == 0 {
		return dst, errZero("marshal")
	}
	return envelope.Append(dst, f.header(), f.preface(), f.buckets.Words()), nil
}

// MarshalBinary returns the encoding of the filter. The error is nil but for a
// zero filter.
func (f *Filter) MarshalBinary() ([]byte, error) { return f.AppendBinary(nil) }

// WriteTo writes the encoding of the filter to w.
func (f *Filter) WriteTo(w io.Writer) (int64, error) {
	if f.shape.Buckets == 0 {
		return 0, errZero("write")
	}
	return envelope.WriteTo(w, f.header(), f.preface(), f.buckets.Words())
}
