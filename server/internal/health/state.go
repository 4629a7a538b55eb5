package health

// What is known of one filter.

import (
	"math"
	"time"
)

// pool is why a filter has a state.
type pool uint8

const (
	busy    pool = iota // one of the busiest
	large               // over 1 MiB
	suspect             // it was found ill, or somebody has asked
	pools
)

// class is how urgently a filter is to be probed.
type class uint8

// The classes, most urgent first.
const (
	fresh    class = iota // hardly probed at all
	changed               // written to since it was last probed
	spanning              // its interval has the rate asked for in it
	rest
	settled // more probes would show nothing new
	classes
)

// When a filter has been probed enough.
const (
	freshProbes  = 4 * Batch
	settledYes   = 100     // positive answers expected at the rate asked for
	spanningYes  = 10_000  // the same while the interval spans that rate
	settledMost  = 1 << 24 // probes in any case
	refreshShare = 0.005   // of the capacity: more may have come, so look again
	refreshAfter = time.Minute
	mostItems    = 256 // of a change: a record holds no more
)

// state is what is known of a filter. It belongs to the lock of its Keeper, but
// for the meter.
type state struct {
	id    uint64
	pool  pool
	meter *Meter

	look    Look
	looked  time.Time
	since   time.Time // when the state was made
	rate    Rate      // of probes
	traffic Rate      // of callers, by what they have reported
	probes  uint64
	probed  uint64 // the version at the latest probe
	odd     anomalies

	calls    [works]uint64
	lookups  uint64 // items that were looked up
	no       uint64 // negative answers
	falses   uint64 // positive ones that callers have denied
	reported uint64 // of falses: those in traffic
	repaired uint64
	clears   uint32              // of the meter, when these were begun
	took     [2][timed]histogram // of this point of the history, and of the one before
	waited   [2][timed]time.Duration
	latency  [timed]Latency // of both
	history  history

	latches   [len(lasting)]latch
	diagnosis Diagnosis
	evaluated int
	low       time.Time // since when the fill has been under 10%, zero if it is not
	better    advice

	due    time.Time // of the next evaluation
	asked  time.Time // when somebody last asked
	class  class
	queued [classes]bool
	gone   bool
}

// see takes a new look.
func (s *state) see(l Look, now time.Time) {
	if !s.looked.IsZero() && !sameShape(&l, &s.look) {
		// It was cured, or made anew: what was seen before is over.
		s.restart()
	}
	s.look, s.looked = l, now
	s.rate.Move(l.Predicted)
	s.traffic.Move(l.Predicted)
	s.odd.see(&l)
	switch {
	case l.Saturation >= sparseFill:
		s.low = time.Time{}
	case s.low.IsZero():
		s.low = now
	}
}

// restart forgets what was measured of other contents.
func (s *state) restart() {
	s.latches, s.evaluated, s.odd, s.rate, s.traffic = [len(lasting)]latch{}, 0, anomalies{}, Rate{}, Rate{}
}

// emptied starts again if the filter was emptied.
func (s *state) emptied() {
	if n := s.meter.clears.Load(); n != s.clears {
		s.clears, s.lookups, s.no, s.falses, s.reported = n, 0, 0, 0, 0
		s.restart()
	}
}

// sameShape reports whether nobody has changed a filter but by adding and removing
// items.
func sameShape(a, b *Look) bool {
	grown := a.Grows && b.Grows // a layer more is no cure
	return a.Kind == b.Kind && a.Budget == b.Budget && a.SLA == b.SLA && a.Asked == b.Asked &&
		(grown || a.Capacity == b.Capacity && a.Bits == b.Bits) && !(b.Items > 0 && a.Items == 0)
}

// answered counts the answers to probes.
func (s *state) answered(yes, n int) {
	s.rate.Add(yes, n)
	s.probes += uint64(n)
	s.odd.probed.add(yes, n, rateLimit(&s.look))
}

// stale reports whether the filter has changed so much, or so long ago, that it
// must be looked at again. A point of the history is of its own moment: one that
// lags behind would have items of a load that is over in the minutes after it.
func (s *state) stale(version uint64, now time.Time) bool {
	if version == s.look.Version {
		return false
	}
	items := float64(version-s.look.Version) * mostItems
	return items >= refreshShare*float64(s.look.Capacity) || now.Sub(s.looked) >= refreshAfter || s.pointDue(now)
}

// pointDue reports whether it is time for a point of the history.
func (s *state) pointDue(now time.Time) bool {
	p, ok := s.history.last()
	return !ok || now.Unix()-p.At >= int64(historyEvery/time.Second) || now.Unix() < p.At
}

