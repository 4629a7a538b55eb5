package sizing_test

import (
	"errors"
	"math"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/sizing"
)

func TestAnonymity(t *testing.T) {
	p, err := sizing.Anonymity(100, 1e8, 20)
	if err != nil || math.Abs(p-1900/(1e8-100)) > 1e-18 {
		t.Fatalf("Anonymity = %v, %v", p, err)
	}
	// All positives over the keys that were added.
	if got := (100 + p*(1e8-100)) / 100; math.Abs(got-20) > 1e-9 {
		t.Errorf("each key hides among %v, want 20", got)
	}
	for _, c := range []struct {
		n, universe uint64
		k           float64
	}{{0, 100, 2}, {100, 100, 2}, {100, 50, 2}, {10, 100, 1}, {10, 100, 0}, {10, 100, math.NaN()}, {10, 100, math.Inf(1)}, {10, 100, 20}} {
		if p, err := sizing.Anonymity(c.n, c.universe, c.k); !errors.Is(err, bloomery.ErrParameter) {
			t.Errorf("Anonymity(%+v) = %v, %v, want ErrParameter", c, p, err)
		}
	}
}
