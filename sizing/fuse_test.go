package sizing_test

import (
	"errors"
	"math"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/sizing"
)

// What n keys take never falls by more than a segment as n grows, and stays
// within the limits of the format.
func TestFuseShapes(t *testing.T) {
	for _, c := range []struct {
		arity   int
		longest uint
	}{{3, sizing.MaxFuseLog3}, {4, sizing.MaxFuseLog4}} {
		last := 0.0
		for n := uint64(1); n < 1<<36; n += 1 + n/50 {
			s := sizing.FuseShardSize(n, c.arity)
			if s.Log < sizing.MinFuseLog || s.Log > c.longest || s.Segments < c.arity || s.Arity != c.arity {
				t.Fatalf("n = %d: %+v", n, s)
			}
			slots, segment := float64(s.Slots()), float64(uint64(1)<<s.Log)
			if slots < 1.04*float64(n) {
				t.Errorf("n = %d: %v slots", n, slots)
			}
			if slots < last-segment {
				t.Errorf("n = %d: %v slots, fewer keys take %v", n, slots, last)
			}
			last = slots
		}
	}
	if got := sizing.FuseShardSize(0, 3).Slots(); got != 0 {
		t.Errorf("no keys take %d slots", got)
	}
}

func TestFuseBits(t *testing.T) {
	for _, c := range []struct {
		n            uint64
		arity, width int
		most         float64 // bits per key
	}{
		{10_000, 3, 8, 10.24},
		{1_000_000, 3, 8, 9.04},
		{10_000_000, 3, 8, 9.0},
		{100_000_000, 3, 8, 9.0},
		{1_000_000_000, 3, 8, 9.0},
		{1_000_000, 3, 16, 18.08},
		{1_000_000, 4, 8, 8 * 1.08},
		{1_000_000, 4, 32, 32 * 1.08},
		{100_000_000, 4, 8, 8 * 1.06},
	} {
		f, err := sizing.FuseSize(c.n, math.Ldexp(1, -c.width), c.arity)
		if err != nil || f.Width != c.width {
			t.Fatalf("%+v: %+v, %v", c, f, err)
		}
		if got := float64(f.Bits()) / float64(c.n); got > c.most || got < float64(c.width) {
			t.Errorf("%+v: %.4f bits per key", c, got)
		}
	}
}

func TestFuseWidth(t *testing.T) {
	for p, want := range map[float64]int{0.5: 8, 0.01: 8, 1. / 256: 8, 0.003: 16, 1e-4: 16, 1. / 65536: 16, 1e-5: 32, 1e-9: 32} {
		if got, err := sizing.FuseSize(1000, p, 3); got.Width != want || err != nil {
			t.Errorf("FuseSize at %g = %+v, %v, want a width of %d", p, got, err, want)
		}
	}
	for _, p := range []float64{0, -1, 1, 2, 1e-10, math.NaN(), math.Inf(1)} {
		if got, err := sizing.FuseSize(1000, p, 3); !errors.Is(err, bloomery.ErrParameter) || got != (sizing.Fuse{}) {
			t.Errorf("FuseSize at %g = %+v, %v, want ErrParameter", p, got, err)
		}
	}
	for _, arity := range []int{-1, 0, 2, 5} {
		if got, err := sizing.FuseSize(1000, 0.01, arity); !errors.Is(err, bloomery.ErrParameter) {
			t.Errorf("FuseSize of arity %d = %+v, %v, want ErrParameter", arity, got, err)
		}
	}
}

func TestFuseShards(t *testing.T) {
	for n, want := range map[uint64]uint{0: 0, 1: 0, 1 << 27: 0, 1<<27 + 1: 1, 1 << 28: 1, 100_000_000: 0, 1_000_000_000: 3} {
		if got, err := sizing.FuseSize(n, 0.01, 3); got.Shards != want || err != nil {
			t.Errorf("FuseSize(%d) = %+v, %v, want 2^%d shards", n, got, err, want)
		}
	}
}

// Widths that no filter has get an answer, not a panic or an infinite rate.
func TestWidthsThatNoFilterHas(t *testing.T) {
	for _, width := range []int{math.MinInt, -1, 0, 1, 8, 32, 63, 64, 65, math.MaxInt} {
		f := sizing.Fuse{Shard: sizing.FuseShardSize(1000, 3), Width: width}
		if got, want := f.Rate(), math.Pow(2, -math.Max(float64(width), 0)); got != want {
			t.Errorf("rate of %d bits = %g, want %g", width, got, want)
		}
		if width <= 0 && f.Bits() != 0 {
			t.Errorf("size of %d bits: %d", width, f.Bits())
		}
		for _, n := range []uint64{0, 1, 1000, math.MaxUint64} {
			if got := sizing.StablePeriod(n, width); got > n || n > 0 && got == 0 {
				t.Errorf("StablePeriod(%d, %d) = %d", n, width, got)
			}
		}
	}
}

// TestFuseShapesStay pins shapes: at a row of the table, and between two of them by
// proportion.
func TestFuseShapesStay(t *testing.T) {
	for _, c := range []struct {
		n    uint64
		want sizing.FuseShard
	}{
		{3 << 11, sizing.FuseShard{Arity: 3, Log: 8, Segments: 31}}, // 1317/1024 slots a key
		{1 << 22, sizing.FuseShard{Arity: 3, Log: 14, Segments: 287}},
		{1 << 23, sizing.FuseShard{Arity: 3, Log: 14, Segments: 572}},
		{141_072, sizing.FuseShard{Arity: 4, Log: 11, Segments: 76}},
	} {
		if got := sizing.FuseShardSize(c.n, c.want.Arity); got != c.want {
			t.Errorf("FuseShardSize(%d) = %+v, want %+v", c.n, got, c.want)
		}
	}
}
