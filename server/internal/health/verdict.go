package health

// Verdict: what a filter needs.

import (
	"math"
	"time"
)

// Verdict is what a filter needs.
type Verdict uint8

// The verdicts, in the order in which they are looked for.
const (
	OK       Verdict = iota
	Rebuild          // its false positive rate is over the one asked for
	Resize           // it is nearly full, or soon will be
	Optimize         // it is too slow, or another kind is much better
	Compress         // it takes more memory than it should
	verdicts
)

var verdictNames = [verdicts]string{"OK", "Rebuild", "Resize", "Optimize", "Compress"}

// String returns the name of the verdict.
func (v Verdict) String() string { return verdictNames[v] }

// Verdicts returns all verdicts, OK first.
func Verdicts() []Verdict { return []Verdict{OK, Rebuild, Resize, Optimize, Compress} }

// symptom is a reason for a verdict.
type symptom uint8

// The symptoms, in the order in which they are looked for.
const (
	overRate   symptom = iota // Rebuild: predicted − 3σ > 1.02 × asked × what luck explains
	skewed                    // Rebuild with another key: keys are aimed at one place
	deleted                   // Rebuild: 30% of its items are reported as deleted
	outgrown                  // Resize: more items than its capacity, or over 90% of it and still filling
	fillingUp                 // Resize: will be full within 24 hours
	slow                      // Optimize: p99 over the SLA
	wrongKind                 // Optimize: another kind halves time or space
	overBudget                // Compress: bytes over the budget
	sparse                    // Compress: fill under 10% for a day
	symptoms
)

var verdictOf = [symptoms]Verdict{Rebuild, Rebuild, Rebuild, Resize, Resize, Optimize, Optimize, Compress, Compress}

// The thresholds.
const (
	rateMargin  = 1.02 // of the rate asked for
	rateSigmas  = 3
	mostSkew    = 6 // see bloomery.Stats.Skew
	goneShare   = 0.3
	fullShare   = 0.9
	fullSigmas  = 3 // of items that are counted by their bits
	fullWithin  = 24 * time.Hour
	leastTimed  = 1000    // calls in a histogram before its p99 is judged
	leastCalls  = 100_000 // before another kind is advised
	halved      = 2
	sparseFill  = 0.1
	sparseFor   = 24 * time.Hour
	sparseLeast = 4096 // bytes: what is smaller cannot usefully be made smaller
)

// evidence is what a filter is judged by.
type evidence struct {
	Look
	pace    float64 // see Report
	latency [timed]Latency
	filling bool          // see history.filling
	sparse  time.Duration // for how long the fill has been under 10%
	better  advice
}

// measures returns every symptom as a multiple of its threshold: over 1 is beyond
// it. A kind that cannot have a symptom, or a filter of which too little is known,
// has 0.
func (e *evidence) measures() (m [symptoms]float64) {
	can := traitsOf(e.Kind).symptoms
	for s := range symptoms {
		if can.has(s) && !(e.Grows && verdictOf[s] == Resize) {
			m[s] = e.measure(s)
		}
	}
	return m
}

func (e *evidence) measure(s symptom) float64 {
	switch s {
	case overRate:
		if e.Asked <= 0 {
			return 0
		}
		return (e.Predicted - rateSigmas*e.PredictedSigma) / e.allowed()
	case skewed:
		return e.Skew / mostSkew
	case deleted:
		return share(float64(e.Gone), goneShare*float64(e.Items)) * (1 + 1e-9) // 30% are enough
	case outgrown:
		if e.filling {
			return share(float64(e.Items), fullShare*float64(e.Capacity))
		}
		return share(float64(e.Items), e.full())
	case fillingUp:
		left := float64(e.Capacity) - float64(e.Items)
		if e.pace <= 0 || left <= 0 {
			return 0
		}
		return e.pace * fullWithin.Seconds() / left
	case slow:
		return e.slowness()
	case wrongKind:
		return e.better.gain / halved * (1 + 1e-9) // to halve is enough
	case overBudget:
		return share(float64(e.Bytes), float64(e.Budget))
	default:
		return e.sparseness()
	}
}

// allowed returns the rate up to which a filter keeps the one asked for. The luck of the
// fill is allowed to one that holds no more items than it was made for.
func (e *evidence) allowed() float64 {
	if e.Items > e.Capacity {
		return rateMargin * e.Asked
	}
	return rateMargin * e.Asked * math.Exp(rateSigmas*e.luck())
}

// full returns how many items a filter may seem to hold that has its capacity in it.
func (e *evidence) full() float64 {
	n := float64(e.Capacity)
	if !e.Exact {
		n = rateMargin*n + fullSigmas*math.Sqrt(n)
	}
	return n
}

// share returns a/b, 0 if b is not known.
func share(a, b float64) float64 {
	if b <= 0 {
		return 0
	}
	return a / b
}

func (e *evidence) slowness() (most float64) {
	if e.SLA <= 0 {
		return 0
	}
	for _, l := range e.latency {
		if l.Calls >= leastTimed {
			most = max(most, float64(l.P99)/float64(e.SLA))
		}
	}
	return most
}

// sparseness is over 1 only when the fill has been low for a day. Until then it is
// at most 1, which ends nothing and begins nothing.
func (e *evidence) sparseness() float64 {
	if e.Bytes < sparseLeast {
		return 0
	}
	m := math.Inf(1)
	if e.Saturation > 0 {
		m = sparseFill / e.Saturation
	}
	if e.sparse < sparseFor {
		return min(m, 1)
	}
	return m
}

// atOnce are the symptoms that a single look shows, lasting those that have to be there
// for several.
var (
	atOnce  = setOf(overRate, skewed, deleted, outgrown, overBudget)
	lasting = [...]symptom{fillingUp, slow, wrongKind, sparse}
)

// ill reports whether a filter that is looked at once has a symptom.
func (l Look) ill() bool { return l.judge().Verdict != OK }

// judge returns the diagnosis of a filter that is looked at once.
func (l Look) judge() Diagnosis {
	e := evidence{Look: l}
	m := e.measures()
	for s := range symptoms {
		if atOnce.has(s) && m[s] > 1 {
			return e.diagnose(s)
		}
	}
	return e.well()
}
