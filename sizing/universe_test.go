package sizing_test

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/sizing"
)

// TestExactRate holds the rate to a search over all whole numbers of bits.
func TestExactRate(t *testing.T) {
	for _, c := range []struct {
		in, out uint64
		p, want float64
	}{
		{1, 99, 0, 1. / 64},
		{1, 9, 0, 1. / 8}, // 3 + 9/8 bits, 2 + 9/4 at 1/4
		{1, 1, 0, 1},
		{100, 1, 0, 1},
		{1, 1 << 40, 0, sizing.MinRibbonRate},
		{1, 99, 0.001, 0.002},
		{1, 99, 0.25, 1. / 64},
		{1, 0, 0.01, 0.02},
		{0, 0, 0, 1},
	} {
		if got := sizing.ExactRate(c.in, c.out, c.p); got != c.want {
			t.Errorf("ExactRate(%d, %d, %v) = %v, want %v", c.in, c.out, c.p, got, c.want)
		}
	}
	for _, p := range []float64{-1, 1, math.NaN(), 1e-12} {
		if _, err := sizing.ExactBits(1, 1, p, 128); !errors.Is(err, bloomery.ErrParameter) {
			t.Errorf("ExactBits at %v: %v, want ErrParameter", p, err)
		}
	}
	for _, c := range [][2]uint64{{0, 100}, {100, 0}, {0, 0}} {
		if got, err := sizing.ExactBits(c[0], c[1], 0, 128); err != nil || got != 0 {
			t.Errorf("%d in and %d out take %d bits, %v", c[0], c[1], got, err)
		}
	}
}

// TestAdviseUniverse asks for sets whose universe is known, and for values.
func TestAdviseUniverse(t *testing.T) {
	needs := sizing.Needs{Keys: 1_000_000, Immutable: true, FalsePositiveCost: math.Inf(1)}
	if a := mustAdvise(t, needs); len(a.Kinds) != 0 {
		t.Errorf("no error, and a universe that is not known: %s", a.Kinds[0].Name)
	}
	needs.Universe = 100_000_000
	a := mustAdvise(t, needs)
	if len(a.Kinds) != 1 || a.Kinds[0].Name != "exact" || a.Kinds[0].ErrorRate != 0 || math.Abs(a.Kinds[0].BitsPerKey-8.57) > 0.05 {
		t.Errorf("no error in a universe that is known: %+v", a.Kinds)
	}
	a = mustAdvise(t, sizing.Needs{Keys: 1_000_000, Immutable: true, ErrorRate: 1. / 256, ValueBits: 8})
	if len(a.Kinds) != 1 || a.Kinds[0].Name != "map" || math.Abs(a.Kinds[0].BitsPerKey-16.05) > 0.05 {
		t.Errorf("a value of 8 bits for each key: %+v", a.Kinds)
	}
	a = mustAdvise(t, sizing.Needs{Keys: 1000, Immutable: true, ErrorRate: 1e-6, ValueBits: 16})
	if slices.ContainsFunc(a.Kinds, func(c sizing.Choice) bool { return c.Name == "map" }) {
		t.Error("a map of more than 32 columns")
	}
	for _, bad := range []sizing.Needs{{Keys: 10, Universe: 9}, {Keys: 10, ValueBits: 33}, {Keys: 10, ValueBits: -1}} {
		if _, err := sizing.Advise(bad); !errors.Is(err, bloomery.ErrParameter) {
			t.Errorf("%+v: %v, want ErrParameter", bad, err)
		}
	}
}
