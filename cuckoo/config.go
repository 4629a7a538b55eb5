package cuckoo

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
// Buckets and Width, or by BitsPerKey.
//
// A field that a constructor does not use must be zero: the error wraps ErrParameter if
// it is set.
type Config struct {
	_ struct{}

	// Capacity is the number of keys the filter is made for, at least 1. With
	// Buckets and Width it may be 0, not known.
	Capacity int
	// ErrorRate is the false positive rate when Capacity different keys are in
	// the filter: at least 2e-9 and less than 1.
	ErrorRate float64

	// Buckets is the number of buckets of 4 slots, rounded up to an even one.
	// It takes the place of ErrorRate and goes with Width.
	Buckets uint64
	// Width is the number of bits of a fingerprint: 4 to 30, or 32.
	Width int

	// BitsPerKey is the size of the array over Capacity, where that is known
	// rather than a rate: it takes the place of ErrorRate, Buckets and Width.
	// Fingerprints get as many bits as fit.
	BitsPerKey float64

	// Hasher hashes the keys. The zero value is XXH3 with seed 0.
	Hasher hashing.Hasher

	// Alloc returns memory for the array: at least the given number of bytes,
	// all zero, beginning at a multiple of 8, better of 64. Nil means the Go
	// heap, with huge pages on Linux from 4 MiB. The memory must stay as long
	// as the filter is used; Clone and UnmarshalBinary use the Go heap.
	Alloc func(bytes int) ([]byte, error)
}

// New returns a Filter. Its errors wrap ErrParameter or ErrTooLarge, or are
// those of Alloc.
func (c Config) New() (*Filter, error) {
	t, err := c.table()
	if err != nil {
		return nil, fmt.Errorf("cuckoo: new: %w", err)
	}
	return &Filter{t}, nil
}

// table returns an empty table.
func (c Config) table() (table, error) {
	err := fields.Only(c, "New", "Capacity", "ErrorRate", "Buckets", "Width", "BitsPerKey", "Hasher", "Alloc")
	if err != nil {
		return table{}, err
	}
	shape, rate, err := c.shape()
	if err != nil {
		return table{}, err
	}
	n := kernel.BucketWords(shape.Buckets, shape.Width)
	if err := memory.Fits(8 * n); err != nil {
		return table{}, err
	}
	words, err := memory.Array(int(n), c.Alloc)
	if err != nil {
		return table{}, err
	}
	return newTable(c.Hasher, shape, uint64(c.Capacity), rate, words), nil
}

// shape returns the shape of the array and the false positive rate that it was
// made for.
func (c Config) shape() (sizing.Cuckoo, float64, error) {
	if c.BitsPerKey != 0 {
		return c.bestShape()
	}
	if c.Buckets != 0 || c.Width != 0 {
		return c.givenShape()
	}
	if c.Capacity < 1 {
		return sizing.Cuckoo{}, 0, fmt.Errorf("%w: capacity %d is not at least 1", bloomery.ErrParameter, c.Capacity)
	}
	s, err := sizing.CuckooSize(uint64(c.Capacity), c.ErrorRate)
	return s, c.ErrorRate, errors.Unwrap(err)
}

// bestShape is shape for a Config with BitsPerKey.
func (c Config) bestShape() (sizing.Cuckoo, float64, error) {
	switch {
	case c.ErrorRate != 0 || c.Buckets != 0 || c.Width != 0:
		return sizing.Cuckoo{}, 0, fmt.Errorf("%w: BitsPerKey is set beside ErrorRate, Buckets or Width", bloomery.ErrParameter)
	case c.Capacity < 1:
		return sizing.Cuckoo{}, 0, fmt.Errorf("%w: capacity %d is not at least 1", bloomery.ErrParameter, c.Capacity)
	}
	total := c.BitsPerKey * float64(c.Capacity)
	size := func(bits float64) (sizing.Cuckoo, error) {
		return sizing.CuckooSize(uint64(c.Capacity), math.Exp2(-bits))
	}
	// The smallest size is that of rates near 1; the lowest rate whose size is
	// small enough is found by halving what lies between.
	best, err := size(tiny)
	if err != nil {
		return best, 0, errors.Unwrap(err)
	}
	if !(float64(best.Bits()) <= total) {
		return best, 0, fmt.Errorf("%w: %v bits per key, %d keys take %d bits at least",
			bloomery.ErrParameter, c.BitsPerKey, c.Capacity, best.Bits())
	}
	for low, high := tiny, -math.Log2(sizing.MinCuckooRate); high-low > 1e-3; {
		half := (low + high) / 2
		if s, err := size(half); err == nil && float64(s.Bits()) <= total {
			best, low = s, half
		} else {
			high = half
		}
	}
	return best, best.Rate(float64(c.Capacity)), nil
}

// tiny is the binary logarithm of the highest rate that bestShape tries.
const tiny = 1e-3

// givenShape is shape for a Config with Buckets and Width.
func (c Config) givenShape() (sizing.Cuckoo, float64, error) {
	if c.ErrorRate != 0 {
		return sizing.Cuckoo{}, 0, fmt.Errorf("%w: error rate %v and %d buckets are given, one must follow from the other",
			bloomery.ErrParameter, c.ErrorRate, c.Buckets)
	}
	if c.Capacity < 0 {
		return sizing.Cuckoo{}, 0, fmt.Errorf("%w: capacity %d is negative", bloomery.ErrParameter, c.Capacity)
	}
	if c.Buckets > sizing.MaxBits { // rounded up it might be 0
		return sizing.Cuckoo{}, 0, fmt.Errorf("%w: %d buckets", bloomery.ErrTooLarge, c.Buckets)
	}
	s := sizing.Cuckoo{Buckets: c.Buckets + c.Buckets%2, Width: c.Width}
	if err := s.Valid(); err != nil {
		return sizing.Cuckoo{}, 0, errors.Unwrap(err)
	}
	if uint64(c.Capacity) > s.Slots() {
		return sizing.Cuckoo{}, 0, fmt.Errorf("%w: capacity %d, there are %d slots", bloomery.ErrParameter, c.Capacity, s.Slots())
	}
	return s, s.Rate(float64(c.Capacity)), nil
}
