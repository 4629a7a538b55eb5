package sizing_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/sizing"
)

func TestCountingSize(t *testing.T) {
	for _, p := range []float64{0.5, 1e-2, 1e-4, 1e-6} {
		bits, err := sizing.Blocked.Size(1_000_000, p)
		if err != nil {
			t.Fatal(err)
		}
		c, err := sizing.CountingSize(1_000_000, p)
		if err != nil || c.Shape != bits || c.Width != 4 || c.Total() != 5*bits.Bits {
			t.Errorf("CountingSize(1e6, %g) = %+v, %v, want counters of 4 bits beside %+v", p, c, err, bits)
		}
		s, err := sizing.SpectralSize(1_000_000, p)
		if err != nil || s.Shape != bits || s.Width != 32 || s.Total() != 33*bits.Bits {
			t.Errorf("SpectralSize(1e6, %g) = %+v, %v, want counters of 32 bits beside %+v", p, s, err, bits)
		}
	}
	for _, f := range []func(uint64, float64) (sizing.Counted, error){sizing.CountingSize, sizing.SpectralSize} {
		for _, c := range []struct {
			n    uint64
			p    float64
			want error
		}{
			{0, 0.1, bloomery.ErrParameter},
			{10, 0, bloomery.ErrParameter},
			{10, 1, bloomery.ErrParameter},
			{10, math.NaN(), bloomery.ErrParameter},
			{10, 1e-7, bloomery.ErrParameter},
			{1 << 62, 0.5, bloomery.ErrTooLarge},
			{math.MaxUint64, 0.01, bloomery.ErrTooLarge},
		} {
			if got, err := f(c.n, c.p); !errors.Is(err, c.want) {
				t.Errorf("n = %d, p = %v: %+v, %v, want %v", c.n, c.p, got, err, c.want)
			}
		}
	}
}

// The chance of a full counter, held to keys that are thrown at counters. The
// tolerance is 4 standard deviations of the number of full ones, which are
// nearly independent.
func TestOverflowAgainstSimulation(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 50))
	for _, c := range []struct {
		k, width, copies int
		n                float64
	}{{1, 2, 1, 200_000}, {6, 2, 1, 33_000}, {8, 2, 1, 25_000}, {6, 4, 3, 33_000}, {6, 4, 1, 200_000}, {6, 2, 1, 200_000}, {12, 2, 1, 15_000}, {16, 2, 1, 11_000}} {
		s := sizing.Counted{Shape: sizing.Shape{Layout: sizing.Blocked, Bits: 1 << 18, K: c.k}, Width: c.width}
		counts := make([]int, s.Bits)
		for range int(c.n) {
			throw(r, counts, c.k, c.copies)
		}
		full := 0.0
		for _, n := range counts {
			if n >= 1<<c.width {
				full++
			}
		}
		want := s.Overflow(c.n, float64(c.copies)) * float64(s.Bits)
		if math.Abs(full-want) > 4*math.Sqrt(want)+1 {
			t.Errorf("%+v: %v counters are full, predicted %.1f", c, full, want)
		}
	}
}

// throw adds the copies of a key to the counters of a block, as the blocked
// layout does.
func throw(r *rand.Rand, counts []int, k, copies int) {
	block := counts[r.IntN(len(counts)/512)*512:][:512]
	start := r.IntN(8)
	var first [8]int
	for i := range min(k, 8) {
		lane := (start + i) % 8
		first[lane] = r.IntN(64)
		block[lane*64+first[lane]] += copies
	}
	for i := range max(k-8, 0) {
		lane := (start + i) % 8
		if at := r.IntN(64); at != first[lane] {
			block[lane*64+at] += copies
		}
	}
}

