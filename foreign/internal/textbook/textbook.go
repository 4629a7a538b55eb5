// Package textbook has the size of a Bloom filter as the textbook has it, which is where
// the formats of other systems start from.
package textbook

import (
	"fmt"
	"math"

	"github.com/bloomery/bloomery"
)

// Check refuses a number of keys or a false positive rate that no filter can be made
// for. The error wraps bloomery.ErrParameter.
func Check(format string, n uint64, p float64) error {
	switch {
	case n < 1:
		return fmt.Errorf("%s: new: %w: capacity %d, want at least 1", format, bloomery.ErrParameter, n)
	case !(p > 0 && p < 1):
		return fmt.Errorf("%s: new: %w: error rate %v, want one between 0 and 1", format, bloomery.ErrParameter, p)
	}
	return nil
}

// Bits is how many bits the textbook gives n keys at rate p, before rounding:
// -n ln p / ln² 2. All formats have it, and each rounds it in its own way.
func Bits(n uint64, p float64) float64 {
	return -float64(n) * math.Log(p) / (math.Ln2 * math.Ln2)
}

// BitsPerKey is how many whole bits for each key the textbook gives rate p, for formats
// that are sized so. The error wraps bloomery.ErrParameter.
func BitsPerKey(format string, p float64) (int, error) {
	if err := Check(format, 1, p); err != nil {
		return 0, err
	}
	return max(int(math.Ceil(Bits(1, p))), 1), nil
}
