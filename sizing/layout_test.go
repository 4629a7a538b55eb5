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

var layouts = []sizing.Layout{sizing.Standard, sizing.Blocked, sizing.Split, sizing.Partitioned}

func TestLayoutString(t *testing.T) {
	for layout, want := range map[sizing.Layout]string{
		sizing.Standard: "standard", sizing.Blocked: "blocked", sizing.Split: "split",
		sizing.Partitioned: "partitioned", 9: "Layout(9)",
	} {
		if got := layout.String(); got != want {
			t.Errorf("String() = %q, want %q", got, want)
		}
	}
}

func TestShapeValid(t *testing.T) {
	for _, c := range []struct {
		shape sizing.Shape
		want  error
		says  string
	}{
		{sizing.Shape{Layout: sizing.Standard, Bits: 1, K: 1}, nil, ""},
		{sizing.Shape{Layout: sizing.Standard, Bits: 1 << 63, K: 64}, nil, ""},
		{sizing.Shape{Layout: sizing.Blocked, Bits: 512, K: 16}, nil, ""},
		{sizing.Shape{}, bloomery.ErrParameter, "0 bits"},
		{sizing.Shape{Bits: 512}, bloomery.ErrParameter, "k = 0"},
		{sizing.Shape{Bits: 512, K: -1}, bloomery.ErrParameter, "k = -1"},
		{sizing.Shape{Bits: 512, K: 65}, bloomery.ErrParameter, "1 to 64"},
		{sizing.Shape{Bits: 1<<63 + 1, K: 1}, bloomery.ErrTooLarge, "2^63"},
		{sizing.Shape{Layout: sizing.Blocked, Bits: 513, K: 1}, bloomery.ErrParameter, "whole blocks"},
		{sizing.Shape{Layout: sizing.Blocked, Bits: 512, K: 17}, bloomery.ErrParameter, "1 to 16"},
		{sizing.Shape{Layout: sizing.Split, Bits: 256, K: 8}, nil, ""},
		{sizing.Shape{Layout: sizing.Split, Bits: sizing.MaxSplitBits, K: 8}, nil, ""},
		{sizing.Shape{Layout: sizing.Split, Bits: sizing.MaxSplitBits + 256, K: 8}, bloomery.ErrTooLarge, "2^40"},
		{sizing.Shape{Layout: sizing.Split, Bits: 257, K: 8}, bloomery.ErrParameter, "whole blocks of 256"},
		{sizing.Shape{Layout: sizing.Split, Bits: 256, K: 7}, bloomery.ErrParameter, "k = 7, the split layout takes 8"},
		{sizing.Shape{Layout: sizing.Split, Bits: 256, K: 9}, bloomery.ErrParameter, "k = 9, the split layout takes 8"},
		{sizing.Shape{Layout: sizing.Partitioned, Bits: 63, K: 7}, nil, ""},
		{sizing.Shape{Layout: sizing.Partitioned, Bits: 64, K: 64}, nil, ""},
		{sizing.Shape{Layout: sizing.Partitioned, Bits: 64, K: 7}, bloomery.ErrParameter, "7 slices"},
		{sizing.Shape{Layout: sizing.Partitioned, Bits: 650, K: 65}, bloomery.ErrParameter, "1 to 64"},
		{sizing.Shape{Layout: sizing.Partitioned, Bits: 640}, bloomery.ErrParameter, "k = 0"},
		{sizing.Shape{Layout: 7, Bits: 512, K: 1}, bloomery.ErrParameter, "unknown layout 7"},
	} {
		err := c.shape.Valid()
		if !errors.Is(err, c.want) || (err != nil && !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%+v.Valid() = %v, want %v that says %q", c.shape, err, c.want, c.says)
		}
		if err == nil {
			continue
		}
		if got := c.shape.Rate(10); got != 1 {
			t.Errorf("%+v.Rate(10) = %v, want 1", c.shape, got)
		}
		if got := c.shape.Fill(10); got != 1 {
			t.Errorf("%+v.Fill(10) = %v, want 1", c.shape, got)
		}
		if got := c.shape.Count(0.5); !math.IsInf(got, 1) {
			t.Errorf("%+v.Count(0.5) = %v, want +Inf", c.shape, got)
		}
	}
}

