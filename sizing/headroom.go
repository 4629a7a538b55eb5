package sizing

import (
	"math"

	"github.com/bloomery/bloomery"
)

// MaxHeadroom is the most percent that WithHeadroom adds.
const MaxHeadroom = 1000

// WithHeadroom returns n and so many percent more, rounded up: the capacity of a filter
// for n keys that may become more. The error wraps ErrParameter if percent is not 0 to
// MaxHeadroom, and ErrTooLarge if there would be more than 2^62 keys.
func WithHeadroom(n uint64, percent int) (uint64, error) {
	if percent < 0 || percent > MaxHeadroom {
		return 0, refuse("headroom", bloomery.ErrParameter, "headroom of %d percent is not 0 to %d", percent, MaxHeadroom)
	}
	if percent == 0 {
		return n, nil
	}
	more := math.Ceil(float64(n) / 100 * float64(percent))
	if more > 1<<62 || n > 1<<62 {
		return 0, refuse("headroom", bloomery.ErrTooLarge, "%d keys and %d percent more", n, percent)
	}
	return n + uint64(more), nil
}
