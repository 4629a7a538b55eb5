package counting

import (
	"fmt"
	"iter"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/internal/batches"
	"github.com/bloomery/bloomery/internal/envelope"
	"github.com/bloomery/bloomery/internal/kernel"
	"github.com/bloomery/bloomery/sizing"
)

var (
	_ bloomery.Hashed   = (*Filter)(nil)
	_ bloomery.Inserter = (*Filter)(nil)
	_ bloomery.Deleter  = (*Filter)(nil)
	_ bloomery.Counter  = (*Filter)(nil)
)

// Filter is a Bloom filter that keys can be deleted from. Each bit has a
// counter of 2 to 16 bits beside it, the number of keys that have the bit. A
// lookup reads bits only: one memory access. An insert touches one or two cache
// lines of counters, too, a delete as many as counters have bits.
//
// A key that is inserted twice must be deleted twice. Only keys that are there
// may be deleted: a Filter refuses to delete what is certainly absent, but of
// absent keys it takes the share ErrorRate for present ones, and deleting those
// takes counts away from others, which can then become false negatives.
//
// A counter that is full stays full, since it no longer counts all of its keys:
// its bit is not cleared again, so there is no false negative. The width of the
// counters is chosen so that this is rare, see Config.Overflow; Stats has the
// share of full counters.
//
// Make one with New or Config.New. A zero Filter is empty and cannot be
// changed or encoded, but UnmarshalBinary can replace it.
//
// Safe for concurrent readers; a writer needs exclusion.
type Filter struct{ counted }

// filterConstructors is how to make a Filter.
const filterConstructors = "New or Config.New"

// New returns a Filter for n keys with false positive rate p, each of which is
// there once or twice. It panics if n is less than 1 or p is not between 1e-6
// and 1: use Config.New for values that are not constants.
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
	t, err := c.newFilter()
	if err != nil {
		return nil, fmt.Errorf("counting: new: %w", err)
	}
	return &Filter{counted{t}}, nil
}

func (c Config) newFilter() (table, error) {
	if err := c.only("New", "Copies", "Overflow"); err != nil {
		return table{}, err
	}
	size, rate, err := c.filterSize()
	if err != nil {
		return table{}, err
	}
	if n := float64(c.Capacity); !size.Takes(n) {
		return table{}, fmt.Errorf("%w: counters of %d bits refuse keys before capacity %d: use wider ones",
			bloomery.ErrParameter, size.Width, c.Capacity)
	}
	return c.table(formatFilter, size, rate)
}

// filterSize returns the size of a Filter and the rate that it is made for.
func (c Config) filterSize() (sizing.Counted, float64, error) {
	if c.BitsPerKey != 0 {
		return c.bestFilter()
	}
	shape, rate, err := c.shape()
	if err != nil {
		return sizing.Counted{}, 0, err
	}
	width, err := c.width(formatFilter, func() (int, error) { return c.counterBits(shape) })
	return sizing.Counted{Shape: shape, Width: width}, rate, err
}

// bestFilter is filterSize for a Config with BitsPerKey: that with the
// narrowest counters that are wide enough.
func (c Config) bestFilter() (sizing.Counted, float64, error) {
	rate := func(s sizing.Shape) float64 { return s.Rate(float64(c.Capacity)) }
	if c.CounterBits != 0 {
		width, err := c.width(formatFilter, nil)
		if err != nil {
			return sizing.Counted{}, 0, err
		}
		shape, p, err := c.bestShape(width, rate)
		return sizing.Counted{Shape: shape, Width: width}, p, err
	}
	for width := 2; ; width *= 2 {
		shape, p, err := c.bestShape(width, rate)
		if err != nil {
			return sizing.Counted{}, 0, err
		}
		need, err := c.counterBits(shape)
		if err != nil || need <= width {
			return sizing.Counted{Shape: shape, Width: width}, p, err
		}
	}
}

// Insert inserts key once more. The error is nil, or wraps ErrFull if all of
// the key's counters are full: the key is there, and one more could not be
// counted. Nothing changes then.
func (f *Filter) Insert(key []byte) error { return f.InsertHash(f.hasher.Hash(key)) }

// InsertString is Insert for a string.
func (f *Filter) InsertString(key string) error { return f.InsertHash(f.hasher.HashString(key)) }

// InsertHash is Insert for a key whose hash is h.
func (f *Filter) InsertHash(h uint64) error {
	f.mustBeMade(filterConstructors)
	if !kernel.Increase(f.blocks, f.planes, f.size.Width, f.size.K, h) {
		return f.errFull()
	}
	return nil
}

// InsertHashes inserts all of hs, in order. It stops at the first error, that
// of InsertHash, and returns how many were inserted.
func (f *Filter) InsertHashes(hs []uint64) (n int, err error) {
	f.mustBeMade(filterConstructors)
	return batches.Insert(hs, func(h uint64) error { return f.InsertHash(h) })
}

// InsertKeys is InsertHashes for keys.
func (f *Filter) InsertKeys(keys [][]byte) (n int, err error) {
	f.mustBeMade(filterConstructors)
	return batches.Insert(keys, func(key []byte) error { return f.Insert(key) })
}