func TestShapeExtremes(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, s := range []sizing.Shape{
		{Layout: sizing.Standard, Bits: 1, K: 1},
		{Layout: sizing.Standard, Bits: 2, K: 3},
		{Layout: sizing.Standard, Bits: 1 << 63, K: 64},
		{Layout: sizing.Blocked, Bits: 512, K: 1},
		{Layout: sizing.Blocked, Bits: 512, K: 16},
		{Layout: sizing.Blocked, Bits: 1024, K: 5},
		{Layout: sizing.Blocked, Bits: 1 << 63, K: 16},
		{Layout: sizing.Split, Bits: 256, K: 8},
		{Layout: sizing.Split, Bits: 512, K: 8},
		{Layout: sizing.Split, Bits: sizing.MaxSplitBits, K: 8},
		{Layout: sizing.Partitioned, Bits: 1, K: 1},
		{Layout: sizing.Partitioned, Bits: 6, K: 3},
		{Layout: sizing.Partitioned, Bits: 1 << 63, K: 64},
	} {
		for _, c := range []struct{ n, rate float64 }{{-inf, 0}, {-1, 0}, {0, 0}, {inf, 1}, {nan, 1}, {math.MaxFloat64, 1}} {
			if got := s.Rate(c.n); got != c.rate {
				t.Errorf("%+v.Rate(%v) = %v, want %v", s, c.n, got, c.rate)
			}
			if got := s.Fill(c.n); got != c.rate {
				t.Errorf("%+v.Fill(%v) = %v, want %v", s, c.n, got, c.rate)
			}
		}
		for _, c := range []struct{ fill, count float64 }{{-1, 0}, {0, 0}, {1, inf}, {2, inf}, {inf, inf}, {nan, inf}} {
			if got := s.Count(c.fill); got != c.count {
				t.Errorf("%+v.Count(%v) = %v, want %v", s, c.fill, got, c.count)
			}
		}
		for _, n := range []float64{5e-324, 1e-9, 0.5, 1, 1.5, 127.5, 1e6, 1e18, 1e100} {
			if r := s.Rate(n); !(r >= 0 && r <= 1) {
				t.Errorf("%+v.Rate(%v) = %v, want 0 to 1", s, n, r)
			}
		}
	}
}

// randomShape returns a shape of up to 2^33 bits.
func randomShape(rng *rand.Rand, l sizing.Layout) sizing.Shape {
	bits := uint64(math.Exp(rng.Float64() * 33 * math.Ln2))
	switch l {
	case sizing.Blocked:
		return sizing.Shape{Layout: l, Bits: (bits/512 + 1) * 512, K: 1 + rng.IntN(16)}
	case sizing.Split:
		return sizing.Shape{Layout: l, Bits: (bits/256 + 1) * 256, K: 8}
	case sizing.Standard, sizing.Partitioned:
	}
	k := 1 + rng.IntN(64)
	if l == sizing.Partitioned {
		return sizing.Shape{Layout: l, Bits: (bits/uint64(k) + 1) * uint64(k), K: k}
	}
	return sizing.Shape{Layout: l, Bits: bits + 1, K: k}
}

// TestRateMonotone asks for growth up to the last digits of a float.
func TestRateMonotone(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	for _, l := range layouts {
		for range 300 {
			s := randomShape(rng, l)
			last, lastN := 0.0, 0.0
			step := 1 + math.Exp(-8*rng.Float64())
			n := float64(s.Bits) / 1000 * rng.Float64()
			for range 200 {
				rate := s.Rate(n)
				if !(rate >= last*(1-1e-12)) || rate > 1 {
					t.Fatalf("%+v: Rate(%v) = %v, Rate(%v) = %v", s, lastN, last, n, rate)
				}
				last, lastN = rate, n
				n *= step
			}
		}
	}
}

func TestCountInvertsFill(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	for _, l := range layouts {
		for range 2000 {
			s := randomShape(rng, l)
			if s.Bits == 1 || s.Layout == sizing.Partitioned && s.Bits == uint64(s.K) {
				continue // one bit shows nothing but empty and full
			}
			n := float64(s.Bits) / float64(s.K) * 5 * rng.Float64()
			fill := s.Fill(n)
			if got := s.Count(fill); math.Abs(got-n) > 1e-9*n {
				t.Errorf("%+v: Count(Fill(%v)) = %v", s, n, got)
			}
		}
	}
}
