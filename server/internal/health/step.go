package health

// How the Keeper divides its time.

import (
	"context"
	"runtime"
	"slices"
	"time"
)

// How Step divides its time.
const (
	// quantum is how long a step works, and leastWait how long it waits at least
	// before the next. wakeUp is what it costs to begin one, in the timer, the
	// scheduler and the threads that look for work: at ten steps a second the
	// processor time of a whole server was 0.08% of a core over the account.
	quantum   = 500 * time.Microsecond
	leastWait = 100 * time.Millisecond
	wakeUp    = 80 * time.Microsecond
	// walkEvery is the time between the end of a walk and the next one when
	// all filters have a state.
	walkEvery = 10 * time.Second
	// rebuildEvery is how often meters are made known to the paths of commands.
	rebuildEvery = time.Second
)

// Run works until ctx ends. It sleeps while there are no filters.
func (k *Keeper) Run(ctx context.Context) {
	// Config.Work may read the processor time of the thread.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for ctx.Err() == nil {
		p := k.Step()
		if p.Owed > 0 {
			timer.Reset(p.Owed)
			select {
			case <-ctx.Done():
				return
			case <-timer.C:
			}
		}
		k.sleep(ctx, timer, p)
	}
}

// sleep waits until there may be something to do.
func (k *Keeper) sleep(ctx context.Context, timer *time.Timer, p Pause) {
	defer k.sleeps.Store(awake)
	end := timer.C
	switch {
	case p.Idle:
		end = nil
		k.sleeps.Store(sleepsIdle)
		if k.source.Len() > 0 {
			return // a filter was made before that was known
		}
	case p.Spare > 0:
		timer.Reset(p.Spare)
		k.sleeps.Store(sleepsSpare)
		if k.births.some.Load() {
			return
		}
	default:
		return
	}
	select {
	case <-ctx.Done():
	case <-end:
	case <-k.wake:
	}
}

// Pause is how long to wait after a step.
type Pause struct {
	// Owed is the wait after which all steps have taken no more than the share
	// of a core.
	Owed time.Duration
	// Spare is for how long there is nothing to do behind that, unless a filter
	// is made.
	Spare time.Duration
	// Idle reports that there are no filters: there is nothing to do until one
	// is made.
	Idle bool
}

// Step works for about 500 microseconds and returns how long to wait before the
// next step.
func (k *Keeper) Step() Pause {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.source.Len() == 0 {
		k.clear()
		return Pause{Idle: true}
	}
	began, now := k.work(), k.now()
	if k.account.since.IsZero() {
		k.account.since = now
	}
	k.births.take(func(id uint64) { k.visit(k.source.Subject(id), now) })
	if now.Sub(k.ticked) >= Every || now.Before(k.ticked) {
		k.tick(now)
	}
	more := true
	for more && k.work()-began < quantum {
		more = k.once(now, k.account.spent+k.work()-began)
	}
	if k.dirty && now.Sub(k.tabled) >= rebuildEvery {
		k.publish(now)
	}
	k.account.charge(k.work() - began + wakeUp)
	p := Pause{Owed: max(k.account.settle(), leastWait)}
	if !more {
		p.Spare = max(k.untilDue(now)-p.Owed, 0)
	}
	return p
}

// untilDue returns for how long nothing needs to be done: until the next
// evaluation, walk or tick.
func (k *Keeper) untilDue(now time.Time) time.Duration {
	wait := min(k.walked.Add(walkEvery).Sub(now), k.ticked.Add(Every).Sub(now))
	if s := k.evals.first(); s != nil {
		wait = min(wait, s.due.Sub(now))
	}
	if k.dirty {
		wait = min(wait, rebuildEvery)
	}
	return min(max(wait, 0), Every)
}

