package sizing_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/sizing"
)

func TestSizeVectors(t *testing.T) {
	for _, c := range []struct {
		layout sizing.Layout
		n      uint64
		p      float64
		bits   uint64
		k      int
	}{
		{sizing.Standard, 1_000_000, 0.01, 9_592_957, 7},
		{sizing.Standard, 1_000_000, 0.001, 14_377_642, 10},
		{sizing.Standard, 1, 0.01, 512, 5},
		{sizing.Partitioned, 1_000_000, 0.01, 9_592_961, 7},
		{sizing.Partitioned, 1, 0.01, 512, 8},
		{sizing.Blocked, 1_000, 0.01, 20 * 512, 7},
		{sizing.Blocked, 1_000, 0.001, 31 * 512, 9},
		{sizing.Blocked, 1_000, 0.0001, 44 * 512, 12},
		// The Poisson limit asks for 195 blocks. The exact form is content
		// with 194: 0.99967%.
		{sizing.Blocked, 10_000, 0.01, 194 * 512, 6},
		{sizing.Blocked, 10_000, 0.001, 305 * 512, 9},
		{sizing.Blocked, 10_000, 0.0001, 432 * 512, 12},
		{sizing.Blocked, 1_000_000, 0.01, 19_402 * 512, 6},
		{sizing.Blocked, 1_000_000, 0.001, 30_451 * 512, 9},
		{sizing.Blocked, 1_000_000, 0.0001, 43_149 * 512, 12},
		{sizing.Split, 1, 1e-6, 256, 8},
		{sizing.Split, 1_000, 0.01, 42 * 256, 8},
		{sizing.Split, 1_000_000, 0.01, 41_130 * 256, 8},
		{sizing.Split, 1_000_000, 0.001, 65_976 * 256, 8},
		{sizing.Split, 1_000_000, 0.0001, 102_897 * 256, 8},
		{sizing.Split, 1_000_000, 1e-6, 252_590 * 256, 8},
	} {
		got, err := c.layout.Size(c.n, c.p)
		want := sizing.Shape{Layout: c.layout, Bits: c.bits, K: c.k}
		if err != nil || got != want {
			t.Errorf("%v.Size(%d, %v) = %+v, %v, want %+v", c.layout, c.n, c.p, got, err, want)
		}
	}
}

// logUniform returns a number between low and high, all magnitudes alike.
func logUniform(rng *rand.Rand, low, high float64) float64 {
	return low * math.Exp(rng.Float64()*math.Log(high/low))
}

// unit returns the step between sizes of a layout, its smallest size, and the
// range of its k.
func unit(l sizing.Layout) (step, least uint64, minK, maxK int) {
	switch l {
	case sizing.Blocked:
		return sizing.BlockBits, sizing.BlockBits, 1, 16
	case sizing.Split:
		return sizing.SplitBits, sizing.SplitBits, 8, 8
	case sizing.Standard, sizing.Partitioned:
	}
	return 1, sizing.MinBits, 1, 64
}

// TestSizeKeepsRate asks of each size that it keeps the rate, and that one bit
// or block less would not, whatever the k.
func TestSizeKeepsRate(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	for range 10_000 {
		n := uint64(logUniform(rng, 1, 1e9))
		p := logUniform(rng, 1e-6, 0.5)
		for _, l := range layouts {
			s, err := l.Size(n, p)
			if err != nil || s.Valid() != nil {
				t.Fatalf("%v.Size(%d, %v) = %+v, %v", l, n, p, s, err)
			}
			if rate := s.Rate(float64(n)); rate > p {
				t.Errorf("%v.Size(%d, %v) = %+v has rate %v", l, n, p, s, rate)
			}
			step, least, minK, maxK := unit(l)
			if s.Bits == least {
				continue
			}
			for k := max(minK, s.K-4); k <= min(maxK, s.K+4); k++ {
				less := sizing.Shape{Layout: l, Bits: s.Bits - step, K: k}
				if l == sizing.Partitioned {
					less.Bits -= less.Bits % uint64(k)
				}
				if less.Bits < least {
					continue
				}
				if rate := less.Rate(float64(n)); rate <= p {
					t.Errorf("%v.Size(%d, %v) = %+v, but %+v has rate %v", l, n, p, s, less, rate)
				}
			}
		}
	}
}

// exhaustive finds the size by trying every shape from the smallest on.
func exhaustive(l sizing.Layout, n uint64, p float64) sizing.Shape {
	step, least, minK, maxK := unit(l)
	for bits := least; ; bits += step {
		best, lowest := 0, math.Inf(1)
		for k := minK; k <= maxK; k++ {
			rate := sizing.Shape{Layout: l, Bits: bits, K: k}.Rate(float64(n))
			if rate <= p && rate < lowest {
				best, lowest = k, rate
			}
			if rate <= min(p, 1e-9) {
				break
			}
		}
		if best != 0 {
			return sizing.Shape{Layout: l, Bits: bits, K: best}
		}
	}
}

