package health

// Reports and totals, as commands show them.

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/bloomery/bloomery/internal/measuring"
)

// Totals are figures of all filters together.
type Totals struct {
	// Filters is how many have a state, ByVerdict how many of them have each
	// verdict.
	Filters   int
	ByVerdict [verdicts]int
	// Anomalous is how many have an anomaly.
	Anomalous int
	// Probes is how many digests were asked for, Positives how many of them
	// were answered positively.
	Probes, Positives uint64
	// Busy is how often a filter was passed over because a writer had it.
	Busy uint64
	// Evaluations, Visits and Walks count evaluations of filters, visits of
	// filters without a state, and walks over all filters.
	Evaluations, Visits, Walks uint64
	// Spent is the time that all of that took, Over the time that has passed
	// meanwhile.
	Spent, Over time.Duration
	// False and Repaired are how many items FILTER.FALSE and FILTER.REPAIR
	// have counted, of filters that are gone too.
	False, Repaired uint64
}

// Share returns the share of a core that was used.
func (t Totals) Share() float64 {
	if t.Over <= 0 {
		return 0
	}
	return t.Spent.Seconds() / t.Over.Seconds()
}

// Totals returns the figures of all filters. It takes O(n) for n states.
func (k *Keeper) Totals() Totals {
	k.mu.Lock()
	defer k.mu.Unlock()
	t := k.totals
	t.Spent = k.account.spent
	if !k.account.since.IsZero() {
		t.Over = k.now().Sub(k.account.since)
	}
	t.False, t.Repaired = k.falses.Load(), k.repaired.Load()
	t.Filters = len(k.states)
	for _, s := range k.states {
		t.ByVerdict[s.diagnosis.Verdict]++
		if s.odd.found() != 0 {
			t.Anomalous++
		}
	}
	return t
}

// Report is everything that is known of a filter.
type Report struct {
	Look
	Diagnosis

	// Probed is the rate that probes have measured, Probes the number of
	// probes that it stands on after decay. Interval holds the rate with a
	// confidence of 95%. TooFew reports that there are too few of them to
	// compare it with the rate asked for.
	Probed   float64
	Probes   float64
	Interval measuring.Interval
	TooFew   bool

	// Lookups is how many items were looked up, Negatives how many of them were
	// answered no: what the filter has saved. False is how many of the others
	// callers have denied. Traffic is the share of the former in
	// both, decayed as Probed is, and Reports how many it stands on.
	Lookups          uint64
	False, Negatives uint64
	Traffic, Reports float64
	TrafficInterval  measuring.Interval
	TrafficTooFew    bool

	// Pace is how many items a second come, negative if they come at no steady
	// pace, or if it is not known.
	Pace float64

	// Add and Has are the latencies of calls, Calls their number by kind of
	// work.
	Add, Has Latency
	Calls    [works]uint64

	// Repaired is how many items had to be added because the filter denied
	// them though they were in it: it must be 0.
	Repaired uint64
	// Anomaly is what is not as chance has it.
	Anomaly Anomaly
	// Since is when measuring began.
	Since time.Time
}

// Saved returns the share of lookups that were answered no, NaN if there were none.
func (r *Report) Saved() float64 {
	if r.Lookups == 0 {
		return math.NaN()
	}
	return float64(r.Negatives) / float64(r.Lookups)
}

// OnDemand is how many batches a filter is asked for when somebody wants to see it
// and there are fewer.
const OnDemand = 16

