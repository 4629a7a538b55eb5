package sizing

import "math"

// standardRate returns E[(X/m)^k], where X is the number of set bits after n
// keys, that is after t = nk independent uniform throws at m bits.
//
// The mean f and the variance v of X/m are exact. Bits compete for the throws,
// so the variance is below that of m independent bits, but it is not nothing:
// the textbook's f^k leaves it out and is several percent too low in small
// filters. The k-th moment is that of the beta distribution with this mean and
// variance, which like X/m lives on [0, 1]:
//
//	product over i < k of (f + iu) / (1 + iu),   u = v / (f(1-f) - v)
//
// The tests hold it against the exact distribution of X.
func standardRate(n, m float64, k int) float64 {
	t := n * float64(k)
	logClear := t * math.Log1p(-1/m)
	unset := math.Exp(logClear)
	if unset == 0 || m == 1 {
		return 1
	}
	fill := -math.Expm1(logClear)
	u := fillSpread(t, m, unset, fill)
	rate := fill
	for i := 1; i < k; i++ {
		iu := float64(i) * u
		rate *= (fill + iu) / (1 + iu)
	}
	return min(rate, 1)
}

// fillSpread returns u = v / (f(1-f) - v) for the variance v of the share of
// set bits after t throws. The exact variance is
//
//	v = (1-1/m)(1-2/m)^t + (1-1/m)^t/m - (1-1/m)^2t
//
// written here such that nearly equal powers are not subtracted.
func fillSpread(t, m, unset, fill float64) float64 {
	bothClear := math.Exp(t * math.Log1p(-2/m))
	covariance := unset * unset * math.Expm1(t*math.Log1p(-1/((m-1)*(m-1))))
	v := covariance + (unset-bothClear)/m
	independent := fill * unset / m // what v would be without competition
	v = min(max(v, 0), independent)
	if v == 0 { // f may have underflowed to 0 as well
		return 0
	}
	return v / (fill*unset - v)
}
