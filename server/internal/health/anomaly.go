package health

// Anomalies: what is not as chance has it.

import (
	"math"
	"strings"
)

// Anomaly is what is not as chance has it: a set of reasons, empty if there is none.
type Anomaly uint8

// The reasons for an anomaly.
const (
	// ProbedHigh means that the rate that probes measure is 6 standard
	// deviations over the one asked for, in two successive windows.
	ProbedHigh Anomaly = 1 << iota
	// TrafficHigh is the same of the rate in the traffic of callers.
	TrafficHigh
	// Aimed means that keys are concentrated in blocks of the array.
	Aimed
)

var anomalyNames = []string{"probed", "traffic", "aimed"}

// String returns the names of the reasons with commas, "" if there is none.
func (a Anomaly) String() string {
	var names []string
	for i, name := range anomalyNames {
		if a>>i&1 != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, ",")
}

// reason puts an anomaly into words, of a filter that has no symptom.
func (a Anomaly) reason() string {
	switch {
	case a&ProbedHigh != 0:
		return "Random keys are answered yes more often than the rate asked for allows, by 6 standard deviations: see anomaly and probed."
	case a&TrafficHigh != 0:
		return "Callers have reported more false positives than the rate asked for allows, by 6 standard deviations: see anomaly and traffic."
	}
	return "Keys were aimed at one place: see anomaly and skew."
}

// When a filter is anomalous. docs/health.md computes from these how rare a false
// alarm is.
const (
	// sixSigmas is -log10 of the probability that a normal variable is more
	// than 6 standard deviations over its mean.
	sixSigmas = 9.0058
	// windowYes is how many positive answers a window expects at the limit,
	// windowLeast and windowMost how many answers it has at least and at most.
	windowYes   = 25
	windowLeast = 1024
	windowMost  = 1 << 20
	// aimedSkew is from which skew on keys are aimed. It is more than that of
	// the verdict, which costs a look and not the sleep of a person.
	aimedSkew = 12
	// luck and flatLuck are the standard deviation of the logarithm of a filter's
	// rate, times the root of its capacity, for each bit of the rate asked for:
	// random keys fill small arrays by luck, those with blocks more unevenly. They
	// were found by simulation, see TestLuck.
	luck     = 0.8
	flatLuck = 0.35
)

// rateLimit returns the rate that a filter filled at random has at most, but for an
// accident of 6 standard deviations. It is 0 if that is not known.
func rateLimit(l *Look) float64 {
	if l.Asked <= 0 || l.Asked >= 1 || l.Capacity == 0 {
		return 0
	}
	return rateMargin * l.Asked * math.Exp(6*l.luck())
}

// luck returns the standard deviation of the logarithm of the rate of a filter that is
// filled at random, 0 if it is not known.
func (l *Look) luck() float64 {
	if l.Asked <= 0 || l.Asked >= 1 || l.Capacity == 0 {
		return 0
	}
	sigma := -math.Log2(l.Asked) / math.Sqrt(float64(l.Capacity))
	if traitsOf(l.Kind).flat {
		sigma *= flatLuck
	} else {
		sigma *= luck
	}
	return sigma
}

// watch compares a rate with a limit, window by window. Two windows in a row that are
// over it raise an alarm, two that are not end it.
type watch struct {
	yes, n int  // of the window that is open
	last   bool // whether the window before was over the limit
	raised bool
	moved  bool // the filter has changed since the window was opened
}

// add counts answers, and closes the window if there are enough.
func (w *watch) add(yes, n int, limit float64) {
	if limit <= 0 || limit >= 1 {
		return
	}
	w.yes, w.n = w.yes+yes, w.n+n
	if w.n < windowLeast || w.n < windowMost && float64(w.n)*limit < windowYes {
		return
	}
	over := surprise(w.yes, w.n, limit) > sixSigmas
	if over == w.last {
		w.raised = over
	}
	w.yes, w.n, w.last, w.moved = 0, 0, over, false
}

// pending reports whether the next window decides: the last one was unlike those
// before it, or there is an alarm and the filter has changed.
func (w *watch) pending() bool { return w.last != w.raised || w.raised && w.moved }

// surprise returns -log10 of the probability that at least yes of n independent
// answers are positive if each is with probability p: at least that, since the terms
// of the tail fall faster than a geometric series.
func surprise(yes, n int, p float64) float64 {
	x, m := float64(yes), float64(n)
	if x <= m*p {
		return 0
	}
	ratio := (m - x) / (x + 1) * p / (1 - p)
	term := lgamma(m+1) - lgamma(x+1) - lgamma(m-x+1) + x*math.Log(p) + (m-x)*math.Log1p(-p)
	return max(0, (math.Log1p(-ratio)-term)/math.Ln10)
}

func lgamma(x float64) float64 {
	v, _ := math.Lgamma(x)
	return v
}

// anomalies is what is watched of one filter.
type anomalies struct {
	probed, traffic watch
	aimed           bool
	skew            float64 // the largest since aimed was set
	calm            float64 // how often the array was looked at since
}

// seenBits is how much of a part is looked at for its skew, seenParts how many parts.
const (
	seenBits  = 1 << 22
	seenParts = 16
	// seenAgain is how often the whole array is looked at, on average, before
	// keys that were aimed count as gone. A place is missed by all looks with
	// probability exp(-seenAgain).
	seenAgain = 5
)

// see takes a new look. One of a large array sees a part of it: keys that were aimed
// are there until they were not seen for long.
func (a *anomalies) see(l *Look) {
	switch {
	case l.Skew >= aimedSkew || a.aimed && l.Skew >= mostSkew:
		a.aimed, a.calm = true, 0
		a.skew = max(a.skew, l.Skew)
	case a.aimed:
		all := seenBits * float64(min(l.Parts, seenParts))
		a.calm += all / float64(max(l.Bits, 1))
		if a.calm >= seenAgain || all >= float64(l.Bits) {
			a.aimed, a.skew = false, 0
		}
	}
}

// found returns what is anomalous.
func (a *anomalies) found() (v Anomaly) {
	if a.probed.raised {
		v |= ProbedHigh
	}
	if a.traffic.raised {
		v |= TrafficHigh
	}
	if a.aimed {
		v |= Aimed
	}
	return v
}
