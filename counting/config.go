package counting

import (
	"errors"
	"fmt"
	"math"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/internal/fields"
	"github.com/bloomery/bloomery/internal/kernel"
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
	// least 1; for a Stable the number of last keys that it remembers for
	// certain. With Bits and Hashes it may be 0, not known, but for a Stable.
	Capacity int
	// ErrorRate is the false positive rate when Capacity keys are in the
	// filter, and at any time for a Stable: at least 1e-6 and less than 1.
	ErrorRate float64

	// Bits is the number of bits, each with a counter beside it; it is rounded
	// up to a multiple of 512. It takes the place of ErrorRate and goes with
	// Hashes. A bloom.Filter with the same two has the same bits.
	Bits uint64
	// Hashes is the number of bits that a key sets, 1 to 16.
	Hashes int

	// BitsPerKey is the size of bits and counters together over Capacity, where
	// that is known rather than a rate: it takes the place of ErrorRate, Bits
	// and Hashes.
	BitsPerKey float64

	// CounterBits is the width of the counters: 2, 4, 8 or 16 for a Filter,
	// 8, 16 or 32 for a Spectral, 1, 2, 4 or 8 for a Stable. 0 stands for what
	// Copies and Overflow need in a Filter, for 32 in a Spectral and 2 in a Stable.
	CounterBits int
	// Copies is how often each key of a Filter is there at the same time, 0
	// stands for 1; if keys differ much, take the largest number.
	Copies int
	// Overflow is the share of the counters of a Filter that may be full with
	// Capacity keys: more than 0 and less than 1, 0 stands for 1e-6. Full
	// counters do not go down again, so their bits stay set.
	Overflow float64

	// Hasher hashes the keys. The zero value is XXH3 with seed 0.
	Hasher hashing.Hasher

	// Alloc returns memory for the array: at least the given number of bytes,
	// all zero, beginning at a multiple of 8, better of 64. Nil means the Go
	// heap, with huge pages on Linux from 4 MiB. The memory must stay as long
	// as the filter is used; Clone and UnmarshalBinary use the Go heap.
	Alloc func(bytes int) ([]byte, error)
}

// only returns an error if a field is set that a constructor does not use: all
// use those of the first list.
func (c Config) only(constructor string, more ...string) error {
	used := []string{"Capacity", "ErrorRate", "Bits", "Hashes", "BitsPerKey", "CounterBits", "Hasher", "Alloc"}
	return fields.Only(c, constructor, append(used, more...)...)
}

// shape returns the size of the array of bits and the false positive rate that
// it is made for.
func (c Config) shape() (sizing.Shape, float64, error) {
	if c.Bits != 0 || c.Hashes != 0 {
		return c.givenShape()
	}
	if err := c.checkAsked(); err != nil {
		return sizing.Shape{}, 0, err
	}
	s, err := sizing.Blocked.Size(uint64(c.Capacity), c.ErrorRate)
	if err != nil {
		return sizing.Shape{}, 0, errors.Unwrap(err)
	}
	return s, c.ErrorRate, nil
}

// checkAsked checks Capacity and ErrorRate.
func (c Config) checkAsked() error {
	if c.Capacity < 1 {
		return fmt.Errorf("%w: capacity %d is not at least 1", bloomery.ErrParameter, c.Capacity)
	}
	if !(c.ErrorRate > 0 && c.ErrorRate < 1) {
		return fmt.Errorf("%w: error rate %v is not between 0 and 1", bloomery.ErrParameter, c.ErrorRate)
	}
	return nil
}

// givenShape is shape for a Config with Bits and Hashes.
func (c Config) givenShape() (sizing.Shape, float64, error) {
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
	s := sizing.Shape{Layout: sizing.Blocked, Bits: c.Bits, K: c.Hashes}
	s.Bits += -s.Bits % sizing.BlockBits
	if err := s.Valid(); err != nil {
		return sizing.Shape{}, 0, errors.Unwrap(err)
	}
	return s, min(s.Rate(float64(c.Capacity)), math.Nextafter(1, 0)), nil
}

// bestShape returns the shape with the lowest rate among those that take
// BitsPerKey with counters of so many bits.
func (c Config) bestShape(width int, rate func(sizing.Shape) float64) (sizing.Shape, float64, error) {
	var best sizing.Shape
	if c.ErrorRate != 0 || c.Bits != 0 || c.Hashes != 0 {
		return best, 0, fmt.Errorf("%w: BitsPerKey is set beside ErrorRate, Bits or Hashes", bloomery.ErrParameter)
	}
	if c.Capacity < 1 {
		return best, 0, fmt.Errorf("%w: capacity %d is not at least 1", bloomery.ErrParameter, c.Capacity)
	}
	total := math.Ceil(c.BitsPerKey * float64(c.Capacity) / float64(1+width))
	if !(total >= 1) {
		return best, 0, fmt.Errorf("%w: %v bits per key", bloomery.ErrParameter, c.BitsPerKey)
	}
	if total > sizing.MaxBits {
		return best, 0, fmt.Errorf("%w: %v bits per key for %d keys", bloomery.ErrTooLarge, c.BitsPerKey, c.Capacity)
	}
	least := math.Inf(1)
	for k := 1; k <= kernel.MaxK; k++ {
		s, _, err := Config{Capacity: c.Capacity, Bits: uint64(total), Hashes: k}.givenShape()
		if err != nil {
			return best, 0, err
		}
		if p := rate(s); p < least {
			best, least = s, p
		}
	}
	return best, min(least, math.Nextafter(1, 0)), nil
}

// width returns the width of the counters, or one that is computed if none is
// asked for.
func (c Config) width(form format, compute func() (int, error)) (int, error) {
	if c.CounterBits == 0 {
		return compute()
	}
	if !form.takes(c.CounterBits) {
		return 0, fmt.Errorf("%w: counters of %d bits are not for kind %s", bloomery.ErrParameter, c.CounterBits, form.name)
	}
	return c.CounterBits, nil
}

// counterBits returns the narrowest counters for Copies and Overflow.
func (c Config) counterBits(s sizing.Shape) (int, error) {
	if c.Copies < 0 {
		return 0, fmt.Errorf("%w: %d copies of a key", bloomery.ErrParameter, c.Copies)
	}
	if !(c.Overflow >= 0 && c.Overflow < 1) {
		return 0, fmt.Errorf("%w: overflow %v is not between 0 and 1", bloomery.ErrParameter, c.Overflow)
	}
	n, share := float64(c.Capacity), c.Overflow
	if n == 0 {
		n = s.Count(0.5) // where a filter of these bits is best
	}
	if share == 0 {
		share = sizing.MaxOverflow
	}
	width, err := s.CounterBits(n, float64(max(c.Copies, 1)), share)
	if err != nil {
		return 0, errors.Unwrap(err)
	}
	return width, nil
}

// table returns an empty table of a size.
func (c Config) table(form format, size sizing.Counted, rate float64) (table, error) {
	t := table{form: form, hasher: c.Hasher, size: size, capacity: uint64(c.Capacity), rate: rate}
	if size.Bits > sizing.MaxBits/(1+uint64(size.Width)) {
		return t, fmt.Errorf("%w: %d counters of %d bits", bloomery.ErrTooLarge, size.Bits, size.Width)
	}
	words := form.words(size)
	if err := memory.Fits(8 * words); err != nil {
		return t, err
	}
	array, err := memory.Array(int(words), c.Alloc)
	if err == nil {
		t.hold(array)
	}
	return t, err
}