// Report returns what is known of a filter. A filter without a state gets one, if
// there is room, and is probed on the spot. The methods of f may wait. It reports
// false if the filter is gone.
func (k *Keeper) Report(f Subject) (Report, bool) {
	l, ok := f.Look()
	if !ok {
		return Report{}, false
	}
	have, seed := k.evidenceOf(f.ID())
	yes, probes := 0, 0
	random := rand.New(rand.NewPCG(seed, f.ID()))
	for l.Layers <= mostLayers && have+float64(probes) < OnDemand*Batch {
		n, ok := f.Probe(random)
		if !ok {
			return Report{}, false
		}
		yes, probes = yes+n, probes+Batch
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.now()
	s := k.demand(f.ID(), now)
	if !s.gone && k.Meter(f.ID()) == nil { // whoever uses it next counts that here, not in a meter of its own
		k.cradle.put(f.ID(), s.meter)
	}
	s.see(l, now)
	s.answered(yes, probes)
	s.update(now)
	return s.report(now), true
}

// update judges a filter between two evaluations, by what was seen of it last.
func (s *state) update(now time.Time) {
	if s.evaluated == 0 {
		s.evaluate(s.look.Version, now)
		return
	}
	s.collect()
	e := s.evidence(now)
	s.conclude(&e)
}

// refresh looks at a filter that has a state and has changed. It reports whether it has
// a state.
func (k *Keeper) refresh(f Subject) bool {
	k.mu.Lock()
	s := k.states[f.ID()]
	if s == nil {
		k.mu.Unlock()
		return false
	}
	never, seen := s.looked.IsZero(), s.look.Version
	k.mu.Unlock()
	version, ok := f.Version()
	if ok && (never || version != seen) {
		if l, ok := f.Look(); ok {
			k.mu.Lock()
			s.see(l, k.now())
			k.mu.Unlock()
		}
	}
	return true
}

// Current returns what is known of a filter that has a state, as it is now: it is looked
// at if it has changed, unless a writer has it. It is not probed.
func (k *Keeper) Current(id uint64) (r Report, ok bool) {
	f := k.source.Subject(id)
	if f == nil || !k.refresh(f) {
		return r, false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	s := k.states[id]
	if s == nil || s.looked.IsZero() {
		return r, false
	}
	now := k.now()
	s.update(now)
	return s.report(now), true
}

// evidenceOf returns how many probes of a filter there are, and a seed.
func (k *Keeper) evidenceOf(id uint64) (n float64, seed uint64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if s := k.states[id]; s != nil {
		s.emptied()
		_, n = s.rate.Counts()
	}
	return n, k.random.Uint64()
}

// demand returns the state of a filter that somebody asks for: that which is kept,
// or a new one, which is kept if there is room.
func (k *Keeper) demand(id uint64, now time.Time) *state {
	s := k.states[id]
	if s == nil {
		s = k.keep(id, suspect, now)
	}
	if s == nil {
		s = &state{id: id, meter: new(Meter), since: now, gone: true}
	}
	s.emptied()
	s.asked = now
	if k.dirty && now.Sub(k.tabled) >= rebuildEvery {
		k.publish(now)
	}
	return s
}

func (s *state) report(now time.Time) Report {
	_, n := s.rate.Counts()
	_, reports := s.traffic.Counts()
	return Report{
		Look: s.look, Diagnosis: s.diagnosis,
		Probed: s.rate.Value(), Probes: n, Interval: s.rate.Interval(), TooFew: !s.rate.Enough(s.look.Asked),
		Lookups: s.lookups, False: s.falses, Negatives: s.no, Traffic: s.traffic.Value(), Reports: reports, TrafficInterval: s.traffic.Interval(),
		TrafficTooFew: !s.traffic.Enough(s.look.Asked), Pace: s.history.pace(now, s.look.Items),
		Add: s.latency[timing(Add)], Has: s.latency[timing(Has)], Calls: s.calls,
		Repaired: s.repaired, Anomaly: s.odd.found(), Since: s.since,
	}
}

// Sums are figures of several filters.
type Sums struct {
	Filters                int
	Items, Capacity, Bytes uint64
}

// count adds a filter. What could be any number of items counts as none.
func (s *Sums) count(l *Look) {
	s.Filters++
	if l.Items != math.MaxUint64 {
		s.Items += l.Items
	}
	s.Capacity += l.Capacity
	s.Bytes += l.Bytes
}

// Reports passes what is known of every filter that has a state and was looked at to
// visit, which must not use the Keeper nor keep the report. Only filters that were never
// looked at are asked for anything. It returns sums of those that have no state, as the
// last walk over all filters has seen them.
func (k *Keeper) Reports(visit func(id uint64, r *Report)) (rest Sums) {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.now()
	k.births.take(func(id uint64) { k.visit(k.source.Subject(id), now) })
	for id, s := range k.states {
		if s.looked.IsZero() {
			if f := k.source.Subject(id); f != nil {
				if l, ok := f.Look(); ok {
					s.see(l, now)
					s.update(now)
				}
			}
		}
		if !s.looked.IsZero() {
			r := s.report(now)
			visit(id, &r)
		}
	}
	return k.rest
}

// Known returns the diagnosis and the kind of a filter that has a state, as it is now.
func (k *Keeper) Known(f Subject) (d Diagnosis, kind string, ok bool) {
	if !k.refresh(f) {
		return d, "", false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	s := k.states[f.ID()]
	if s == nil || s.looked.IsZero() {
		return d, "", false
	}
	s.update(k.now())
	return s.diagnosis, s.look.Kind, true
}

// Judge returns the diagnosis of a filter that has no state, by a single look, and
// makes none. The methods of f may wait. It reports false if the filter is gone.
func (k *Keeper) Judge(f Subject) (d Diagnosis, kind string, ok bool) {
	l, ok := f.Look()
	if !ok {
		return Diagnosis{}, "", false
	}
	return l.judge(), l.Kind, true
}

// Peek returns what is known of a filter, without probing it and without a state for
// one that has none: of that the measurements are empty, and the verdict is that of a
// single look. The methods of f may wait. It reports false if the filter is gone.
func (k *Keeper) Peek(f Subject) (Report, bool) {
	l, ok := f.Look()
	if !ok {
		return Report{}, false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if s := k.states[f.ID()]; s != nil {
		now := k.now()
		s.see(l, now)
		s.update(now)
		return s.report(now), true
	}
	var none Rate
	return Report{Look: l, Diagnosis: l.judge(), Interval: none.Interval(), TrafficInterval: none.Interval(), TooFew: true, TrafficTooFew: true, Pace: noPace}, true
}

// History returns the points of a filter, oldest first: one every 5 minutes of the
// last 24 hours, as far as it has a state.
func (k *Keeper) History(id uint64) []Point {
	k.mu.Lock()
	defer k.mu.Unlock()
	if s := k.states[id]; s != nil {
		return s.history.all()
	}
	return nil
}

// False counts n items that a filter has and the caller's exact store does not.
func (k *Keeper) False(id uint64, n int) {
	k.falses.Add(uint64(n))
	k.mu.Lock()
	defer k.mu.Unlock()
	k.demand(id, k.now()).falses += uint64(n)
}

// Repaired counts n items that a filter had lost.
func (k *Keeper) Repaired(id uint64, n int) {
	k.repaired.Add(uint64(n))
	k.mu.Lock()
	defer k.mu.Unlock()
	k.demand(id, k.now()).repaired += uint64(n)
}
