package bloom

import (
	"fmt"
	"iter"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/internal/envelope"
	"github.com/bloomery/bloomery/internal/kernel"
	"github.com/bloomery/bloomery/internal/memory"
	"github.com/bloomery/bloomery/sizing"
)

var (
	_ bloomery.Hashed = (*Filter)(nil)
	_ bloomery.Adder  = (*Filter)(nil)
)

// Filter is a Bloom filter that keeps all bits of a key in one cache line: 8
// lanes of 64 bits, with one bit of the key in each of k neighbouring lanes,
// or two in some of them. An operation costs one memory access.
//
//	blocks  [ 512 bits ][ 512 bits ][ 512 bits ] ...
//	                     |
//	one block            [lane 0][lane 1][lane 2] ... [lane 7]
//	one key, k = 3                1 bit   1 bit  1 bit
//
// Make one with New or Config.New. A zero Filter is empty and cannot be
// changed or encoded, but UnmarshalBinary can replace it.
//
// Safe for concurrent readers; a writer needs exclusion.
type Filter struct{ lines }

// New returns a Filter for n keys with false positive rate p. It panics if n is
// less than 1 or p is not between 1e-6 and 1: use Config.New for values that
// are not constants.
func New(n int, p float64) *Filter {
	f, err := Config{Capacity: n, ErrorRate: p}.New()
	if err != nil {
		panic(err)
	}
	return f
}

// New returns a Filter. Its errors wrap ErrParameter or ErrTooLarge, or are
// those of Alloc.
func (c Config) New() (*Filter, error) {
	f, err := c.newFilter("New", "Foldable")
	if err != nil {
		return nil, fmt.Errorf("bloom: new: %w", err)
	}
	return f, nil
}

// newFilter is New for the constructor with this name, which uses more fields
// than all do.
func (c Config) newFilter(constructor string, more ...string) (*Filter, error) {
	if err := c.prepare(constructor, more...); err != nil {
		return nil, err
	}
	shape, rate, err := c.foldable(sizing.Blocked)
	if err != nil {
		return nil, err
	}
	words, err := memory.Array(int(shape.Bits/64), c.Alloc)
	if err != nil {
		return nil, err
	}
	b := base{hasher: c.Hasher, shape: shape, capacity: uint64(c.Capacity), rate: rate}
	return &Filter{lines{b, kernel.Blocks(words)}}, nil
}

// Add adds key and reports whether the filter changed. False means that the
// key was, or seemed to be, there already.
func (f *Filter) Add(key []byte) bool { return f.AddHash(f.hasher.Hash(key)) }

// AddString is Add for a string.
func (f *Filter) AddString(key string) bool { return f.AddHash(f.hasher.HashString(key)) }

// AddHash is Add for a key whose hash is h.
func (f *Filter) AddHash(h uint64) bool {
	if len(f.blocks) == 0 {
		panicZero(constructors)
	}
	return kernel.Set(f.blocks, f.shape.K, h)
}

// AddHashes adds all of hs, in order. If dst is not nil, dst[i] is what
// AddHash(hs[i]) would have returned; it panics if dst is then shorter than hs.
func (f *Filter) AddHashes(dst []bool, hs []uint64) {
	f.mustBeMade()
	kernel.SetAll(dst, f.blocks, f.shape.K, hs)
}

// AddKeys is AddHashes for keys.
func (f *Filter) AddKeys(dst []bool, keys [][]byte) { filterAdd(f, dst, keys) }

// AddStrings is AddHashes for strings.
func (f *Filter) AddStrings(dst []bool, keys []string) { filterAdd(f, dst, keys) }

func filterAdd[K []byte | string](f *Filter, dst []bool, keys []K) {
	f.mustBeMade()
	if dst != nil {
		dst = dst[:len(keys):len(dst)]
	}
	var hs [batch]uint64
	for len(keys) > 0 {
		n := hashing.HashBatch(f.hasher, hs[:], keys)
		keys = keys[n:]
		if dst == nil {
			f.AddHashes(nil, hs[:n])
			continue
		}
		f.AddHashes(dst[:n], hs[:n])
		dst = dst[n:]
	}
}

// AddSeq adds all keys of seq. It does not retain them.
func (f *Filter) AddSeq(seq iter.Seq[[]byte]) {
	f.mustBeMade()
	addSeq(f, f.hasher, batch, seq)
}

// Union adds all keys of o to f. Both must have the same shape and hash, else
// the error wraps ErrIncompatible, names the difference and leaves f as it was.
// The result is what adding all keys to one filter would have given: a key that is
// in both is there once. Filters with counts have Merge instead, which adds them up.
func (f *Filter) Union(o *Filter) error {
	f.mustBeMade()
	return f.unite(&o.base, f.words(), o.words())
}

// Intersect keeps in f the keys that are in o, too, and with them more false
// positives than a filter made of those keys alone would have. Errors are those
// of Union.
//
// Bits that both filters have by chance stay, so Stats and EstimateCount are
// too high for the result: filters of disjoint sets at capacity seem to have
// 40% of their keys in common. To count the keys in both, take the counts before:
// their sum less the count of the union, or Jaccard times the count of the union.
func (f *Filter) Intersect(o *Filter) error {
	f.mustBeMade()
	return f.keepCommon(&o.base, f.words(), o.words())
}

// Jaccard estimates how alike the sets in f and o are: the number of keys in
// both over the number in at least one, by inclusion and exclusion of the counts
// that the set bits give. Errors are those of Union.
//
// Sets of 50,000 keys give it within 0.01, smaller ones less exactly. The
// counts lose their meaning as the union saturates: with filters for 1% that
// hold 10 times their capacity it is off by 0.03, and if all bits of the union
// are set, at some 15 times, it is 0 whatever the sets are. Of two empty filters it
// is 1.
func (f *Filter) Jaccard(o *Filter) (float64, error) {
	return f.alike(&o.base, f.words(), o.words())
}

// Clone returns a Filter of its own memory with the same keys.
func (f *Filter) Clone() *Filter { return f.clone() }

// Clear removes all keys.
func (f *Filter) Clear() {
	f.mustBeMade()
	clear(f.blocks)
}

// constructors is how to make a Filter.
const constructors = "New or Config.New"

// mustBeMade panics for a zero Filter.
func (f *Filter) mustBeMade() {
	if len(f.blocks) == 0 {
		panicZero(constructors)
	}
}

// UnmarshalBinary replaces f by the filter that data encodes. If that was made
// with a secret key or a function, f must have been made with the same, see
// Config.Decode. On error f stays as it was; the error wraps ErrCorrupt,
// ErrVersion, ErrIncompatible or ErrKey.
func (f *Filter) UnmarshalBinary(data []byte) error {
	return envelope.Unmarshal("bloom", data, f.hasher, f.load)
}