// collect takes over what the meter has counted.
func (s *state) collect() {
	s.emptied()
	var d drained
	if s.meter.drain(&d) {
		for w := range d.calls {
			s.calls[w] += d.calls[w]
		}
		for i := range d.took {
			s.took[0][i].add(&d.took[i])
			s.waited[0][i] += d.waited[i]
		}
		s.lookups += d.asked
		s.no += d.no
		s.weigh()
	}
	falses := s.falses - s.reported
	s.reported = s.falses
	s.traffic.Add(int(falses), int(falses+d.no))
	s.odd.traffic.add(int(falses), int(falses+d.no), rateLimit(&s.look))
}

// weigh computes the latency over the last 5 to 10 minutes.
func (s *state) weigh() {
	for i := range s.latency {
		h := s.took[0][i]
		h.add(&s.took[1][i])
		s.latency[i] = h.latency()
		if n := s.latency[i].Calls; n > 0 {
			s.latency[i].Waited = (s.waited[0][i] + s.waited[1][i]) / time.Duration(n)
		}
	}
}

// evidence returns what the filter is judged by.
func (s *state) evidence(now time.Time) evidence {
	e := evidence{Look: s.look, latency: s.latency, better: s.better}
	e.Skew = max(e.Skew, s.odd.skew)
	if !s.low.IsZero() {
		e.sparse = now.Sub(s.low)
	}
	e.pace, e.filling = s.history.pace(now, s.look.Items), s.history.filling(s.look.Items, fullShare*float64(s.look.Capacity))
	return e
}

// evaluate judges the filter, whose version is known. The first evaluation decides at
// once, since there is no earlier verdict to hold on to; later ones go through the latches.
func (s *state) evaluate(version uint64, now time.Time) {
	s.collect()
	if s.pointDue(now) && version <= s.look.Version { // else a writer has it: the next evaluation looks again
		s.point(now)
	}
	e := s.evidence(now)
	m := e.measures()
	for i, v := range lasting {
		if s.evaluated == 0 {
			s.latches[i].on = m[v] > 1
		} else {
			s.latches[i].step(m[v])
		}
	}
	s.evaluated++
	s.conclude(&e)
}

// conclude puts the first symptom that is there into words: one that a single look shows
// if it is in this one, others if their latches are on.
func (s *state) conclude(e *evidence) {
	m := e.measures()
	for i, v := range lasting {
		m[v] = 0
		if s.latches[i].on && (v != fillingUp || e.pace > 0) { // without a pace there is no forecast
			m[v] = math.Inf(1)
		}
	}
	for i := range m {
		if m[i] > 1 {
			s.diagnosis = e.diagnose(symptom(i))
			return
		}
	}
	s.diagnosis = e.well()
	if odd := s.odd.found(); odd != 0 {
		s.diagnosis.Reason = odd.reason()
	}
}

// point adds a point to the history, and asks the model for a better kind.
func (s *state) point(now time.Time) {
	probed := float32(-1)
	if s.rate.Enough(s.look.Asked) {
		probed = float32(s.rate.Value())
	}
	micros := func(d time.Duration) float32 { return float32(d) / float32(time.Microsecond) }
	s.history.add(Point{
		At: now.Unix(), Items: s.look.Items, Saturation: float32(s.look.Saturation), Predicted: float32(s.look.Predicted), Probed: probed,
		AddP99: micros(s.latency[timing(Add)].P99), HasP99: micros(s.latency[timing(Has)].P99),
	})
	s.took[1], s.took[0] = s.took[0], [timed]histogram{}
	s.waited[1], s.waited[0] = s.waited[0], [timed]time.Duration{}
	s.weigh()
	s.better = advise(&s.look, &s.calls)
}

// classify returns how urgently the filter is to be probed, given its version.
func (s *state) classify(version uint64) class {
	_, n := s.rate.Counts()
	asked := s.look.Asked
	switch {
	case n < freshProbes:
		return fresh
	case version != s.probed:
		return changed
	case s.odd.probed.pending():
		return spanning
	case n >= settledMost:
		return settled
	case s.rate.Spans(asked) && n*asked < spanningYes:
		return spanning
	case asked > 0 && n*asked < settledYes || asked <= 0 && n < enoughProbes:
		return rest
	}
	return settled
}

// pinned is how much would be lost with the state: nothing, a verdict, or what
// callers have reported.
func (s *state) pinned() int {
	switch {
	case s.repaired > 0 || s.falses > 0:
		return 2
	case s.diagnosis.Verdict != OK || s.odd.found() != 0:
		return 1
	}
	return 0
}
