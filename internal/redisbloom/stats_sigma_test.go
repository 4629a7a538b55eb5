package redisbloom_test

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/bloomery/bloomery/internal/redisbloom"
)

// TestPredictedSigma compares the rate predicted from a sample of a large BF with
// that of all its bits: they differ by four standard deviations at most. A small BF
// is read whole.
func TestPredictedSigma(t *testing.T) {
	for _, c := range []struct {
		n       int
		sampled bool
	}{{1000, false}, {400_000, true}} {
		b, err := redisbloom.NewBloom(redisbloom.BloomParams{Capacity: uint64(c.n), ErrorRate: 0.01, NonScaling: true})
		if err != nil {
			t.Fatal(err)
		}
		var key [8]byte
		for i := range c.n {
			binary.LittleEndian.PutUint64(key[:], uint64(i))
			if _, err := b.Add(key[:]); err != nil {
				t.Fatal(err)
			}
		}
		s := b.Stats()
		if (s.PredictedSigma > 0) != c.sampled {
			t.Errorf("%d items: sigma %v, sampled %v", c.n, s.PredictedSigma, c.sampled)
		}
		ones, bits := 0, 0
		for a := range b.Arrays() {
			for _, v := range a {
				for ; v != 0; v &= v - 1 {
					ones++
				}
			}
			bits += 8 * len(a)
		}
		all := math.Pow(float64(ones)/float64(bits), float64(b.Layer(0).Hashes))
		if d := math.Abs(s.Predicted - all); c.sampled && (d > 4*s.PredictedSigma || s.PredictedSigma > 0.02*all) {
			t.Errorf("%d items: predicted %v ± %v, and it is %v", c.n, s.Predicted, s.PredictedSigma, all)
		}
	}
}

// TestStatsOfFewItems asks that a rate far below the precision of 1-p is not 0.
func TestStatsOfFewItems(t *testing.T) {
	b, err := redisbloom.NewBloom(redisbloom.BloomParams{ErrorRate: 0.01, Capacity: 1000})
	if err != nil {
		t.Fatal(err)
	}
	if s := b.Stats(); s.Predicted != 0 || math.Signbit(s.Predicted) {
		t.Errorf("empty: predicted %g, want 0", s.Predicted)
	}
	if _, err := b.Add([]byte("alice")); err != nil {
		t.Fatal(err)
	}
	if s := b.Stats(); s.Predicted <= 0 || s.Predicted > 1e-12 {
		t.Errorf("one item: predicted %g, want a little more than 0", s.Predicted)
	}
}
