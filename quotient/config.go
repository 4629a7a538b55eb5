package quotient

import (
	"errors"
	"fmt"
	"math"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/internal/memory"
	"github.com/bloomery/bloomery/sizing"
)

// maxDoublings is the largest Config.Doublings.
const maxDoublings = 32

// Config says what filter to make. It is for values that come from users,
// files or networks, since its methods return errors where New panics.
type Config struct {
	_ struct{}

	// Capacity is the number of different keys the filter is made for, at
	// least 1. There is a little more room, for keys that come again.
	Capacity int
	// ErrorRate is the share of absent keys that may be answered with yes when
	// Capacity keys are in the filter: more than 0 and less than 1. Capacity
	// over ErrorRate is less than 2^62.
	ErrorRate float64
	// Doublings is how often the capacity can be doubled by Resize with
	// ErrorRate still kept: 0 to 32. Each takes a bit per key from the begin.
	// Resize can go on after that, at a higher rate.
	Doublings int

	// Hasher hashes the keys. The zero value is XXH3 with seed 0.
	Hasher hashing.Hasher

	// Alloc returns memory for the array: at least the given number of bytes,
	// all zero. Nil means the Go heap, with huge pages on Linux from 4 MiB. The
	// memory must stay as long as the filter is used, or until Resize has asked
	// for more; Clone, UnmarshalBinary and ReadFrom use the Go heap.
	Alloc func(bytes int) ([]byte, error)
}

// shape returns the size of the filter.
func (c Config) shape() (sizing.Quotient, error) {
	switch {
	case c.Capacity < 1:
		return sizing.Quotient{}, fmt.Errorf("%w: capacity %d is not at least 1", bloomery.ErrParameter, c.Capacity)
	case !(c.ErrorRate > 0 && c.ErrorRate < 1):
		return sizing.Quotient{}, fmt.Errorf("%w: error rate %v is not between 0 and 1", bloomery.ErrParameter, c.ErrorRate)
	case c.Doublings < 0 || c.Doublings > maxDoublings:
		return sizing.Quotient{}, fmt.Errorf("%w: %d doublings, 0 to %d are possible", bloomery.ErrParameter, c.Doublings, maxDoublings)
	}
	for p := math.Ldexp(c.ErrorRate, -c.Doublings); ; p /= 2 {
		q, err := sizing.QuotientSize(uint64(c.Capacity), p)
		if err != nil {
			return q, errors.Unwrap(err)
		}
		// At high rates the remainder may have too few bits to give away.
		if _, err := q.Grown(uint64(c.Capacity) << c.Doublings); err == nil {
			return q, memory.Fits(arrayBytes(q))
		}
	}
}
