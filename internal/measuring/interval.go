package measuring

import "math"

// Sigmas95 is how many standard deviations on each side hold 95% of a normal distribution.
const Sigmas95 = 1.959963984540054

// Interval is a range that holds a rate with some confidence.
type Interval struct{ Low, High float64 }

// Wilson returns the score interval of a binomial proportion (E. B. Wilson, 1927): yes
// positive answers of n, and so many standard deviations on each side. The counts may be
// fractions, as decayed counts are. Without any count it is the whole of 0 to 1.
func Wilson(yes, n, sigmas float64) Interval {
	if n <= 0 {
		return Interval{0, 1}
	}
	p, z := yes/n, sigmas
	mid := (p + z*z/(2*n)) / (1 + z*z/n)
	half := z / (1 + z*z/n) * math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	v := Interval{max(mid-half, 0), min(mid+half, 1)}
	// At the ends the bounds are exact, and rounding must not move them.
	if yes <= 0 {
		v.Low = 0
	}
	if yes >= n {
		v.High = 1
	}
	return v
}

// Holds reports whether p is in the interval.
func (v Interval) Holds(p float64) bool { return v.Low <= p && p <= v.High }