// clear forgets all filters: there are none any more.
func (k *Keeper) clear() {
	if len(k.states) == 0 && len(k.heat) == 0 {
		return
	}
	for _, s := range k.states {
		s.gone = true
	}
	clear(k.states)
	clear(k.ill)
	clear(k.heat)
	k.pools = [pools]int{}
	k.evals = queue{}
	k.queues = [classes]queue{}
	k.cursor = 0
	k.rest, k.passing = Sums{}, Sums{}
	k.publish(k.now())
}

// publish makes the meters of all states known to the paths of commands.
func (k *Keeper) publish(now time.Time) {
	k.table.Store(newTable(k.states))
	k.roomy.Store(k.pools[busy] < Busiest)
	k.dirty, k.tabled = false, now
}

// once does one piece of work: an evaluation that is due, a probe, or a step of
// the walk. It reports false if there is nothing to do. Evaluations come first, as
// long as they take no more than half of all the time spent.
func (k *Keeper) once(now time.Time, spent time.Duration) bool {
	if 2*k.judging > spent && k.probeNext(now) {
		return true
	}
	began := k.work()
	judged := k.evaluateDue(now)
	k.judging += k.work() - began
	return judged || k.probeNext(now)
}

// evaluateDue evaluates the filter whose turn it is. It reports false if none is
// due.
func (k *Keeper) evaluateDue(now time.Time) bool {
	s := k.evals.first()
	if s == nil || !s.gone && now.Before(s.due) && s.due.Sub(now) <= Every {
		return false
	}
	k.evals.pop()
	if s.gone {
		return true
	}
	f := k.source.Subject(s.id)
	if f == nil {
		k.drop(s)
		return true
	}
	k.evals.push(s)
	s.due = now.Add(Every)
	version, ok := f.Version()
	if !ok {
		k.totals.Busy++
		return true
	}
	if s.looked.IsZero() || s.stale(version, now) {
		if l, ok := f.Look(); ok {
			s.see(l, now)
		} else {
			k.totals.Busy++
		}
	}
	if s.looked.IsZero() {
		return true
	}
	if s.pool != large && s.look.Bytes > Large {
		k.pools[s.pool]--
		delete(k.ill, s.id)
		s.pool = large
		k.pools[large]++
	}
	s.evaluate(version, now)
	k.totals.Evaluations++
	s.class = s.classify(version)
	k.enqueue(s)
	return true
}

// turns are the orders in which classes and the walk are tried. What changed and
// what spans its rate come first; the others have every fourth turn.
var turns = [4][]class{
	{fresh, changed, spanning, walking, rest},
	{fresh, spanning, changed, walking, rest},
	{fresh, walking, changed, spanning, rest},
	{fresh, rest, walking, changed, spanning},
}

// walking stands for the walk among the classes.
const walking = classes

// probeNext probes the filter that needs it most. It reports false if none does.
func (k *Keeper) probeNext(now time.Time) bool {
	k.turn++
	for _, c := range turns[k.turn%len(turns)] {
		if c == walking {
			if k.walk(now) {
				return true
			}
			continue
		}
		for s := k.queues[c].pop(); s != nil; s = k.queues[c].pop() {
			s.queued[c] = false
			if !s.gone && s.class == c {
				k.probe(s, now)
				return true
			}
		}
	}
	return false
}

// probe asks a filter for one batch.
func (k *Keeper) probe(s *state, now time.Time) {
	f := k.source.Subject(s.id)
	if f == nil {
		k.drop(s)
		return
	}
	version, ok := f.Version()
	if ok && (s.looked.IsZero() || s.stale(version, now)) {
		l, seen := f.Look()
		if ok = seen; ok {
			s.see(l, now)
		}
	}
	if ok && s.look.Layers > mostLayers {
		s.class = settled
		return
	}
	yes := 0
	if ok {
		yes, ok = f.Probe(k.random)
	}
	if !ok {
		k.totals.Busy++
		// Its next evaluation queues it again: a filter that a writer holds is
		// not asked over and over.
		s.class = settled
		return
	}
	s.odd.probed.moved = s.odd.probed.moved || version != s.probed
	s.answered(yes, Batch)
	s.probed = version
	k.totals.Probes += Batch
	k.totals.Positives += uint64(yes)
	s.class = s.classify(version)
	k.enqueue(s)
}

