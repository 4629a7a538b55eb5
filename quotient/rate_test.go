package quotient_test

import (
	"testing"

	"github.com/bloomery/bloomery/hashing"
)

// At 1e-6 the suite would ask a billion times; 40 million times are enough to see a
// rate that is half too high.
func TestRareRate(t *testing.T) {
	if testing.Short() {
		t.Skip("40 million queries")
	}
	t.Parallel()
	const n, p, queries = 100_000, 1e-6, 40_000_000
	f := filled(t, hashes(n, 1), p)
	hasher := hashing.Seeded(2)
	hs, dst := make([]uint64, 4096), make([]bool, 4096)
	wrong := 0
	for first := uint64(0); first < queries; first += uint64(len(hs)) {
		for i := range hs {
			hs[i] = hasher.HashUint64(first + uint64(i))
		}
		f.ContainsHashes(dst, hs)
		for _, yes := range dst {
			if yes {
				wrong++
			}
		}
	}
	// 40 are expected, with a standard deviation of 6.3.
	if limit := 40 + 3*6.3; float64(wrong) > limit {
		t.Errorf("%d of %d queries are wrong, want at most %.0f", wrong, queries, limit)
	}
	if got := f.Stats().Predicted; got > p || got < p/2 {
		t.Errorf("Predicted = %g, asked for %g", got, p)
	}
}
