package counting

import (
	"errors"
	"fmt"
	"iter"
	"math"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/internal/batches"
	"github.com/bloomery/bloomery/internal/envelope"
	"github.com/bloomery/bloomery/internal/kernel"
	"github.com/bloomery/bloomery/sizing"
)

var (
	_ bloomery.Hashed   = (*Stable)(nil)
	_ bloomery.Inserter = (*Stable)(nil)
)

// Stable is for endless streams: it remembers the last keys, forgets the older
// ones, and its false positive rate stays below the one asked for, however many
// keys have passed. The last n keys, counting repetitions, are there for
// certain. Older ones are forgotten gradually: with counters of 2 bits the last
// of them when n/3 more have passed. Forgotten returns the share for an age.
//
//	state     [ hand, credit, inserts, zeros: one line ]
//	bits      [ 512 bits ][ 512 bits ] ...                  a lookup ends here
//	counters  [ plane 0 ][ plane 1 ] ...                    for each block
//
// An insert sets the counts of its key to the highest. A hand goes round the
// blocks, as fast as keys come, and takes 1 from all counts of the block it
// comes to. Nothing is random: the hand is part of the encoding. It takes 35.1
// bits per key to be remembered at 1%, and 31.3 with counters of 1 bit, which
// forget between n and 2n. A lookup costs one memory access, an insert one more
// for each bit of a counter.
//
// Make one with NewStable or Config.NewStable; for a zero Stable see
// Filter.
//
// Safe for concurrent readers; a writer needs exclusion.
type Stable struct{ memories }

// stableConstructors is how to make a Stable.
const stableConstructors = "NewStable or Config.NewStable"

// NewStable returns a Stable that remembers the last n keys with false positive
// rate p. It panics if n is less than 1 or p is not between 1e-6 and 1: use
// Config.NewStable for values that are not constants.
func NewStable(n int, p float64) *Stable {
	s, err := Config{Capacity: n, ErrorRate: p}.NewStable()
	if err != nil {
		panic(err)
	}
	return s
}

// NewStable returns a Stable. Its errors wrap ErrParameter or ErrTooLarge, or
// are those of Alloc.
func (c Config) NewStable() (*Stable, error) {
	t, err := c.newStable()
	if err != nil {
		return nil, fmt.Errorf("counting: new stable: %w", err)
	}
	return &Stable{memories{t}}, nil
}

func (c Config) newStable() (table, error) {
	if err := c.only("NewStable"); err != nil {
		return table{}, err
	}
	width, err := c.width(formatStable, func() (int, error) { return stableBits, nil })
	if err != nil {
		return table{}, err
	}
	aging := func(s sizing.Shape) float64 {
		a := sizing.Stable{Counted: sizing.Counted{Shape: s, Width: width}, Period: sizing.StablePeriod(uint64(c.Capacity), width)}
		return a.Rate(math.Inf(1))
	}
	if c.BitsPerKey != 0 {
		shape, rate, err := c.bestShape(width, aging)
		if err != nil {
			return table{}, err
		}
		return c.table(formatStable, sizing.Counted{Shape: shape, Width: width}, rate)
	}
	if c.Bits == 0 && c.Hashes == 0 {
		if err := c.checkAsked(); err != nil {
			return table{}, err
		}
		size, err := sizing.StableSize(uint64(c.Capacity), c.ErrorRate, width)
		if err != nil {
			return table{}, errors.Unwrap(err)
		}
		return c.table(formatStable, size.Counted, c.ErrorRate)
	}
	shape, _, err := c.givenShape()
	if err != nil {
		return table{}, err
	}
	if c.Capacity < 1 {
		return table{}, fmt.Errorf("%w: capacity %d is not at least 1: after how many keys to forget?", bloomery.ErrParameter, c.Capacity)
	}
	size := sizing.Counted{Shape: shape, Width: width}
	return c.table(formatStable, size, min(aging(shape), math.Nextafter(1, 0)))
}

const (
	// stableBits is the width of counters if none is asked for: it takes an
	// eighth more memory than 1 bit, and forgets three times as sharply.
	stableBits = 2

	// The words of the state.
	hand    = 0 // the block that is swept next
	credit  = 1 // blocks to sweep, times the period, that are not due yet
	inserts = 2 // all inserts
)

// Insert inserts key, which is from now on the youngest. The error is always
// nil.
func (f *Stable) Insert(key []byte) error { return f.InsertHash(f.hasher.Hash(key)) }

