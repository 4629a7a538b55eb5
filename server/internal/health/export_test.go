package health

import (
	"time"

	"github.com/bloomery/bloomery/server/internal/status"
)

// Latch is a latch, for its table.
type Latch struct{ l latch }

// Step evaluates a measure.
func (l *Latch) Step(measure float64) bool { return l.l.step(measure) }

// BucketOf and BucketEnd are the buckets of histograms.
var (
	BucketOf  = bucketOf
	BucketEnd = bucketEnd
)

// Buckets is how many there are.
const Buckets = buckets

// States returns how many filters have a state.
func (k *Keeper) States() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.states)
}

// Kept reports whether a filter has a state.
func (k *Keeper) Kept(id uint64) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.states[id] != nil
}

// ProbesOf returns how many probes of a filter there were.
func (k *Keeper) ProbesOf(id uint64) uint64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	if s := k.states[id]; s != nil {
		return s.probes
	}
	return 0
}

// Drained returns what a meter has counted of a kind of work, and its latency.
func (m *Meter) Drained(w Work) (calls, no uint64, l Latency) {
	var d drained
	m.drain(&d)
	if i := timing(w); i >= 0 && i < timed {
		l = d.took[i].latency()
	}
	return d.calls[w], d.no, l
}

// HistoryOf returns the points of a history to which n were added.
func HistoryOf(n int, at func(i int) Point) []Point {
	var h history
	for i := range n {
		h.add(at(i))
	}
	return h.all()
}

// LastOf returns the latest point of a history to which n were added.
func LastOf(n int, at func(i int) Point) (Point, bool) {
	var h history
	for i := range n {
		h.add(at(i))
	}
	return h.last()
}

// Pace returns the pace that points show, negative if it is not known.
func Pace(points []Point, now time.Time, items uint64) float64 {
	var h history
	for _, p := range points {
		h.add(p)
	}
	return h.pace(now, items)
}

// Evidence is what a filter is judged by besides a look.
type Evidence struct {
	Pace     float64 // items a second, negative if it is not known
	Filling  bool
	Has      Latency
	Sparse   time.Duration
	Gain     float64
	Advising [works]uint64 // calls; takes the place of Gain
}

// Measures returns the symptoms of a filter as multiples of their thresholds, in
// the order of the verdicts.
func Measures(l Look, v Evidence) []float64 {
	e := evidence{Look: l, pace: v.Pace, filling: v.Filling, sparse: v.Sparse, better: advice{gain: v.Gain}}
	e.latency[timing(Has)] = v.Has
	if v.Advising != [works]uint64{} {
		e.better = advise(&l, &v.Advising)
	}
	m := e.measures()
	return m[:]
}

// Ill reports whether one look shows a symptom.
func Ill(l Look) bool { return l.ill() }

// Cure returns the command against the symptom at a place of Measures, for a filter
// that is called key and may have the secret key id.
func Cure(l Look, at int, id string) string {
	e := evidence{Look: l, better: advice{kind: "ribbon"}}
	return Diagnosis{command: e.cure(symptom(at)), can: status.Abilities{Keys: someKeys{}}}.Command("key", func() string { return id })
}

// Watch compares a rate with a limit.
type Watch struct{ w watch }

// Add counts answers, and reports whether there is an alarm.
func (w *Watch) Add(yes, n int, limit float64) bool {
	w.w.add(yes, n, limit)
	return w.w.raised
}

// Surprise and RateLimit are what a Watch goes by.
func Surprise(yes, n int, p float64) float64 { return surprise(yes, n, p) }

// RateLimit returns the rate that a filter may have.
func RateLimit(l Look) float64 { return rateLimit(&l) }

// The bounds of anomalies.
const (
	SixSigmas  = sixSigmas
	WindowYes  = windowYes
	WindowMost = windowMost
	AimedSkew  = aimedSkew
)

// CanHave reports whether filters of a kind can get a verdict. Those that grow or
// drop old keys never get Resize.
func CanHave(kind string, v Verdict) bool {
	if v == OK {
		return true
	}
	can := traitsOf(kind).symptoms
	for s := range symptoms {
		if verdictOf[s] == v && can.has(s) {
			return true
		}
	}
	return false
}

// someKeys is a server with a secret key.
type someKeys struct{}

func (someKeys) KeyIDs() []string { return []string{"k1"} }
