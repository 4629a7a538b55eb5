package checkup

import (
	"math"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/server/internal/contents"
)

func lookOf(s bloomery.Stats) contents.Look { return contents.Look{Stats: s} }

// TestCombine has the state of a filter made from those of its parts: of all of them,
// and of some.
func TestCombine(t *testing.T) {
	one := bloomery.Stats{Capacity: 100, Bits: 1000, Items: 10, Exact: true, Saturation: 0.2, Predicted: 0.01, PredictedSigma: 0.001, Skew: 3}
	if got := combine([]contents.Look{lookOf(one)}, 1); got != one {
		t.Errorf("of one part: %+v, want %+v", got, one)
	}
	two := one
	two.Items, two.Saturation, two.Predicted, two.PredictedSigma, two.Skew = 31, 0.4, 0.03, 0.002, 2
	near := func(a, b float64) bool { return math.Abs(a-b) < 1e-12 }
	got := combine([]contents.Look{lookOf(one), lookOf(two)}, 2)
	// All parts were looked at: what they differ by is no error of the mean.
	if got.Capacity != 200 || got.Bits != 2000 || got.Items != 41 || !got.Exact || !near(got.Saturation, 0.3) || !near(got.Predicted, 0.02) ||
		got.Skew != 3 || !near(got.PredictedSigma, math.Sqrt(0.001*0.001+0.002*0.002)/2) {
		t.Errorf("of two parts: %+v", got)
	}
	got = combine([]contents.Look{lookOf(one), lookOf(two)}, 8)
	// Two of eight: their variance is 2e-4, that of their mean a half of it, less the
	// quarter that is known.
	sigma := math.Sqrt((0.001*0.001+0.002*0.002)/4 + 2e-4/2*(1-2.0/8))
	if got.Capacity != 800 || got.Bits != 8000 || got.Items != 164 || !got.Exact || !near(got.Predicted, 0.02) || !near(got.PredictedSigma, sigma) {
		t.Errorf("of two parts of eight: %+v, want a sigma of %v", got, sigma)
	}
	two.Exact = false
	if got := combine([]contents.Look{lookOf(one), lookOf(two)}, 2); got.Exact {
		t.Error("the items of two parts are exact, and those of one of them are not")
	}
	for v, want := range map[float64]uint64{0: 0, 0.4: 0, 0.5: 1, 1.49: 1, 1e15: 1e15, math.MaxInt64: math.MaxUint64, math.Inf(1): math.MaxUint64} {
		if got := wholeNumber(v); got != want {
			t.Errorf("wholeNumber(%v) = %d, want %d", v, got, want)
		}
	}
}
