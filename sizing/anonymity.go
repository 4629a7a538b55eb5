package sizing

import (
	"math"

	"github.com/bloomery/bloomery"
)

// Anonymity returns the false positive rate at which each of n keys in a published
// filter hides among k: whoever tries all keys of a universe of so many finds k
// times as many as were added. Errors wrap ErrParameter.
func Anonymity(n, universe uint64, k float64) (float64, error) {
	switch {
	case n < 1 || universe <= n:
		return 0, refuse("anonymity", bloomery.ErrParameter, "%d keys of a universe of %d: there must be at least 1, and others", n, universe)
	case !(k > 1) || math.IsInf(k, 1):
		return 0, refuse("anonymity", bloomery.ErrParameter, "anonymity %v is not more than 1", k)
	}
	p := float64(n) * (k - 1) / float64(universe-n)
	if p >= 1 {
		return 0, refuse("anonymity", bloomery.ErrParameter, "a universe of %d keys cannot hide each of %d among %v", universe, n, k)
	}
	return p, nil
}
