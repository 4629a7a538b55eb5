package sizing

import "math"

// Plans of the families beside Bloom filters, as rows of kinds use them.

// countingPlan writes to the bits of a key and, next to always, to two planes
// of its counters.
func countingPlan(n uint64, p float64) (plan, error) {
	c, err := CountingSize(n, p)
	return plan{c.Total(), 1, 3, c.K, c.Rate}, err
}

// spectralPlan reads and writes a counter for each bit of a key.
func spectralPlan(n uint64, p float64) (plan, error) {
	c, err := SpectralSize(n, p)
	return plan{c.Total(), 1, 1 + c.K, c.K, c.Rate}, err
}

// stablePlan is for counters of 2 bits: n keys are remembered, and the rate is
// that after any number of them.
func stablePlan(n uint64, p float64) (plan, error) {
	a, err := StableSize(n, p, stableWidth)
	return plan{a.Total(), 1, 1 + stableWidth, a.K, a.Rate}, err
}

// stableWidth is the width of counters that counting.NewStable takes.
const stableWidth = 2

// windowPlan is for a window of 6 generations: a lookup reads a block of each, and
// these are neighbours, of one line or half a line each.
func windowPlan(n uint64, p float64) (plan, error) {
	w, err := WindowSize(n, p, WindowGenerations, WindowBurst)
	rate := func(keys float64) float64 {
		each := keys / float64(w.Generations)
		return min(1, float64(w.Generations+1)*w.Shape.Rate(each))
	}
	lines := WindowGenerations + 1
	if w.Shape.Layout == Split {
		lines = (lines + 1) / 2
	}
	return plan{w.Bits(), lines, lines, w.Shape.K, rate}, err
}

// stripedPlan is for 64 stripes, each with room for its share of the keys and four
// standard deviations more, as compose.StripedConfig makes them.
func stripedPlan(n uint64, p float64) (plan, error) {
	const stripes = 64
	mean := float64(n) / stripes
	c, err := CuckooSize(uint64(math.Ceil(mean+4*math.Sqrt(mean))), p)
	rate := func(keys float64) float64 { return c.Rate(keys / stripes) }
	return plan{stripes * c.Bits(), 3, 3, 0, rate}, err
}

func cuckooPlan(n uint64, p float64) (plan, error) {
	c, err := CuckooSize(n, p)
	return plan{c.Bits(), 2, 2, 0, c.Rate}, err
}

// quotientPlan counts the bits at the start of a block and of the next, into
// which its runs may go on, and a run that lies over two lines.
func quotientPlan(n uint64, p float64) (plan, error) {
	q, err := QuotientSize(n, p)
	return plan{q.Bits(), 4, 4, 0, q.Rate}, err
}

// grownQuotient is a quotient filter that was made for first keys, with enough
// bits in its remainders that it keeps the rate with n keys.
func grownQuotient(first, n uint64, p float64) (plan, error) {
	q, err := QuotientSize(first, p*float64(first)/float64(n))
	if err != nil {
		return plan{}, err
	}
	q, err = q.Grown(n)
	return plan{q.Bits(), 4, 4, 0, q.Rate}, err
}

// growingPlan is for a growing filter that starts with n keys. It reads what a
// quotient filter reads, and where the segment is.
func growingPlan(n uint64, p float64) (plan, error) { return grownGrowing(n, n, p) }

// grownGrowing is a growing filter that was made for first keys and holds n.
func grownGrowing(first, n uint64, p float64) (plan, error) {
	g, err := GrowingSize(first, p, 0)
	if err != nil {
		return plan{}, err
	}
	size, _ := g.Grown(first, n)
	rate := func(keys float64) float64 {
		if keys <= 0 {
			return 0
		}
		_, r := g.Grown(first, uint64(min(keys, 1<<48)))
		return r
	}
	return plan{size, 5, 5, 0, rate}, nil
}

// fusePlan takes the narrowest fingerprints that reach the rate.
func fusePlan(n uint64, p float64) (plan, error) {
	f, err := FuseSize(n, p, 3)
	return plan{f.Bits(), 3, 0, 0, func(float64) float64 { return f.Rate() }}, err
}

// ribbonPlan counts the code of a key's bucket, and its row, which lies over two
// or three lines.
func ribbonPlan(n uint64, p float64) (plan, error) {
	r, err := RibbonSize(p, ribbonWidth)
	rate := func(float64) float64 { return r.Rate() }
	return plan{r.Bits(n), 4, 0, 0, rate}, err
}

// ribbonWidth is the width of rows that ribbon.Build takes.
const ribbonWidth = 64