// walk visits the next filters. It reports false if it is not time for that.
func (k *Keeper) walk(now time.Time) bool {
	if k.cursor == 0 && !k.walked.IsZero() && now.Sub(k.walked) < walkEvery && !now.Before(k.walked) {
		return false
	}
	var few []Subject
	k.cursor = k.source.Walk(k.cursor, func(f Subject) { few = append(few, f) })
	for _, f := range few {
		if l, ok := k.visit(f, now); ok {
			k.passing.count(&l)
		}
	}
	if k.cursor == 0 {
		k.walked = now
		k.totals.Walks++
		k.rest, k.passing = k.passing, Sums{}
	}
	return true
}

// visit gives a filter a state if there is room for one, or if it is large or ill.
// One that has none is looked at and asked for a batch all the same: the look is
// returned.
func (k *Keeper) visit(f Subject, now time.Time) (l Look, without bool) {
	if f == nil || k.states[f.ID()] != nil {
		return l, false
	}
	bytes, ok := f.Bytes()
	if !ok {
		k.totals.Busy++
		return l, false
	}
	k.totals.Visits++
	if bytes > Large {
		k.keep(f.ID(), large, now)
		return l, false
	}
	if k.keep(f.ID(), busy, now) != nil {
		return l, false
	}
	if l, ok = f.Look(); !ok {
		return l, false
	}
	if l.ill() && k.keep(f.ID(), suspect, now) != nil {
		return l, false
	}
	if l.Layers > mostLayers {
		return l, true
	}
	if yes, ok := f.Probe(k.random); ok {
		k.totals.Probes += Batch
		k.totals.Positives += uint64(yes)
	}
	return l, true
}

// How the busiest filters are found.
const (
	cooling   = 0.9  // what is left of the heat after 10 seconds
	coldest   = 0.01 // what is colder is forgotten
	mostHeat  = 8192 // filters whose heat is known
	muchWorse = 2    // how many times as hot a filter must be to take a place
)

// tick finds the busiest filters.
func (k *Keeper) tick(now time.Time) {
	k.ticked = now
	for id, h := range k.heat {
		if h *= cooling; h < coldest {
			delete(k.heat, id)
		} else {
			k.heat[id] = h
		}
	}
	for i := range k.rings {
		k.rings[i].take(func(id uint64) {
			if _, known := k.heat[id]; known || len(k.heat) < mostHeat {
				k.heat[id]++
			}
		})
	}
	k.admit(now)
}

// admit gives busy filters the places of idle ones.
func (k *Keeper) admit(now time.Time) {
	var hot []uint64
	for id := range k.heat {
		if s := k.states[id]; s == nil {
			hot = append(hot, id)
		}
	}
	if len(hot) == 0 {
		return
	}
	hotter := func(a, b uint64) int {
		switch x, y := k.heat[a], k.heat[b]; {
		case x > y:
			return -1
		case x < y:
			return 1
		case a < b:
			return -1
		}
		return 1
	}
	slices.SortFunc(hot, hotter)
	var cold []uint64 // hottest first, so that the end is taken
	for id, s := range k.states {
		if s.pool == busy && s.odd.found() == 0 {
			cold = append(cold, id)
		}
	}
	slices.SortFunc(cold, hotter)
	for _, id := range hot {
		if k.source.Subject(id) == nil {
			delete(k.heat, id)
			continue
		}
		if k.pools[busy] >= Busiest {
			last := len(cold) - 1
			if last < 0 || k.heat[id] < muchWorse*k.heat[cold[last]] || k.heat[id] == 0 {
				return
			}
			k.drop(k.states[cold[last]])
			cold = cold[:last]
		}
		k.keep(id, busy, now)
	}
}
