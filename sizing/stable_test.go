package sizing_test

import (
	"errors"
	"math"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/sizing"
)

var forEver = math.Inf(1)

// The size is the smallest in whole blocks whose rate for ever is the one asked
// for, over all k.
func TestStableSizeIsSmallest(t *testing.T) {
	for _, width := range []int{1, 2, 4, 8} {
		for _, n := range []uint64{1, 10, 1000, 1_000_000} {
			for _, p := range []float64{0.5, 1e-2, 1e-4, 1e-6} {
				a, err := sizing.StableSize(n, p, width)
				if err != nil {
					t.Fatal(err)
				}
				if got := a.Rate(forEver); got > p {
					t.Errorf("n = %d, p = %g, width %d: rate %g", n, p, width, got)
				}
				if got := (float64(uint64(1)<<width) - 1) * float64(a.Period); got < float64(n) {
					t.Errorf("n = %d, width %d: keys are certain for %g inserts", n, width, got)
				}
				less, same := a, a
				for same.K = 1; same.K <= 16; same.K++ {
					if same.Rate(forEver) < a.Rate(forEver) {
						t.Errorf("n = %d, p = %g, width %d: k = %d has a lower rate than %+v", n, p, width, same.K, a)
					}
				}
				for less.K = 1; less.K <= 16 && a.Bits > sizing.BlockBits; less.K++ {
					less.Bits = a.Bits - sizing.BlockBits
					if less.Rate(forEver) <= p {
						t.Errorf("n = %d, p = %g, width %d: k = %d does with a block less than %+v", n, p, width, less.K, a)
					}
				}
			}
		}
	}
}

// What the docs say: bits per key to be remembered.
func TestStableBitsPerKey(t *testing.T) {
	for width, want := range map[int]float64{1: 31.29, 2: 35.10, 4: 51.35, 8: 89.59} {
		a, err := sizing.StableSize(1_000_000, 0.01, width)
		if err != nil || math.Abs(float64(a.Total())/1e6-want) > 0.005 {
			t.Errorf("width %d: %.2f bits per key (%v), want %.2f", width, float64(a.Total())/1e6, err, want)
		}
	}
}

func TestStableSizeRefuses(t *testing.T) {
	for _, c := range []struct {
		n     uint64
		p     float64
		width int
		want  error
	}{
		{0, 0.1, 2, bloomery.ErrParameter},
		{10, 0, 2, bloomery.ErrParameter},
		{10, 1, 2, bloomery.ErrParameter},
		{10, math.NaN(), 2, bloomery.ErrParameter},
		{10, 1e-7, 2, bloomery.ErrParameter},
		{10, 0.1, 0, bloomery.ErrParameter},
		{10, 0.1, 3, bloomery.ErrParameter},
		{10, 0.1, 16, bloomery.ErrParameter},
		{1 << 61, 0.1, 2, bloomery.ErrTooLarge},
		{1 << 63, 0.1, 1, bloomery.ErrTooLarge},
		{math.MaxUint64, 0.1, 8, bloomery.ErrTooLarge},
	} {
		if a, err := sizing.StableSize(c.n, c.p, c.width); !errors.Is(err, c.want) {
			t.Errorf("n = %d, p = %v, width %d: %+v, %v, want %v", c.n, c.p, c.width, a, err, c.want)
		}
	}
}

func TestStableRates(t *testing.T) {
	a, err := sizing.StableSize(9000, 0.01, 2) // a period is 3,000
	if err != nil || a.Period != 3000 {
		t.Fatalf("%+v, %v", a, err)
	}
	// Before anything is forgotten the rate is that of the bits alone.
	if got, want := a.Rate(5000), a.Shape.Rate(5000); math.Abs(got/want-1) > 1e-9 {
		t.Errorf("Rate(5000) = %g, want %g", got, want)
	}
	if a.Rate(12_000) != a.Rate(forEver) || a.Rate(11_000) >= a.Rate(forEver) {
		t.Errorf("Rate(11000) = %g, Rate(12000) = %g, for ever %g", a.Rate(11_000), a.Rate(12_000), a.Rate(forEver))
	}
	last := 0.0
	for age := 0.0; age < 20_000; age += 100 {
		got := a.Forgotten(age)
		if age <= 9000 && got != 0 || age >= 12_000 && math.Abs(got-1+a.Rate(forEver)) > 1e-9 || got < last {
			t.Errorf("Forgotten(%v) = %v after %v", age, got, last)
		}
		last = got
	}
	if got := a.Forgotten(math.NaN()); got != 1 {
		t.Errorf("Forgotten(NaN) = %v, want 1", got)
	}
	if got := (sizing.Stable{}).Forgotten(1); got != 1 {
		t.Errorf("Forgotten without a period = %v, want 1", got)
	}
	// State finds the keys that made a fill.
	if keys, rate := a.State(5000, a.Fill(5000)); math.Abs(keys-5000) > 1 || math.Abs(rate/a.Rate(5000)-1) > 1e-3 {
		t.Errorf("State = %v keys, rate %v, want 5000 and %v", keys, rate, a.Rate(5000))
	}
	if keys, _ := a.State(1e9, a.Fill(10)); keys < 9 || keys > 12 {
		t.Errorf("State of a stream of 10 keys = %v keys", keys)
	}
	for _, x := range [][2]float64{{0, 0}, {10, 0}, {1e9, 0}, {0, 0.5}, {math.NaN(), 0.5}} {
		if keys, rate := a.State(x[0], x[1]); keys != 0 || rate != 0 {
			t.Errorf("State(%v, %v) = %v, %v, want nothing", x[0], x[1], keys, rate)
		}
	}
}
