package sizing_test

import (
	"errors"
	"math"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/sizing"
)

// The worst split of the keys keeps the rate, and others do too: every load of a
// grid that Burst allows is tried by the formula.
func TestWindowSizeKeepsRate(t *testing.T) {
	for _, n := range []uint64{1, 7, 1000, 1_000_000, 100_000_000} {
		for _, p := range []float64{0.3, 1e-2, 1e-4} {
			for _, g := range []int{1, 2, 5, 6, 24, sizing.MaxGenerations} {
				for _, burst := range []float64{1, 1.5, 2, 100} {
					w, err := sizing.WindowSize(n, p, g, burst)
					if err != nil {
						t.Fatalf("WindowSize(%d, %v, %d, %v): %v", n, p, g, burst, err)
					}
					if got := w.Worst(n); got > p {
						t.Errorf("WindowSize(%d, %v, %d, %v): worst rate %v", n, p, g, burst, got)
					}
					even := float64(g+1) * w.Shape.Rate(float64(n)/float64(g))
					if even > p*(1+1e-9) && n > 100 {
						t.Errorf("WindowSize(%d, %v, %d, %v): rate of even traffic %v", n, p, g, burst, even)
					}
				}
			}
		}
	}
}

func TestWindowSizeRefuses(t *testing.T) {
	for _, c := range []struct {
		n     uint64
		p     float64
		g     int
		burst float64
	}{
		{0, 0.01, 6, 2},
		{1000, 0, 6, 2},
		{1000, 1, 6, 2},
		{1000, math.NaN(), 6, 2},
		{1000, 0.01, 0, 2},
		{1000, 0.01, -1, 2},
		{1000, 0.01, 64, 2},
		{1000, 0.01, 6, 0.5},
		{1000, 0.01, 6, math.NaN()},
		{1000, 0.01, 6, math.Inf(1)},
		{1000, 1e-6, 6, 2}, // each generation would be below 1e-6
	} {
		if w, err := sizing.WindowSize(c.n, c.p, c.g, c.burst); !errors.Is(err, bloomery.ErrParameter) {
			t.Errorf("WindowSize(%+v) = %+v, %v, want ErrParameter", c, w, err)
		}
	}
}
