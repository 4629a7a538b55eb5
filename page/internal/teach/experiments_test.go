package teach_test

import (
	"errors"
	"math"
	"testing"

	"github.com/bloomery/bloomery/page/internal/teach"
	"github.com/bloomery/bloomery/sizing"
)

// TestCompare finds the poor hash worse on structured keys, and only there.
func TestCompare(t *testing.T) {
	c, err := teach.Compare(1000, 0.01, true)
	if err != nil {
		t.Fatal(err)
	}
	good, poor := c.Sides[0], c.Sides[1]
	if good.Measured.Rate > 0.015 || poor.Measured.Rate < 3*good.Measured.Rate {
		t.Errorf("structured keys: %s %v, %s %v, want about 1%% and several times as much", good.Hash, good.Measured.Rate, poor.Hash, poor.Measured.Rate)
	}
	shape, err := sizing.Blocked.Size(1000, 0.01)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := len(good.Blocks), int(shape.Bits/sizing.BlockBits); got != want {
		t.Errorf("%d blocks, want %d", got, want)
	}
	c, err = teach.Compare(1000, 0.01, false)
	if err != nil {
		t.Fatal(err)
	}
	// Five standard deviations of 1% in 20,000 trials are 0.35%.
	if got := c.Sides[1].Measured.Rate; got > 0.0135 {
		t.Errorf("random keys: FNV-1a has a rate of %v, want about 1%%", got)
	}
}

// TestGrow holds the rate at the capacity to the rate asked, and that past it to
// the prediction of sizing.
func TestGrow(t *testing.T) {
	for kind, layout := range map[string]sizing.Layout{"standard": sizing.Standard, "blocked": sizing.Blocked} {
		g, err := teach.Grow(kind, 1000, 0.01)
		if err != nil {
			t.Fatal(err)
		}
		shape, err := layout.Size(1000, 0.01)
		if err != nil {
			t.Fatal(err)
		}
		if g.Bits != shape.Bits || g.Points[0].Keys != 0 || g.Points[0].Fill != 0 {
			t.Errorf("%s: %d bits and the first point %+v, want %d bits and nothing", kind, g.Bits, g.Points[0], shape.Bits)
		}
		if g.Broken < 8 || g.Broken > 10 {
			t.Errorf("%s: the promise is broken at point %d, want the one after the capacity", kind, g.Broken)
		}
		for _, p := range g.Points {
			want := shape.Rate(float64(p.Keys))
			// The fill of one filter of 1,000 keys differs from the mean by some
			// percent; 20,000 trials have a standard deviation of their own.
			sigma := math.Sqrt(want*(1-want)/20_000) + 0.06*want
			if math.Abs(p.Measured.Rate-want) > 5*sigma+1e-4 {
				t.Errorf("%s: with %d keys the measured rate is %v, want %v", kind, p.Keys, p.Measured.Rate, want)
			}
		}
	}
}

func TestTrialsRefused(t *testing.T) {
	for _, c := range []struct {
		n     int
		p     float64
		kind  string
		field string
	}{
		{0, 0.01, "standard", "n"},
		{-5, 0.01, "standard", "n"},
		{teach.MaxTrialKeys + 1, 0.01, "standard", "n"},
		{math.MaxInt, 0.01, "standard", "n"},
		{1000, 0, "standard", "p"},
		{1000, math.NaN(), "standard", "p"},
		{1000, math.Inf(1), "standard", "p"},
		{1000, -1, "standard", "p"},
		{1000, 1e-9, "standard", "p"},
		{1000, 0.01, "cuckoo", "kind"},
		{1000, 0.01, "", "kind"},
	} {
		_, err := teach.Grow(c.kind, c.n, c.p)
		if fault, ok := errors.AsType[*teach.FieldError](err); !ok || fault.Field != c.field {
			t.Errorf("Grow(%q, %d, %v): %v, want a fault of %s", c.kind, c.n, c.p, err, c.field)
		}
		if c.field == "kind" {
			continue
		}
		_, err = teach.Compare(c.n, c.p, true)
		if fault, ok := errors.AsType[*teach.FieldError](err); !ok || fault.Field != c.field {
			t.Errorf("Compare(%d, %v): %v, want a fault of %s", c.n, c.p, err, c.field)
		}
	}
}