// InsertStrings is InsertHashes for strings.
func (f *Filter) InsertStrings(keys []string) (n int, err error) {
	f.mustBeMade(filterConstructors)
	return batches.Insert(keys, func(key string) error { return f.InsertString(key) })
}

// InsertSeq is InsertKeys for all keys of seq. It does not retain them.
func (f *Filter) InsertSeq(seq iter.Seq[[]byte]) (n int, err error) {
	f.mustBeMade(filterConstructors)
	for key := range seq {
		if err := f.Insert(key); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// Delete removes one occurrence of key. It reports false, and changes nothing,
// if the key is certainly absent. Deleting an absent key that the filter takes
// for present is the caller's mistake, see Filter.
func (f *Filter) Delete(key []byte) bool { return f.DeleteHash(f.hasher.Hash(key)) }

// DeleteString is Delete for a string.
func (f *Filter) DeleteString(key string) bool { return f.DeleteHash(f.hasher.HashString(key)) }

// DeleteHash is Delete for a key whose hash is h.
func (f *Filter) DeleteHash(h uint64) bool {
	f.mustBeMade(filterConstructors)
	return kernel.Decrease(f.blocks, f.planes, f.size.Width, f.size.K, h)
}

// Merge inserts all keys of o into f, as often as they are in both together. A
// sum that is too large for a counter makes it full. Both must have the same
// shape, counters and hash, else the error wraps ErrIncompatible, names the
// difference and leaves f as it was. The result is what inserting all keys into
// one filter would have given.
func (f *Filter) Merge(o *Filter) error {
	f.mustBeMade(filterConstructors)
	if err := f.compatible(&o.table); err != nil {
		return fmt.Errorf("counting: merge: %w", err)
	}
	f.unitePlanes(&o.table)
	return nil
}

// Clone returns a Filter of its own memory with the same keys.
func (f *Filter) Clone() *Filter { return f.clone() }

// Clear removes all keys, those of full counters, too.
func (f *Filter) Clear() {
	f.mustBeMade(filterConstructors)
	clear(f.words)
}

// UnmarshalBinary replaces f by the filter that data encodes. If that was made
// with a secret key or a function, f must have been made with the same, see
// Config.Decode. On error f stays as it was; the error wraps ErrCorrupt,
// ErrVersion, ErrIncompatible or ErrKey.
func (f *Filter) UnmarshalBinary(data []byte) error {
	return envelope.Unmarshal("counting", data, f.hasher, f.load)
}

// counted is a table that is only read: what Filter and its view share.
type counted struct{ table }

// Count returns how often key is there: an upper bound, which is exact but for
// about the share of keys that Stats predicts as false positives. It is never
// more than MaxCount, which stands for that number and all above.
func (f *counted) Count(key []byte) uint64 { return f.CountHash(f.hasher.Hash(key)) }

// CountString is Count for a string.
func (f *counted) CountString(key string) uint64 { return f.CountHash(f.hasher.HashString(key)) }

// CountHash is Count for a key whose hash is h.
func (f *counted) CountHash(h uint64) uint64 {
	if len(f.blocks) == 0 {
		return 0 // a zero filter
	}
	return kernel.Least(f.blocks, f.planes, f.size.Width, f.size.K, h)
}

// MaxCount returns the count that makes a counter full, 2 to the power of its
// width.
func (f *counted) MaxCount() uint64 { return 1 << f.size.Width }

// String returns Stats as a line of text, with the count of EstimateCount: it reads
// the whole array.
func (f *counted) String() string {
	s := f.Stats()
	s.Items = f.EstimateCount()
	return s.String()
}

// Stats describes the state of the filter; items are different keys. The fill
// of arrays above 64 KiB is taken from a sample of at most 1 MiB, so it costs
// the same for every size; PredictedSigma is how far that makes Predicted
// swing.
func (f *counted) Stats() bloomery.Stats {
	s := f.stats()
	s.Overflow = f.share(sampleBlocks, f.fullPlanes)
	return s
}

// EstimateCount estimates the number of different keys from the set bits. It
// reads the whole array. A full array answers math.MaxUint64: any number of
// keys would look the same.
func (f *counted) EstimateCount() uint64 { return round(f.size.Count(f.saturation())) }

func (f *counted) clone() *Filter { return &Filter{counted{f.copied()}} }

// Bloom returns the encoding of a bloom.Filter with the same keys, for programs that
// only look keys up: the bits without their counters, a fifth of the size with
// counters of 4 bits. Packages bloom and codec open it.
func (f *counted) Bloom() []byte { return f.AppendBloom(nil) }

// AppendBloom appends to dst what Bloom returns.
func (f *counted) AppendBloom(dst []byte) []byte {
	words := kernel.Words(f.blocks)
	h := f.header()
	h.Kind, h.Extra, h.Payload = envelope.KindBloom, 0, uint64(len(words))*8
	return envelope.Append(dst, h, words)
}

// errFull says that a key cannot be counted once more.
func (f *counted) errFull() error {
	return fmt.Errorf("counting: insert: %w: the key is counted %d times or more, and its counters have %d bits",
		bloomery.ErrFull, f.MaxCount(), f.size.Width)
}
