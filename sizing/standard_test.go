package sizing_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/bloomery/bloomery/sizing"
)

// exactStandard computes E[(X/m)^k] from the whole distribution of the number
// X of set bits after nk throws, one throw at a time.
func exactStandard(n, m, k int) float64 {
	dist := make([]float64, m+1)
	dist[0] = 1
	for range n * k {
		for x := m; x > 0; x-- {
			dist[x] = (dist[x]*float64(x) + dist[x-1]*float64(m-x+1)) / float64(m)
		}
		dist[0] = 0
	}
	sum := 0.0
	for x, p := range dist {
		sum += p * math.Pow(float64(x)/float64(m), float64(k))
	}
	return sum
}

func TestStandardRateExact(t *testing.T) {
	for _, c := range []struct {
		n, m, k int
		slack   float64 // relative
	}{
		{30, 288, 7, 5e-5}, // ten bits per key
		{30, 432, 10, 5e-5},
		{30, 576, 13, 1e-4},
		{30, 863, 20, 1e-4},
		{18, 512, 20, 5e-4}, // the smallest array at one in a million
		{53, 512, 7, 1e-5},
		{100, 512, 4, 1e-6},
		{200, 512, 10, 1e-4}, // overfull
		{300, 512, 2, 1e-6},
		{1, 512, 4, 2e-3},
		{1, 1, 3, 0},
		{2, 2, 1, 1e-12},
		{30, 64, 4, 2e-4},
		{64, 4096, 45, 1e-4},
		{6, 552, 64, 1e-2}, // 2e-19: the beta distribution reaches its limits
	} {
		got := sizing.Shape{Layout: sizing.Standard, Bits: uint64(c.m), K: c.k}.Rate(float64(c.n))
		want := exactStandard(c.n, c.m, c.k)
		if math.Abs(got-want) > c.slack*want {
			t.Errorf("n = %d, m = %d, k = %d: Rate = %.6g, want %.6g (%+.4f%%)", c.n, c.m, c.k, got, want, 100*(got/want-1))
		}
	}
}

// TestStandardRateSimulated throws real bits. The rate of one filter is known
// once its fill is, so the mean over filters has a small standard deviation.
func TestStandardRateSimulated(t *testing.T) {
	const filters = 4000
	rng := rand.New(rand.NewPCG(1, 1))
	for _, c := range []struct{ n, m, k int }{{30, 288, 7}, {30, 432, 10}, {100, 624, 4}, {10, 512, 7}} {
		var rates sample
		for range filters {
			set := make([]bool, c.m)
			count := 0
			for range c.n * c.k {
				if i := rng.IntN(c.m); !set[i] {
					set[i] = true
					count++
				}
			}
			rates.add(math.Pow(float64(count)/float64(c.m), float64(c.k)))
		}
		got := sizing.Shape{Layout: sizing.Standard, Bits: uint64(c.m), K: c.k}.Rate(float64(c.n))
		rates.check(t, got, "n = %d, m = %d, k = %d", c.n, c.m, c.k)
	}
}

// sample is a running mean and variance.
type sample struct{ n, sum, squares float64 }

func (s *sample) add(x float64) {
	s.n++
	s.sum += x
	s.squares += x * x
}

// check fails unless predicted is within three standard deviations.
func (s *sample) check(t *testing.T, predicted float64, format string, args ...any) {
	t.Helper()
	mean := s.sum / s.n
	sigma := math.Sqrt((s.squares/s.n - mean*mean) / s.n)
	if math.Abs(predicted-mean) > 3*sigma {
		t.Errorf(format+": predicted %.5g, simulated %.5g, sigma %.2g", append(args, predicted, mean, sigma)...)
	}
}
