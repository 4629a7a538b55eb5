package filtertest

import (
	"fmt"
	"math"
	"testing"
)

// forgets sends many times more keys through filters than they remember: the
// last n are there, those before are as good as absent keys, and these are
// answered with yes at the rate asked for and predicted.
func forgets(t *testing.T, k Kind) {
	for _, p := range k.Rates {
		for _, n := range []int{100, 1000, 50_000} {
			if p < 1e-2 && (testing.Short() || n < 50_000) || p < 1e-4 {
				continue // few positives would show little
			}
			t.Run(fmt.Sprintf("p=%g/n=%d", p, n), func(t *testing.T) {
				t.Parallel()
				const rounds = 6 // then all of the first are gone
				var old, absent, predicted float64
				filters := 50_000 / n
				for i := range uint64(filters) {
					hs := hashes(rounds*n, 60+i)
					f := k.must(t, hs, n, p)
					if got := missing(f, hs[len(hs)-n:]); got > 0 {
						t.Fatalf("%d of the last %d keys are forgotten", got, n)
					}
					old += float64(2*n - missing(f, hs[:2*n]))
					none := hashes(4*n, 1<<20+i)
					absent += float64(4*n - missing(f, none))
					predicted += f.Stats().Predicted / float64(filters)
				}
				old, absent = old/2/50_000, absent/4/50_000
				// The counting error, and that of the fill: the rates of
				// filters of 100 keys differ by a third.
				sigma := func(queries float64) float64 {
					return math.Hypot(math.Sqrt(p/queries), p*3/math.Sqrt(50_000))
				}
				if limit := p + 3*sigma(1e5); old > limit {
					t.Errorf("share of old keys still there = %.4g, want at most %.4g", old, limit)
				}
				if limit := p + 3*sigma(2e5); absent > limit {
					t.Errorf("rate after %d times as many keys = %.4g, want at most %.4g", rounds, absent, limit)
				}
				if off := math.Abs(absent - predicted); off > 4*sigma(2e5) {
					t.Errorf("rate = %.4g, predicted %.4g: they differ by more than 4 sigma (%.2g)", absent, predicted, sigma(2e5))
				}
			})
		}
	}
}
