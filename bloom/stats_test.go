package bloom_test

import (
	"math"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/sizing"
)

// The rate that Stats predicts from a sample is near the one that the whole
// array gives, and PredictedSigma is how near: at low rates a sample of 64 KiB
// would be off by 10%.
func TestStatsSigma(t *testing.T) {
	if testing.Short() {
		t.Skip("statistics: once is enough")
	}
	type filter interface {
		bloomery.Hashed
		bloomery.Adder
		EstimateCount() uint64
		Shape() sizing.Shape
	}
	n := 600_000
	keys := hashes(n, 7)
	var squares, most float64
	tries := 0
	for _, p := range []float64{0.01, 1e-4, 1e-5, 1e-6} {
		for name, f := range map[string]filter{
			"bloom":       bloom.New(n, p),
			"standard":    bloom.NewStandard(n, p),
			"partitioned": bloom.NewPartitioned(n, p),
			"split":       bloom.NewSplit(n, p),
		} {
			f.AddHashes(nil, keys)
			s := f.Stats()
			whole := f.Shape().Rate(float64(f.EstimateCount()))
			if s.PredictedSigma == 0 {
				if s.Predicted < whole*0.999 || s.Predicted > whole*1.001 {
					t.Errorf("%s at %v: predicted %v from all of it, want %v", name, p, s.Predicted, whole)
				}
				continue
			}
			if limit := 0.04; s.PredictedSigma > limit*s.Predicted {
				t.Errorf("%s at %v: sigma %v of a rate of %v, want at most %v of it", name, p, s.PredictedSigma, s.Predicted, limit)
			}
			z := (s.Predicted - whole) / s.PredictedSigma
			tries++
			squares += z * z
			most = max(most, math.Abs(z))
		}
	}
	if tries < 8 {
		t.Errorf("%d filters were sampled, want at least 8", tries)
	}
	if most > 4 || squares/float64(tries) > 2.5 {
		t.Errorf("deviations of up to %.1f sigma, mean square %.1f", most, squares/float64(tries))
	}
}

// A Scalable adds up what its layers are off.
func TestScalableStatsSigma(t *testing.T) {
	if testing.Short() {
		t.Skip("statistics: once is enough")
	}
	s := bloom.NewScalable(200_000, 1e-5)
	s.AddHashes(nil, hashes(900_000, 3))
	got := s.Stats()
	if got.PredictedSigma <= 0 || got.PredictedSigma > 0.03*got.Asked {
		t.Errorf("sigma %v of %v, asked for %v", got.PredictedSigma, got.Predicted, got.Asked)
	}
}
