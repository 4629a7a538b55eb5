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
	_ bloomery.Hashed   = (*Spectral)(nil)
	_ bloomery.Inserter = (*Spectral)(nil)
	_ bloomery.Counter  = (*Spectral)(nil)
)

// Spectral counts how often keys were inserted, without keeping them. Each key
// has k counters, and its count is the smallest of them: never too low, and too
// high only if each of the k is one of other keys, too. An insert adds to the
// smallest only (minimum increase), so that rare keys do not disturb frequent
// ones: counts of the heaviest keys are exact nearly always.
//
//	state     [ inserts, zeros: one line ]
//	bits      [ 512 bits ][ 512 bits ] ...      a lookup ends here
//	counters  [ 512 counters of 32 bits ][ 512 counters of 32 bits ] ...
//
// It takes 328 bits per key at 1%, and 160 at 10%, which is enough where only
// the heavy keys matter: of 100 million downloads of 180,000 packages, drawn by
// their popularity, all of the 10,000 most frequent ones were counted within
// 1%, in 4 MB. Keys cannot be deleted. A lookup costs one memory access, an
// insert or a count k + 1.
//
// Make one with NewSpectral or Config.NewSpectral; for a zero Spectral see
// Filter.
//
// Safe for concurrent readers; a writer needs exclusion.
type Spectral struct{ spectrum }

// spectralConstructors is how to make a Spectral.
const spectralConstructors = "NewSpectral or Config.NewSpectral"

// NewSpectral returns a Spectral for n different keys at false positive rate p,
// which also bounds the share of keys whose count is too high. It panics if n
// is less than 1 or p is not between 1e-6 and 1: use Config.NewSpectral for
// values that are not constants.
func NewSpectral(n int, p float64) *Spectral {
	s, err := Config{Capacity: n, ErrorRate: p}.NewSpectral()
	if err != nil {
		panic(err)
	}
	return s
}

// NewSpectral returns a Spectral. Its errors wrap ErrParameter or ErrTooLarge,
// or are those of Alloc.
func (c Config) NewSpectral() (*Spectral, error) {
	t, err := c.newSpectral()
	if err != nil {
		return nil, fmt.Errorf("counting: new spectral: %w", err)
	}
	return &Spectral{spectrum{t}}, nil
}

func (c Config) newSpectral() (table, error) {
	if err := c.only("NewSpectral"); err != nil {
		return table{}, err
	}
	width, err := c.width(formatSpectral, func() (int, error) { return sizing.SpectralBits, nil })
	if err != nil {
		return table{}, err
	}
	shape, rate, err := c.shape()
	if c.BitsPerKey != 0 {
		shape, rate, err = c.bestShape(width, func(s sizing.Shape) float64 { return s.Rate(float64(c.Capacity)) })
	}
	if err != nil {
		return table{}, err
	}
	return c.table(formatSpectral, sizing.Counted{Shape: shape, Width: width}, rate)
}

// Insert inserts key once more. The error is nil, or wraps ErrFull if the
// key's counters cannot count further. Nothing changes then.
func (f *Spectral) Insert(key []byte) error { return f.InsertHash(f.hasher.Hash(key)) }

// InsertString is Insert for a string.
func (f *Spectral) InsertString(key string) error { return f.InsertHash(f.hasher.HashString(key)) }

// InsertHash is Insert for a key whose hash is h.
func (f *Spectral) InsertHash(h uint64) error {
	f.mustBeMade(spectralConstructors)
	var at [kernel.MaxK]uint16
	block, n := kernel.Places(&at, uint64(len(f.blocks)), f.size.K, h)
	least := f.least(block, at[:n])
	if least == f.MaxCount() {
		return fmt.Errorf("counting: insert: %w: the key is counted %d times, and its counters have %d bits",
			bloomery.ErrFull, least, f.size.Width)
	}
	f.state[0]++
	b := &f.blocks[block]
	for _, place := range at[:n] {
		if least == 0 {
			b[place>>6&7] |= 1 << (place & 63)
			continue
		}
		word, shift, full := f.counter(block, place)
		var low uint64
		if *word>>shift&full == least-1 {
			low = 1
		}
		*word += low << shift
	}
	return nil
}

// InsertHashes inserts all of hs, in order. It stops at the first error, that
// of InsertHash, and returns how many were inserted.
func (f *Spectral) InsertHashes(hs []uint64) (n int, err error) {
	f.mustBeMade(spectralConstructors)
	return batches.Insert(hs, func(h uint64) error { return f.InsertHash(h) })
}

// InsertKeys is InsertHashes for keys.
func (f *Spectral) InsertKeys(keys [][]byte) (n int, err error) {
	f.mustBeMade(spectralConstructors)
	return batches.Insert(keys, func(key []byte) error { return f.Insert(key) })
}

// InsertStrings is InsertHashes for strings.
func (f *Spectral) InsertStrings(keys []string) (n int, err error) {
	f.mustBeMade(spectralConstructors)
	return batches.Insert(keys, func(key string) error { return f.InsertString(key) })
}

// InsertSeq is InsertKeys for all keys of seq. It does not retain them.
func (f *Spectral) InsertSeq(seq iter.Seq[[]byte]) (n int, err error) {
	f.mustBeMade(spectralConstructors)
	for key := range seq {
		if err := f.Insert(key); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// Merge inserts all keys of o into f, as often as they are in both together.
// Counts stay upper bounds, but are not as good as if all keys had been
// inserted into one filter. A sum that is too large for a counter makes it
// full. Errors are those of Filter.Merge.
func (f *Spectral) Merge(o *Spectral) error {
	f.mustBeMade(spectralConstructors)
	if err := f.compatible(&o.table); err != nil {
		return fmt.Errorf("counting: merge: %w", err)
	}
	f.unite(&o.spectrum)
	return nil
}

// Clone returns a Spectral of its own memory with the same keys.
func (f *Spectral) Clone() *Spectral { return f.clone() }

// Clear removes all keys.
func (f *Spectral) Clear() {
	f.mustBeMade(spectralConstructors)
	clear(f.words)
}

// UnmarshalBinary replaces f by the filter that data encodes, see
// Filter.UnmarshalBinary.
func (f *Spectral) UnmarshalBinary(data []byte) error {
	return envelope.Unmarshal("counting", data, f.hasher, f.load)
}
