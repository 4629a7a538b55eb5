package sizing_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/bloomery/bloomery/sizing"
)

// TestPartitionedRateExact holds the rate against the whole distribution of
// the fill of one slice. Slices are independent, so the mean of the product of
// their fills is the product of the means, whatever the distribution.
func TestPartitionedRateExact(t *testing.T) {
	for _, c := range []struct{ n, slice, k int }{
		{30, 41, 7}, {30, 44, 13}, {18, 26, 20}, {100, 128, 4}, {1, 64, 8}, {300, 256, 2}, {5, 1, 3}, {64, 91, 45},
	} {
		got := sizing.Shape{Layout: sizing.Partitioned, Bits: uint64(c.slice * c.k), K: c.k}.Rate(float64(c.n))
		// A slice is a standard array with one throw per key.
		want := math.Pow(exactStandard(c.n, c.slice, 1), float64(c.k))
		if math.Abs(got-want) > 1e-12*want {
			t.Errorf("n = %d, %d slices of %d: Rate = %.14g, want %.14g", c.n, c.k, c.slice, got, want)
		}
	}
}

// TestPartitionedRateSimulated throws real bits. The rate of one filter is the
// product of the fills of its slices.
func TestPartitionedRateSimulated(t *testing.T) {
	const filters = 4000
	rng := rand.New(rand.NewPCG(2, 3))
	for _, c := range []struct{ n, slice, k int }{{30, 41, 7}, {30, 44, 10}, {100, 156, 4}, {10, 74, 7}} {
		var rates, fills sample
		for range filters {
			rate, all := 1.0, 0
			for range c.k {
				set := make([]bool, c.slice)
				count := 0
				for range c.n {
					if i := rng.IntN(c.slice); !set[i] {
						set[i] = true
						count++
					}
				}
				rate *= float64(count) / float64(c.slice)
				all += count
			}
			rates.add(rate)
			fills.add(float64(all) / float64(c.k*c.slice))
		}
		s := sizing.Shape{Layout: sizing.Partitioned, Bits: uint64(c.k * c.slice), K: c.k}
		rates.check(t, s.Rate(float64(c.n)), "rate of n = %d, %d slices of %d", c.n, c.k, c.slice)
		fills.check(t, s.Fill(float64(c.n)), "fill of n = %d, %d slices of %d", c.n, c.k, c.slice)
	}
}