// InsertString is Insert for a string.
func (f *Stable) InsertString(key string) error { return f.InsertHash(f.hasher.HashString(key)) }

// InsertHash is Insert for a key whose hash is h.
func (f *Stable) InsertHash(h uint64) error {
	f.mustBeMade(stableConstructors)
	f.state[inserts]++
	f.state[credit] += uint64(len(f.blocks))
	if f.state[credit] >= f.period {
		f.sweep()
	}
	kernel.Refresh(f.blocks, f.planes, f.size.Width, f.size.K, h)
	return nil
}

// InsertHashes inserts all of hs, in order. It stops at the first error, that
// of InsertHash, and returns how many were inserted.
func (f *Stable) InsertHashes(hs []uint64) (n int, err error) {
	f.mustBeMade(stableConstructors)
	return batches.Insert(hs, func(h uint64) error { return f.InsertHash(h) })
}

// InsertKeys is InsertHashes for keys.
func (f *Stable) InsertKeys(keys [][]byte) (n int, err error) {
	f.mustBeMade(stableConstructors)
	return batches.Insert(keys, func(key []byte) error { return f.Insert(key) })
}

// InsertStrings is InsertHashes for strings.
func (f *Stable) InsertStrings(keys []string) (n int, err error) {
	f.mustBeMade(stableConstructors)
	return batches.Insert(keys, func(key string) error { return f.InsertString(key) })
}

// InsertSeq is InsertKeys for all keys of seq. It does not retain them.
func (f *Stable) InsertSeq(seq iter.Seq[[]byte]) (n int, err error) {
	f.mustBeMade(stableConstructors)
	for key := range seq {
		if err := f.Insert(key); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// sweep moves the hand over the blocks that are due, so that it comes to each
// block once in a period.
func (f *Stable) sweep() {
	for ; f.state[credit] >= f.period; f.state[credit] -= f.period {
		kernel.Sweep(f.blocks, f.planes, f.size.Width, f.state[hand])
		if f.state[hand]++; f.state[hand] == uint64(len(f.blocks)) {
			f.state[hand] = 0
		}
	}
}

// Clone returns a Stable of its own memory with the same keys.
func (f *Stable) Clone() *Stable { return f.clone() }

// Clear removes all keys and begins anew.
func (f *Stable) Clear() {
	f.mustBeMade(stableConstructors)
	clear(f.words)
}

// UnmarshalBinary replaces f by the filter that data encodes, see
// Filter.UnmarshalBinary.
func (f *Stable) UnmarshalBinary(data []byte) error {
	return envelope.Unmarshal("counting", data, f.hasher, f.load)
}

// memories is a table of a Stable that is only read: what Stable and
// its view share.
type memories struct{ table }

// aging is the model of what the filter remembers.
func (f *memories) aging() sizing.Stable { return sizing.Stable{Counted: f.size, Period: f.period} }

// Forgotten returns the share of keys that are expected to be false negatives
// when so many others were inserted after them. It is 0 up to Capacity, and at
// most 1 minus the false positive rate.
func (f *memories) Forgotten(age uint64) float64 { return f.aging().Forgotten(float64(age)) }

// Inserts returns the number of all inserts, of keys that are forgotten, too.
func (f *memories) Inserts() uint64 {
	if len(f.state) == 0 {
		return 0 // a zero filter
	}
	return f.state[inserts]
}

// String returns Stats as a line of text.
func (f *memories) String() string { return f.Stats().String() }

// Stats describes the state of the filter; items are the different keys that it
// remembers. The fill of arrays above 64 KiB is taken from a sample of at most
// 1 MiB, so it costs the same for every size; PredictedSigma is how far that
// makes Predicted swing.
func (f *memories) Stats() bloomery.Stats {
	aging, inserts := f.aging(), float64(f.Inserts())
	return f.statsBy(func(fill float64) (keys, rate float64) { return aging.State(inserts, fill) })
}

func (f *memories) clone() *Stable { return &Stable{memories{f.copied()}} }

// checkStable checks the first line.
func (f *table) checkStable() error {
	if f.state[hand] >= uint64(len(f.blocks)) || f.state[credit] >= f.period {
		return fmt.Errorf("%w: hand at %d of %d blocks, credit %d of %d", bloomery.ErrCorrupt, f.state[hand], len(f.blocks), f.state[credit], f.period)
	}
	return zero(f.state[inserts+1:])
}
