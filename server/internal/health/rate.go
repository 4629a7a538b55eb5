package health

// Rates from probes, in which old answers lose weight.

import (
	"math"

	"github.com/bloomery/bloomery/internal/measuring"
)

// forget is how fast old answers lose weight: a change of the predicted rate by
// one standard error of the estimate leaves exp(-forget) of it. The answers that
// are left then lag behind a steady change by 1/forget standard errors.
const forget = 2

// enoughYes is how many positive answers a filter that has exactly the rate asked
// for is expected to have given, before its measured rate means anything;
// enoughProbes takes its place where no rate was asked for.
const (
	enoughYes    = 5
	enoughProbes = 1024
)

// Rate is a measured false positive rate: counts of answers, which lose weight
// when the fill of the filter changes, and never by time. An idle filter keeps
// its figures; one that fills up forgets those of when it was emptier.
//
// The zero value is empty.
type Rate struct {
	yes, n    float64
	predicted float64 // at the latest Move
}

// Add counts n answers, yes of them positive.
func (r *Rate) Add(yes, n int) {
	r.yes += float64(yes)
	r.n += float64(n)
}

// Move notes the rate that the model of the layout predicts for the present fill.
// The distance to the prediction of before, in standard errors of the estimate,
// decides how much weight the answers lose: for filters whose rate is far below
// what so many answers can resolve, a change of fill changes nothing.
func (r *Rate) Move(predicted float64) {
	if math.IsNaN(predicted) {
		return
	}
	before := r.predicted
	r.predicted = predicted
	if r.n == 0 || predicted == before {
		return
	}
	q := max(predicted, before)
	distance := math.Abs(predicted-before) * r.n / math.Sqrt(r.n*q*(1-min(q, 1))+1)
	keep := math.Exp(-forget * distance)
	r.yes *= keep
	r.n *= keep
}

// Counts returns the effective counts: positive answers, and all.
func (r *Rate) Counts() (yes, n float64) { return r.yes, r.n }

// Value returns the estimate, 0 if there is none.
func (r *Rate) Value() float64 {
	if r.n == 0 {
		return 0
	}
	return r.yes / r.n
}

// Interval returns the 95% interval.
func (r *Rate) Interval() measuring.Interval {
	return measuring.Wilson(r.yes, r.n, measuring.Sigmas95)
}

// Enough reports whether there are enough answers to compare the rate with the one
// asked for, 0 if none was.
func (r *Rate) Enough(asked float64) bool {
	if asked > 0 {
		return r.n*asked >= enoughYes
	}
	return r.n >= enoughProbes
}

// spanSigmas is how far apart, in standard deviations, the measured rate and the
// one asked for must be before no more probes are needed to separate them. It is
// more than the 1.96 of the interval: whoever looks after every batch finds the
// true rate outside of that sooner or later.
const spanSigmas = 3

// Spans reports whether the rate asked for may be the rate of the filter, so that
// more probes are worth while.
func (r *Rate) Spans(asked float64) bool {
	return asked > 0 && measuring.Wilson(r.yes, r.n, spanSigmas).Holds(asked)
}
