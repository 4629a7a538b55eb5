package bloom

import (
	"errors"
	"fmt"
	"math"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/internal/fields"
	"github.com/bloomery/bloomery/internal/memory"
	"github.com/bloomery/bloomery/sizing"
)

// Config describes a filter. It is for values that come from users, files or
// networks, since its methods return errors where New panics.
//
// The shape of the array follows from Capacity and ErrorRate, or is given by
// Bits and Hashes, or by BitsPerKey.
//
// A field that a constructor does not use must be zero: the error wraps ErrParameter if
// it is set.
type Config struct {
	_ struct{}

	// Capacity is the number of different keys the filter is made for, at
	// least 1. With Bits and Hashes it may be 0, not known.
	Capacity int
	// Headroom is how many percent more keys than Capacity there is room for, 0 to
	// 1000: the filter is made for Capacity and Headroom together, as with HEADROOM
	// of the server's FILTER.CREATE.
	Headroom int
	// ErrorRate is the false positive rate when Capacity keys are in the
	// filter: more than 0 and less than 1. Filter and Split go down to 1e-6,
	// Scalable to 1e-15, the others to any rate that fits into memory.
	ErrorRate float64

	// Bits is the size of the array; Filter rounds it up to a multiple of 512,
	// Split of 256, Partitioned of Hashes. It takes the place of ErrorRate and
	// goes with Hashes. A Builder takes it instead of Max, for the most that its array
	// may take.
	Bits uint64
	// Hashes is the number of bits that a key sets: 1 to 16 for Filter, 1 to
	// 64 for Standard and Partitioned, 8 for Split.
	Hashes int

	// BitsPerKey is the size of the array over Capacity, where that is known
	// rather than a rate: it takes the place of ErrorRate, Bits and Hashes. A
	// key sets as many bits as give the lowest false positive rate.
	BitsPerKey float64

	// Foldable makes a Filter, a Standard or a Split that Fold can halve at least three
	// times: the size is rounded up to a multiple of 8 blocks, or bits, and a key sets 8
	// bits of a Filter.
	Foldable bool

	// Max is the most different keys that can come to a Builder, at least 1: it decides
	// on the memory for building, not on the size of the filter. It is for NewBuilder,
	// NewStandardBuilder and NewSplitBuilder only, which take it instead of Capacity.
	Max int

	// Growth is how many times larger each layer of a Scalable is than the one
	// before: 2 to 255, 0 stands for 2. It is for NewScalable only.
	Growth int

	// Columns is the number of filters that a Sliced can hold, 1 to MaxColumns.
	// It is for NewSliced only.
	Columns int

	// Hasher hashes the keys. The zero value is XXH3 with seed 0.
	Hasher hashing.Hasher

	// Alloc returns memory for the array: at least the given number of bytes,
	// all zero, beginning at a multiple of 8, better of 64. Nil means the Go
	// heap, with huge pages on Linux from 4 MiB. The memory must stay as long
	// as the filter is used; Clone and UnmarshalBinary use the Go heap.
	Alloc func(bytes int) ([]byte, error)
}

// prepare returns an error if a field is set that a constructor does not use: all use
// those of the first list. It adds Headroom to Capacity.
func (c *Config) prepare(constructor string, more ...string) error {
	used := []string{"Capacity", "Headroom", "ErrorRate", "Bits", "Hashes", "BitsPerKey", "Hasher", "Alloc"}
	if err := fields.Only(*c, constructor, append(used, more...)...); err != nil {
		return err
	}
	return c.addHeadroom()
}

// addHeadroom makes Headroom a part of Capacity.
func (c *Config) addHeadroom() error {
	if c.Headroom == 0 {
		return nil
	}
	if c.Capacity < 1 {
		return fmt.Errorf("%w: Headroom is set, and Capacity is %d", bloomery.ErrParameter, c.Capacity)
	}
	n, err := sizing.WithHeadroom(uint64(c.Capacity), c.Headroom)
	if err == nil && n > math.MaxInt {
		return fmt.Errorf("%w: %d keys", bloomery.ErrTooLarge, n)
	}
	if err != nil {
		return errors.Unwrap(err)
	}
	c.Capacity, c.Headroom = int(n), 0
	return nil
}

