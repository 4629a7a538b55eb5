package quotient

import (
	"fmt"
	"iter"
	"math/bits"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/internal/envelope"
	"github.com/bloomery/bloomery/sizing"
)

// noJSON refuses JSON, and is no field that can be seen.
type noJSON = envelope.NoJSON

// batch is how many keys are hashed before their hashes are looked up.
const batch = 256

// core is what can be read of a filter: what Filter and its view share.
type core struct {
	noJSON
	table
	totals
	hasher   hashing.Hasher
	shape    sizing.Quotient
	capacity uint64
	rate     float64

	unmeasured bool // the reach is not known
}

// setTotals sets the totals and what follows from them.
func (f *core) setTotals(t totals) {
	f.totals = t
	f.counts = t.items != t.distinct
}

// Hash returns the filter's hash of key.
func (f *core) Hash(key []byte) uint64 { return f.hasher.Hash(key) }

// Hasher returns the hasher of the filter.
func (f *core) Hasher() hashing.Hasher { return f.hasher }

// Shape returns the size of the filter's array.
func (f *core) Shape() sizing.Quotient { return f.shape }

// Contains reports whether key may be in the filter. False is certain.
func (f *core) Contains(key []byte) bool { return f.ContainsHash(f.hasher.Hash(key)) }

// ContainsString is Contains for a string.
func (f *core) ContainsString(key string) bool { return f.ContainsHash(f.hasher.HashString(key)) }

// ContainsHash is Contains for a key whose hash is h.
func (f *core) ContainsHash(h uint64) bool { return len(f.data) > 0 && f.contains(h) }

// ContainsHashes sets dst[i] to ContainsHash(hs[i]). It panics if dst is
// shorter than hs.
func (f *core) ContainsHashes(dst []bool, hs []uint64) {
	dst = dst[:len(hs):len(dst)]
	if len(f.data) == 0 { // a zero filter
		clear(dst)
		return
	}
	f.containsAll(dst, hs)
}

// ContainsKeys is ContainsHashes for keys.
func (f *core) ContainsKeys(dst []bool, keys [][]byte) { coreContains(f, dst, keys) }

// ContainsStrings is ContainsHashes for strings.
func (f *core) ContainsStrings(dst []bool, keys []string) { coreContains(f, dst, keys) }

func coreContains[K []byte | string](f *core, dst []bool, keys []K) {
	dst = dst[:len(keys):len(dst)]
	var hs [batch]uint64
	for len(keys) > 0 {
		n := hashing.HashBatch(f.hasher, hs[:], keys)
		f.ContainsHashes(dst[:n], hs[:n])
		keys, dst = keys[n:], dst[n:]
	}
}

// Count returns how often key was inserted and not deleted, and with it every
// key that has the same fingerprint: it is never too low.
func (f *core) Count(key []byte) uint64 { return f.CountHash(f.hasher.Hash(key)) }

// CountString is Count for a string.
func (f *core) CountString(key string) uint64 { return f.CountHash(f.hasher.HashString(key)) }

// CountHash is Count for a key whose hash is h.
func (f *core) CountHash(h uint64) uint64 {
	if len(f.data) == 0 {
		return 0 // a zero filter
	}
	return f.count(h)
}

// MaxCount returns the highest count of a key.
func (f *core) MaxCount() uint64 { return maxCount }

// All returns all fingerprints in rising order, each as the smallest hash
// that has it, and how often it is there. Inserting these hashes into an empty
// filter of the same shape gives the same filter. The filter must not change
// meanwhile.
func (f *core) All() iter.Seq2[uint64, uint64] {
	return func(yield func(hash, count uint64) bool) {
		if len(f.data) == 0 {
			return // a zero filter
		}
		all := f.shape.Fingerprints()
		w := f.walk()
		for mark, e, ok := w.next(); ok; mark, e, ok = w.next() {
			h, rest := bits.Div64(mark, 0, all) // mark is less than all
			if rest > 0 {
				h++
			}
			if !yield(h, e.count) {
				return
			}
		}
	}
}

// String returns Stats as a line of text.
func (f *core) String() string { return f.Stats().String() }

// Stats describes the state of the filter. Items are occurrences, and all
// figures are exact: the rate predicted is the share of fingerprints in use.
func (f *core) Stats() bloomery.Stats {
	if len(f.data) == 0 {
		return bloomery.Stats{Kind: "quotient"}
	}
	return bloomery.Stats{
		Kind:       "quotient",
		Capacity:   f.capacity,
		Items:      f.items,
		Exact:      true,
		Bits:       f.shape.Bits(),
		Bytes:      uint64(len(f.data)),
		Saturation: min(1, float64(f.used)/float64(f.shape.Blocks*uint64(f.shape.Slots))),
		Asked:      f.rate,
		Predicted:  min(1, float64(f.distinct)/float64(f.shape.Fingerprints())),
	}
}

// compatible returns nil if the fingerprints of o, without some of their lowest
// bits, are those of f. It returns how many bits that are.
func (f *core) compatible(o *core) (shift int, err error) {
	if err := envelope.SameHash(f.hasher, o.hasher); err != nil {
		return 0, err
	}
	mine, theirs := f.shape.Fingerprints(), o.shape.Fingerprints()
	shift = bits.Len64(theirs) - bits.Len64(mine)
	switch {
	case shift >= 0 && mine<<shift == theirs:
		return shift, nil
	case shift < 0 && theirs<<-shift == mine:
		return 0, fmt.Errorf("%w: fingerprints with %d bits less; they go together the other way round", bloomery.ErrIncompatible, -shift)
	}
	return 0, fmt.Errorf("%w: %d quotients and %d quotients, neither is a doubling of the other", bloomery.ErrIncompatible,
		f.shape.Blocks*sizing.QuotientsPerBlock, o.shape.Blocks*sizing.QuotientsPerBlock)
}
