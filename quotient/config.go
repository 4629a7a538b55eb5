package quotient

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

// maxDoublings is the largest Config.Doublings.
const maxDoublings = 32

// Config describes a filter. It is for values that come from users, files or
// networks, since its methods return errors where New panics.
//
// A field that a constructor does not use must be zero: the error wraps ErrParameter if
// it is set.
type Config struct {
	_ struct{}

	// Capacity is the number of different keys the filter is made for, at
	// least 1. A few more fit, for keys that come again.
	Capacity int
	// ErrorRate is the false positive rate when Capacity keys are in the
	// filter: more than 0 and less than 1. Capacity over ErrorRate is less than
	// 2^62.
	ErrorRate float64
	// BitsPerKey is the size of the array over Capacity, where that is known
	// rather than a rate, which it takes the place of.
	BitsPerKey float64
	// Doublings is how often the capacity can be doubled by Resize with
	// ErrorRate still kept: 0 to 32. Each takes a bit per key from the start.
	// Resize can go on after that, at a higher rate.
	Doublings int

	// Expected is how many keys a Growing is expected to hold in the end, a hint
	// that makes it smallest there; 0 if that is not known. Less than twice the
	// Capacity is no hint. It is for NewGrowing only.
	Expected int

	// Hasher hashes the keys. The zero value is XXH3 with seed 0.
	Hasher hashing.Hasher

	// Alloc returns memory for the array: at least the given number of bytes,
	// all zero. Nil means the Go heap, with huge pages on Linux from 4 MiB. The
	// memory must stay as long as the filter is used, or until Resize has asked
	// for more; Clone and UnmarshalBinary use the Go heap.
	Alloc func(bytes int) ([]byte, error)
}

// shape returns the size of the filter and the rate that it is made for.
func (c Config) shape() (q sizing.Quotient, rate float64, err error) {
	err = fields.Only(c, "New", "Capacity", "ErrorRate", "BitsPerKey", "Doublings", "Hasher", "Alloc")
	switch {
	case err != nil:
		return q, 0, err
	case c.Capacity < 1:
		return q, 0, fmt.Errorf("%w: capacity %d is not at least 1", bloomery.ErrParameter, c.Capacity)
	case c.Doublings < 0 || c.Doublings > maxDoublings:
		return q, 0, fmt.Errorf("%w: %d doublings, 0 to %d are possible", bloomery.ErrParameter, c.Doublings, maxDoublings)
	case c.BitsPerKey != 0:
		q, rate, err = c.best()
	case !(c.ErrorRate > 0 && c.ErrorRate < 1):
		return q, 0, fmt.Errorf("%w: error rate %v is not between 0 and 1", bloomery.ErrParameter, c.ErrorRate)
	default:
		rate = c.ErrorRate
		q, err = c.sized(rate)
	}
	if err == nil {
		err = memory.Fits(arrayBytes(q))
	}
	return q, rate, err
}

// sized returns the size for a rate.
func (c Config) sized(rate float64) (sizing.Quotient, error) {
	for p := math.Ldexp(rate, -c.Doublings); ; p /= 2 {
		q, err := sizing.QuotientSize(uint64(c.Capacity), p)
		if err != nil {
			return q, errors.Unwrap(err)
		}
		// At high rates the remainder may have too few bits to give away.
		if _, err := q.Grown(uint64(c.Capacity) << c.Doublings); err == nil {
			return q, nil
		}
	}
}

// best returns the size with the lowest rate that takes BitsPerKey, and the
// rate. The smallest size is that of rates near 1; the lowest rate whose size
// is small enough is found by halving what lies between.
func (c Config) best() (sizing.Quotient, float64, error) {
	if c.ErrorRate != 0 {
		return sizing.Quotient{}, 0, fmt.Errorf("%w: BitsPerKey is set beside ErrorRate", bloomery.ErrParameter)
	}
	const tiny, most = 1e-3, 62 // binary logarithms of rates
	total := c.BitsPerKey * float64(c.Capacity)
	best, err := c.sized(math.Exp2(-tiny))
	if err != nil {
		return best, 0, err
	}
	if !(float64(best.Bits()) <= total) {
		return best, 0, fmt.Errorf("%w: %v bits per key, %d keys take %d bits at least",
			bloomery.ErrParameter, c.BitsPerKey, c.Capacity, best.Bits())
	}
	low := tiny
	for high := float64(most); high-low > tiny; {
		half := (low + high) / 2
		if q, err := c.sized(math.Exp2(-half)); err == nil && float64(q.Bits()) <= total {
			best, low = q, half
		} else {
			high = half
		}
	}
	return best, math.Exp2(-low), nil
}