// shape returns the size of the array and the false positive rate that it was
// made for.
func (c Config) shape(layout sizing.Layout) (sizing.Shape, float64, error) {
	if c.BitsPerKey != 0 {
		return c.bestShape(layout)
	}
	if c.Bits != 0 || c.Hashes != 0 {
		return c.givenShape(layout)
	}
	if c.Capacity < 1 {
		return sizing.Shape{}, 0, fmt.Errorf("%w: capacity %d is not at least 1", bloomery.ErrParameter, c.Capacity)
	}
	if !(c.ErrorRate > 0 && c.ErrorRate < 1) {
		return sizing.Shape{}, 0, fmt.Errorf("%w: error rate %v is not between 0 and 1", bloomery.ErrParameter, c.ErrorRate)
	}
	s, err := layout.Size(uint64(c.Capacity), c.ErrorRate)
	if err != nil {
		return sizing.Shape{}, 0, errors.Unwrap(err)
	}
	return s, c.ErrorRate, memory.Fits(s.Bits / 8)
}

// givenShape is shape for a Config with Bits and Hashes.
func (c Config) givenShape(layout sizing.Layout) (sizing.Shape, float64, error) {
	if c.ErrorRate != 0 {
		return sizing.Shape{}, 0, fmt.Errorf("%w: error rate %v and bits %d are given, one must follow from the other",
			bloomery.ErrParameter, c.ErrorRate, c.Bits)
	}
	if c.Capacity < 0 {
		return sizing.Shape{}, 0, fmt.Errorf("%w: capacity %d is negative", bloomery.ErrParameter, c.Capacity)
	}
	if c.Bits > sizing.MaxBits { // rounded up it might be 0
		return sizing.Shape{}, 0, fmt.Errorf("%w: %d bits, at most 2^63", bloomery.ErrTooLarge, c.Bits)
	}
	s := sizing.Shape{Layout: layout, Bits: c.Bits, K: c.Hashes}
	s.Bits += -s.Bits % layout.Unit()
	if layout == sizing.Partitioned && s.K > 0 && s.Bits%uint64(s.K) != 0 {
		s.Bits += uint64(s.K) - s.Bits%uint64(s.K)
	}
	if err := s.Valid(); err != nil {
		return sizing.Shape{}, 0, errors.Unwrap(err)
	}
	return s, min(s.Rate(float64(c.Capacity)), math.Nextafter(1, 0)), memory.Fits(s.Bits / 8)
}

// maxK is the largest number of bits that a key sets in any layout.
const maxK = 64

// bestShape is shape for a Config with BitsPerKey.
func (c Config) bestShape(layout sizing.Layout) (sizing.Shape, float64, error) {
	if c.ErrorRate != 0 || c.Bits != 0 || c.Hashes != 0 {
		return sizing.Shape{}, 0, fmt.Errorf("%w: BitsPerKey is set beside ErrorRate, Bits or Hashes", bloomery.ErrParameter)
	}
	if c.Capacity < 1 {
		return sizing.Shape{}, 0, fmt.Errorf("%w: capacity %d is not at least 1", bloomery.ErrParameter, c.Capacity)
	}
	total := math.Ceil(c.BitsPerKey * float64(c.Capacity))
	if !(total >= 1) {
		return sizing.Shape{}, 0, fmt.Errorf("%w: %v bits per key", bloomery.ErrParameter, c.BitsPerKey)
	}
	if total > sizing.MaxBits {
		return sizing.Shape{}, 0, fmt.Errorf("%w: %v bits per key for %d keys", bloomery.ErrTooLarge, c.BitsPerKey, c.Capacity)
	}
	given := Config{Capacity: c.Capacity, Bits: uint64(total)}
	var best sizing.Shape
	var rate float64
	var failed error
	for given.Hashes = 1; given.Hashes <= maxK; given.Hashes++ {
		switch s, p, err := given.givenShape(layout); {
		case err != nil:
			failed = err
		case best.K == 0 || p < rate:
			best, rate = s, p
		}
	}
	if best.K == 0 {
		return best, 0, failed
	}
	return best, rate, nil
}
