package sizing

import (
	"math"

	"github.com/bloomery/bloomery"
)

// ExactRate returns the rate of the first stage of a filter without errors on a known
// universe: that of the ribbon filter over the keys that are in. It is 1 if the filter
// is better without that stage. p is the highest rate for keys that are neither in nor
// out, 0 for any.
//
// in·r + out·2^-r bits are least where r is a whole number: rates between take a mix of
// the two beside them, and the least of a line is one of its ends. A key that is
// neither in nor out passes the second stage in half of cases.
func ExactRate(in, out uint64, p float64) float64 {
	best, least := 0, float64(out)
	for r := 1; r <= MaxRibbonColumns; r++ {
		if bits := float64(in)*float64(r) + math.Ldexp(float64(out), -r); bits < least {
			best, least = r, bits
		}
	}
	rate := math.Ldexp(1, -best)
	if p > 0 {
		rate = min(rate, 2*p)
	}
	return rate
}

// ExactBits returns about how many bits such a filter takes with rows of the given
// width, 64 or 128. Errors wrap ErrParameter: p is not 0, nor between 2^-32 and 1.
func ExactBits(in, out uint64, p float64, width int) (uint64, error) {
	if p != 0 && !(p >= MinRibbonRate && p < 1) {
		return 0, refuse("exact", bloomery.ErrParameter, "error rate %v is not between 2^-%d and 1", p, MaxRibbonColumns)
	}
	rate := ExactRate(in, out, p)
	second := Ribbon{Width: width, Columns: 1}
	if in == 0 || out == 0 && p == 0 {
		return 0, nil // all keys are answered alike
	}
	if rate >= 1 {
		return second.Bits(in + out), nil
	}
	first, err := RibbonSize(rate, width)
	if err != nil {
		return 0, err
	}
	return first.Bits(in) + second.Bits(in+uint64(rate*float64(out))), nil
}

// exactPlan plans a filter without errors on a universe.
func exactPlan(q Needs) (plan, error) {
	bits, err := ExactBits(q.Capacity, q.Universe-q.Capacity, 0, 128)
	return plan{bits, 8, 0, 0, func(float64) float64 { return 0 }}, err
}

// mapPlan plans a map: a ribbon with the columns of values.
func mapPlan(q Needs) (plan, error) {
	r, err := RibbonSize(q.ErrorRate, ribbonWidth)
	if err != nil {
		return plan{}, err
	}
	rate := r.Rate()
	if r.Columns += q.ValueBits; r.Columns > MaxRibbonColumns || r.Columns == MaxRibbonColumns && r.Share > 0 {
		return plan{}, refuse("map", bloomery.ErrParameter, "values of %d bits leave no room for so low a rate", q.ValueBits)
	}
	return plan{r.Bits(q.Capacity), 4, 0, 0, func(float64) float64 { return rate }}, nil
}