func TestOverflowExtremes(t *testing.T) {
	c := sizing.Counted{Shape: sizing.Shape{Layout: sizing.Blocked, Bits: 512, K: 8}, Width: 4}
	for _, x := range []struct{ n, copies, want float64 }{
		{0, 1, 0}, {15, 1, 0}, {1e9, 1, 1}, {1, 16, 8.0 / 512}, {1, 1e9, 8.0 / 512}, {math.NaN(), 1, 1}, {math.Inf(1), 1, 1}, {1, math.NaN(), 1}, {-1, 1, 0},
	} {
		if got := c.Overflow(x.n, x.copies); math.Abs(got-x.want) > 1e-12 {
			t.Errorf("Overflow(%v, %v) = %v, want %v", x.n, x.copies, got, x.want)
		}
	}
	if got := (sizing.Counted{}).Overflow(10, 1); got != 1 {
		t.Errorf("no shape: %v, want 1", got)
	}
	last := 0.0
	for n := 1000.0; n < 1e7; n *= 1.3 { // across the two ways to add up
		c.Bits = 1 << 20
		got := c.Overflow(n, 1)
		if got < last || got > 1 {
			t.Errorf("Overflow(%v) = %v after %v", n, got, last)
		}
		last = got
	}
}

func TestCounterBitsRefuses(t *testing.T) {
	s := sizing.Shape{Layout: sizing.Blocked, Bits: 1 << 20, K: 7}
	for _, c := range []struct {
		n, copies, share float64
		want             error
	}{
		{0, 1, 0.1, bloomery.ErrParameter},
		{math.NaN(), 1, 0.1, bloomery.ErrParameter},
		{10, 0, 0.1, bloomery.ErrParameter},
		{10, 1, 0, bloomery.ErrParameter},
		{10, 1, 1, bloomery.ErrParameter},
		{1e5, 1e6, 1e-6, bloomery.ErrTooLarge},
	} {
		if got, err := s.CounterBits(c.n, c.copies, c.share); !errors.Is(err, c.want) {
			t.Errorf("CounterBits(%v, %v, %v) = %d, %v, want %v", c.n, c.copies, c.share, got, err, c.want)
		}
	}
}

// TestRefusedSimulated holds the bound to keys that are thrown at random: the
// expected number of those that are refused is between the bound and the mean of
// the bound over the keys before, which assumes no more than that it grows.
func TestRefusedSimulated(t *testing.T) {
	const n, trials = 4096, 20
	rng := rand.New(rand.NewPCG(13, 4))
	for _, c := range []sizing.Counted{
		{Shape: sizing.Shape{Layout: sizing.Blocked, Bits: 2048, K: 1}, Width: 2},
		{Shape: sizing.Shape{Layout: sizing.Blocked, Bits: 8192, K: 2}, Width: 2},
		{Shape: sizing.Shape{Layout: sizing.Blocked, Bits: 1024, K: 1}, Width: 4},
	} {
		refused, mean := 0, 0.0
		for range trials {
			counters := make([]int, c.Bits)
			for range n {
				block, full := sizing.BlockBits*rng.IntN(int(c.Bits/sizing.BlockBits)), 0
				var bits [2]int
				for i := range c.K {
					bits[i] = block + i*256 + rng.IntN(sizing.BlockBits/c.K)
					if counters[bits[i]] >= 1<<c.Width {
						full++
					}
				}
				if full == c.K {
					refused++
					continue
				}
				for _, b := range bits[:c.K] {
					counters[b]++
				}
			}
		}
		for i := range n {
			mean += c.Refused(float64(i)) / max(float64(i), 1)
		}
		// Refused keys leave no trace, so that a full filter refuses fewer than
		// the model's: 15%, and five deviations.
		got := float64(refused) / trials
		if slack := 0.15*mean + 5*math.Sqrt(mean/trials); math.Abs(got-mean) > slack || got > c.Refused(n) {
			t.Errorf("%+v: %.1f of %d refused, model %.1f, bound %.1f", c, got, n, mean, c.Refused(n))
		}
	}
	for _, c := range []sizing.Counted{{}, {Shape: sizing.Shape{Layout: sizing.Blocked, Bits: 512, K: 1}, Width: 2}} {
		if c.Takes(math.NaN()) || c.Takes(math.Inf(1)) {
			t.Errorf("%+v takes any number of keys", c)
		}
	}
}
