package sizing_test

import (
	"errors"
	"math"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/sizing"
)

func TestRibbonSize(t *testing.T) {
	for _, c := range []struct {
		p       float64
		columns int
		share   float64
	}{
		{0.99, 1, 0},
		{0.5, 1, 0},
		{0.25, 2, 0},
		{0.375, 1, 0.5},
		{0.01, 6, 0.72},
		{0.001, 9, 0.976},
		{1. / 128, 7, 0},
		{math.Nextafter(1./128, 0), 7, 0},
		{math.Nextafter(1./128, 1), 6, 1},
		{sizing.MinRibbonRate, 32, 0},
	} {
		got, err := sizing.RibbonSize(c.p, 64)
		if err != nil {
			t.Fatal(err)
		}
		if got.Columns != c.columns || math.Abs(got.Share-c.share) > 1e-12 {
			t.Errorf("RibbonSize(%v) = %+v, want %d columns and share %v", c.p, got, c.columns, c.share)
		}
		if want := min(c.p, 0.5); math.Abs(got.Rate()/want-1) > 1e-12 {
			t.Errorf("RibbonSize(%v).Rate() = %v", c.p, got.Rate())
		}
	}
	for _, p := range []float64{0, 1, -1, 2, math.NaN(), math.Inf(1), math.Nextafter(sizing.MinRibbonRate, 0), 1e-300} {
		if _, err := sizing.RibbonSize(p, 64); !errors.Is(err, bloomery.ErrParameter) {
			t.Errorf("RibbonSize(%v): %v, want ErrParameter", p, err)
		}
	}
	for _, width := range []int{0, 1, 63, 96, 256, -64} {
		if _, err := sizing.RibbonSize(0.01, width); !errors.Is(err, bloomery.ErrParameter) {
			t.Errorf("RibbonSize of width %d: %v, want ErrParameter", width, err)
		}
	}
}

// More keys and lower rates take more bits, and never less than any filter
// needs. What builds really take is compared in package ribbon.
func TestRibbonBits(t *testing.T) {
	for _, width := range []int{64, 128} {
		for _, p := range []float64{0.5, 0.1, 0.01, 1e-3, 1e-6, 1e-9} {
			r, err := sizing.RibbonSize(p, width)
			if err != nil {
				t.Fatal(err)
			}
			last := uint64(0)
			for _, n := range []uint64{0, 1, 2, 10, 100, 1000, 10_000, 1e6, 1e7, 1e9, 1e12} {
				got := r.Bits(n)
				if got < last || float64(got) < float64(n)*math.Log2(1/p) {
					t.Errorf("width %d: %d keys at %v take %d bits, fewer keys %d", width, n, p, got, last)
				}
				last = got
			}
			limit := map[int]float64{64: 1.0185, 128: 1.0052}[width] * (float64(r.Columns) + r.Share)
			if got := float64(last) / 1e12; got > limit {
				t.Errorf("width %d: %v bits per key at %v", width, got, p)
			}
		}
	}
}

// TestRibbonBitsOfShards checks that few keys are listed, 64 bits each, and that a
// shard more costs its entry and its tail.
func TestRibbonBitsOfShards(t *testing.T) {
	r, err := sizing.RibbonSize(0.5, 64)
	if err != nil {
		t.Fatal(err)
	}
	if got := r.Bits(1); got != 640+64 {
		t.Errorf("one key takes %d bits, want 704", got)
	}
	const full = sizing.RibbonShardKeys
	for n, isShard := range map[uint64]bool{1 << 21: false, full: true, 2 * full: true} {
		if more := r.Bits(n+1) - r.Bits(n); (more >= 640) != isShard {
			t.Errorf("one key more than %d takes %d bits", n, more)
		}
	}
}
