package sizing

import (
	"fmt"
	"math"

	"github.com/bloomery/bloomery"
)

// The partitioned layout has k slices of s bits, and a key sets one bit in
// each. After n keys a bit is set with probability f = 1 - (1-1/s)^n. The fill
// of a slice varies from filter to filter as that of a standard array does,
// but a query asks each slice once and the slices are independent: the mean of
// the product of their fills is the product of the means. So f^k is exact, and
// the variance, which the standard layout must pay for, cancels.

// partitionedRate returns the rate of n keys in k slices of s bits.
func partitionedRate(n, s float64, k int) float64 {
	return math.Pow(-math.Expm1(n*math.Log1p(-1/s)), float64(k))
}

// partitionedSize is Size for the partitioned layout. The slices for a given k
// follow from the rate in closed form, up to rounding, so every k is tried.
func partitionedSize(q request) (Shape, error) {
	n, p := q.n, q.p
	var best Shape
	lowest := math.Inf(1)
	for k := q.minK; k <= q.maxK; k++ {
		guess := guessSlice(n, p, k)
		if best.Bits != 0 && 0.999*guess*float64(k) > float64(best.Bits) {
			continue // cannot be smaller, nor as small
		}
		s, ok := sliceBits(n, p, guess, k)
		if !ok {
			continue
		}
		shape := Shape{Layout: Partitioned, Bits: s * uint64(k), K: k}
		rate := shape.Rate(n)
		smaller := best.Bits == 0 || shape.Bits < best.Bits
		better := shape.Bits == best.Bits && rate < lowest && lowest > min(p, enough)
		if smaller || better {
			best, lowest = shape, rate
		}
	}
	if best.Bits == 0 {
		return Shape{}, fmt.Errorf("%w: %.0f keys at rate %v need more than 2^63 bits", bloomery.ErrTooLarge, n, p)
	}
	return best, nil
}

// guessSlice solves f^k = p for the length of a slice.
func guessSlice(n, p float64, k int) float64 {
	logClear := math.Log(-math.Expm1(math.Log(p) / float64(k))) // of a bit after n keys
	return -1 / math.Expm1(logClear/n)
}

// sliceBits returns the smallest slice with which k bits per key keep the rate
// and the whole array has MinBits; false if that is too large.
func sliceBits(n, p, guess float64, k int) (uint64, bool) {
	keeps := func(s uint64) bool { return partitionedRate(n, float64(s), k) <= p }
	least, most := uint64(MinBits+k-1)/uint64(k), MaxBits/uint64(k)
	if !(guess < float64(most)) {
		return 0, false
	}
	// The guess is off by its rounding. Steps that double around it find a
	// slice that is too small and one that is not, the middle between them the
	// answer.
	good := max(uint64(guess), least)
	for step := uint64(1); !keeps(good); step *= 2 {
		if good += step; good > most {
			return 0, false
		}
	}
	bad := least - 1
	for step := uint64(1); step < good-bad; step *= 2 {
		if keeps(good - step) {
			good -= step
			continue
		}
		bad = good - step
		break
	}
	for good-bad > 1 {
		if middle := bad + (good-bad)/2; keeps(middle) {
			good = middle
		} else {
			bad = middle
		}
	}
	return good, true
}