func TestSizeExhaustive(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 6))
	for _, c := range []struct {
		layout  sizing.Layout
		samples int
		maxKeys float64
	}{
		{sizing.Standard, 40, 100}, {sizing.Blocked, 200, 4000}, {sizing.Split, 200, 4000}, {sizing.Partitioned, 40, 100},
	} {
		for range c.samples {
			n, p := uint64(logUniform(rng, 1, c.maxKeys)), logUniform(rng, 1e-6, 0.5)
			got, err := c.layout.Size(n, p)
			want := exhaustive(c.layout, n, p)
			if err != nil || got != want {
				t.Errorf("%v.Size(%d, %v) = %+v, %v, want %+v", c.layout, n, p, got, err, want)
			}
		}
	}
}

func TestSizeBadInput(t *testing.T) {
	for _, c := range []struct {
		layout sizing.Layout
		n      uint64
		p      float64
		want   error
		says   string
	}{
		{sizing.Standard, 0, 0.01, bloomery.ErrParameter, "n = 0"},
		{sizing.Standard, 1, 0, bloomery.ErrParameter, "rate 0"},
		{sizing.Standard, 1, -0.5, bloomery.ErrParameter, "rate -0.5"},
		{sizing.Standard, 1, 1, bloomery.ErrParameter, "rate 1"},
		{sizing.Standard, 1, 2, bloomery.ErrParameter, "rate 2"},
		{sizing.Standard, 1, math.NaN(), bloomery.ErrParameter, "NaN"},
		{sizing.Standard, 1, math.Inf(1), bloomery.ErrParameter, "+Inf"},
		{sizing.Standard, 1, math.Inf(-1), bloomery.ErrParameter, "-Inf"},
		{sizing.Standard, math.MaxUint64, 0.01, bloomery.ErrTooLarge, "2^63"},
		{sizing.Standard, math.MaxUint64, 5e-324, bloomery.ErrTooLarge, "2^63"},
		{sizing.Blocked, math.MaxUint64, 0.01, bloomery.ErrTooLarge, "2^63"},
		{sizing.Blocked, 1 << 60, 0.01, bloomery.ErrTooLarge, "2^63"},
		{sizing.Blocked, 0, 0.01, bloomery.ErrParameter, "n = 0"},
		{sizing.Blocked, 1000, 9.9e-7, bloomery.ErrParameter, "standard layout"},
		{sizing.Split, 0, 0.01, bloomery.ErrParameter, "n = 0"},
		{sizing.Split, 1000, 9.9e-7, bloomery.ErrParameter, "split layout wastes space: use the standard layout"},
		{sizing.Split, 1 << 37, 0.01, bloomery.ErrTooLarge, "2^40"},
		{sizing.Split, math.MaxUint64, 0.01, bloomery.ErrTooLarge, "2^40"},
		{sizing.Partitioned, 0, 0.01, bloomery.ErrParameter, "n = 0"},
		{sizing.Partitioned, 1, math.NaN(), bloomery.ErrParameter, "NaN"},
		{sizing.Partitioned, math.MaxUint64, 0.01, bloomery.ErrTooLarge, "2^63"},
		{sizing.Partitioned, math.MaxUint64, 5e-324, bloomery.ErrTooLarge, "2^63"},
		{sizing.Layout(9), 1000, 0.01, bloomery.ErrParameter, "unknown layout 9"},
	} {
		s, err := c.layout.Size(c.n, c.p)
		if !errors.Is(err, c.want) || !strings.HasPrefix(err.Error(), "sizing: size: ") || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%v.Size(%d, %v) = %v, want %v that says %q", c.layout, c.n, c.p, err, c.want, c.says)
		}
		if s != (sizing.Shape{}) {
			t.Errorf("%v.Size(%d, %v) = %+v beside an error", c.layout, c.n, c.p, s)
		}
	}
}

// TestSizeExtremes asks for answers where numbers are as large or as small as
// they can be.
func TestSizeExtremes(t *testing.T) {
	for _, c := range []struct {
		layout sizing.Layout
		n      uint64
		p      float64
	}{
		{sizing.Standard, 1, math.SmallestNonzeroFloat64},
		{sizing.Standard, 1, 1 - 1e-16},
		{sizing.Standard, 1 << 32, 1e-300},
		{sizing.Standard, 1 << 59, 0.01},
		{sizing.Standard, math.MaxUint64, 1 - 1e-16},
		{sizing.Blocked, 1, 1e-6},
		{sizing.Blocked, 1, 1 - 1e-16},
		{sizing.Blocked, 1 << 57, 1e-6},
		{sizing.Blocked, math.MaxUint64, 1 - 1e-16},
		{sizing.Split, 1, 1e-6},
		{sizing.Split, 1, 1 - 1e-16},
		{sizing.Split, 1 << 33, 1e-6},
		{sizing.Partitioned, 1, math.SmallestNonzeroFloat64},
		{sizing.Partitioned, 1, 1 - 1e-16},
		{sizing.Partitioned, 1 << 32, 1e-300},
		{sizing.Partitioned, 1 << 58, 0.01},
		{sizing.Partitioned, math.MaxUint64, 1 - 1e-16},
	} {
		s, err := c.layout.Size(c.n, c.p)
		if err != nil || s.Valid() != nil || s.Rate(float64(c.n)) > c.p {
			t.Errorf("%v.Size(%d, %v) = %+v, %v with rate %v", c.layout, c.n, c.p, s, err, s.Rate(float64(c.n)))
		}
	}
}
