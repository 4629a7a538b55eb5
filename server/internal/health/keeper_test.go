package health_test

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/server/internal/health"
)

// TestTenThousandFilters probes 10,000 real filters for five minutes at least, on a
// clock that is moved by the waits asked for: all of them are visited, 1,024 have a state, and
// the time that was really spent is at most 0.1% of a core.
func TestTenThousandFilters(t *testing.T) {
	s := newSource()
	for i := range 10_000 {
		s.small(100 + i%700)
	}
	began := time.Now()
	k := health.New(health.Config{Source: s, Now: func() time.Time { return s.now }, Work: func() time.Duration { return time.Since(began) }, Seed: 1})
	// On a busy machine the time in which others run counts too, so it takes longer.
	least := s.now.Add(5 * time.Minute)
	for k.Totals().Walks == 0 || s.now.Before(least) {
		p := k.Step()
		s.now = s.now.Add(p.Owed + p.Spare)
	}
	got := k.Totals()
	t.Logf("%d probes of 10,000 filters, %d evaluations, %d visits in %d walks: %v in %v, %.4f%% of a core",
		got.Probes, got.Evaluations, got.Visits, got.Walks, got.Spent, got.Over, 100*got.Share())
	if share := got.Share(); share > health.Share*(1+1e-9) || share < health.Share/20 {
		t.Errorf("%.4f%% of a core, want at most %.1f%%, and not nothing", 100*share, 100*health.Share)
	}
	if got.Walks == 0 || got.Visits < 10_000 {
		t.Errorf("%d visits in %d walks: not every filter was visited", got.Visits, got.Walks)
	}
	if n := k.States(); n != health.Busiest {
		t.Errorf("%d filters have a state, want %d", n, health.Busiest)
	}
}

// TestMemoryIsBounded asks for all of 5,000 filters: no more than the busiest and
// the suspects keep a state, and the large ones.
func TestMemoryIsBounded(t *testing.T) {
	s := newSource()
	k := s.keeper()
	var big *filter
	for i := range 5000 {
		f := s.small(10)
		if i == 4999 {
			f.bytes, big = health.Large+1, f
		}
	}
	s.run(k, time.Minute)
	for _, id := range s.ids {
		report(t, k, s.filters[id])
		k.False(id, 1)
	}
	if n, most := k.States(), health.Busiest+health.Suspects+1; n > most {
		t.Errorf("%d filters have a state, want at most %d", n, most)
	}
	s.run(k, time.Minute)
	if !k.Kept(big.id) {
		t.Error("a filter over 1 MiB has no state")
	}
	if got := k.Totals().False; got != 5000 {
		t.Errorf("%d false positives were reported in all, want 5,000", got)
	}
	for _, id := range append([]uint64(nil), s.ids...) {
		s.remove(s.filters[id])
	}
	if p := k.Step(); !p.Idle || k.States() != 0 {
		t.Errorf("idle %v with %d states though there are no filters", p.Idle, k.States())
	}
}

// TestBusiestHaveAState uses filters that came when all places were taken.
func TestBusiestHaveAState(t *testing.T) {
	s := newSource()
	for range health.Busiest {
		s.small(10)
	}
	k := s.keeper()
	s.run(k, time.Minute)
	late := []*filter{s.small(10), s.small(10)}
	s.run(k, time.Minute)
	for range 30 {
		k.Touch(5, late[0].id)
	}
	s.run(k, 30*time.Second)
	if !k.Kept(late[0].id) || k.Meter(late[0].id) == nil {
		t.Error("a filter that is used has no state")
	}
	if k.Kept(late[1].id) {
		t.Error("a filter that is not used took a place")
	}
	if n := k.States(); n != health.Busiest {
		t.Errorf("%d states, want %d", n, health.Busiest)
	}
}

// TestIllFiltersAreFound fills all places; the walk finds the one ill filter that
// has none.
func TestIllFiltersAreFound(t *testing.T) {
	s := newSource()
	for range health.Busiest + 500 {
		s.small(10)
	}
	k := s.keeper()
	s.run(k, time.Minute)
	ill := s.small(2000)
	s.run(k, 2*time.Minute)
	d, _, ok := k.Known(ill)
	if !ok || d.Verdict != health.Rebuild {
		t.Errorf("verdict %v, known %v, want Rebuild", d.Verdict, ok)
	}
	if got := k.Totals().ByVerdict; got[health.Rebuild] != 1 || got[health.OK] != health.Busiest {
		t.Errorf("verdicts %v, want 1,024 OK and 1 Rebuild", got)
	}
}

// TestUrgentFirst has ten settled filters and three others: one that is new,
// one that changes, one whose interval spans the rate asked for.
func TestUrgentFirst(t *testing.T) {
	s := newSource()
	var calm []*filter
	for range 10 {
		f := s.small(300) // far below its rate
		f.cost = 20 * time.Microsecond
		calm = append(calm, f)
	}
	spans := s.small(300)
	spans.cost = 20 * time.Microsecond
	spans.asks = func(r *rand.Rand) (yes int) { // its rate is the one asked for
		for range health.Batch {
			if r.Float64() < 0.01 {
				yes++
			}
		}
		return yes
	}
	changes := s.small(500)
	k := s.keeper()
	s.run(k, 4*time.Minute)
	sum := func() (n uint64) {
		for _, f := range calm {
			n += k.ProbesOf(f.id)
		}
		return n
	}
	before, spanned, moved := sum(), k.ProbesOf(spans.id), k.ProbesOf(changes.id)
	born := s.small(1)
	k.Born(born.id)
	for range 30 {
		changes.fill(1, uint64(s.now.Unix()))
		s.run(k, 10*time.Second)
	}
	if n := sum() - before; n > 0 {
		t.Errorf("%d probes went to filters of which enough is known", n)
	}
	if n := k.ProbesOf(born.id); n < 4*health.Batch {
		t.Errorf("a new filter was probed %d times", n)
	}
	if n := k.ProbesOf(spans.id) - spanned; n < 1000 {
		t.Errorf("a filter whose interval spans the rate asked for was probed %d times", n)
	}
	if n := k.ProbesOf(changes.id) - moved; n < 10*health.Batch {
		t.Errorf("a filter that changes was probed %d times", n)
	}
}

// TestWritersAreNotWaitedFor holds a filter as a writer does.
func TestWritersAreNotWaitedFor(t *testing.T) {
	s := newSource()
	f := s.small(100)
	k := s.keeper()
	f.held = true
	s.run(k, time.Minute)
	got := k.Totals()
	if got.Probes != 0 || f.probed != 0 {
		t.Errorf("%d probes of a filter that a writer holds", got.Probes)
	}
	f.held = false
	s.run(k, time.Minute)
	if k.ProbesOf(f.id) == 0 {
		t.Error("the filter was never probed again")
	}
}

// TestManyLayersAreNotProbed has a filter of a million layers, as a hostile dump can
// make one: a batch of probes would hold its lock for seconds.
func TestManyLayersAreNotProbed(t *testing.T) {
	s := newSource()
	large, small := s.small(100), s.small(100)
	for f, layers := range map[*filter]int{large: 1 << 20, small: 256} {
		f.change = func(l *health.Look) { l.Layers = layers }
	}
	k := s.keeper()
	s.run(k, time.Minute)
	if got := report(t, k, large); large.probed != 0 || got.Probes != 0 {
		t.Errorf("%d probes of a million layers", large.probed)
	}
	if report(t, k, small); small.probed == 0 {
		t.Error("a filter of 256 layers was never probed")
	}
}

func TestProbedRateIsThatOfTheFilter(t *testing.T) {
	s := newSource()
	f := s.add(bloom.New(10_000, 0.01))
	f.fill(10_000, 3)
	k := s.keeper()
	s.run(k, 10*time.Minute)
	got := report(t, k, f)
	const lookups = 2_000_000
	r, yes := rand.New(rand.NewPCG(9, 9)), 0
	for range lookups {
		if f.hashed.(bloomery.Hashed).ContainsHash(r.Uint64()) {
			yes++
		}
	}
	// Three standard deviations of both, of which the interval has 1.96 of one.
	truth := float64(yes) / lookups
	sigma := math.Sqrt(truth/lookups + truth/got.Probes)
	if got.TooFew || math.Abs(got.Probed-truth) > 3*sigma || got.Interval.High-got.Interval.Low > 0.002 {
		t.Errorf("probed %v in %v by %v probes, and it is %v", got.Probed, got.Interval, got.Probes, truth)
	}
	if points := k.History(f.id); len(points) != 2 {
		t.Errorf("%d points of history after 10 minutes, want 2", len(points))
	}
}

// TestTrafficHasItsOwnRate counts negative answers and reported false positives.
func TestTrafficHasItsOwnRate(t *testing.T) {
	s := newSource()
	f := s.small(500)
	k := s.keeper()
	s.run(k, time.Minute)
	k.Meter(f.id).Note(1, health.Has, time.Microsecond, 1000, 1000, 970)
	k.False(f.id, 30)
	got := report(t, k, f)
	if got.False != 30 || got.Negatives != 970 || got.Traffic != 0.03 || !got.TrafficInterval.Holds(0.03) {
		t.Errorf("traffic %v in %v by %d of %d, want 3%%", got.Traffic, got.TrafficInterval, got.False, got.Negatives)
	}
	if got.Has.Calls != 1000 || got.Has.P99 < time.Microsecond || got.Has.P99 > 1300*time.Nanosecond {
		t.Errorf("latency of has %+v, want 1,000 calls of 1 µs", got.Has)
	}
	k.Repaired(f.id, 2)
	if got := report(t, k, f); got.Repaired != 2 || k.Totals().Repaired != 2 {
		t.Errorf("%d repaired, %d in all, want 2", got.Repaired, k.Totals().Repaired)
	}
}

func TestReportOfAFilterThatIsGone(t *testing.T) {
	s := newSource()
	f := s.small(1)
	k := s.keeper()
	f.held = true // Report may wait; what still fails is gone
	if _, ok := k.Report(f); ok {
		t.Error("a filter that is gone has a report")
	}
}

// TestRunEndsAndSleeps runs Keepers, two at once, on a clock of their own.
func TestRunEndsAndSleeps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		full, empty := newSource(), newSource()
		full.small(500)
		a := health.New(health.Config{Source: full, Seed: 1})
		b := health.New(health.Config{Source: empty, Seed: 2})
		done := make(chan struct{}, 2)
		for _, k := range []*health.Keeper{a, b} {
			go func() {
				k.Run(ctx)
				done <- struct{}{}
			}()
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if a.Totals().Probes == 0 || a.Totals().Evaluations < 5 {
			t.Errorf("%d probes and %d evaluations in a minute", a.Totals().Probes, a.Totals().Evaluations)
		}
		if got := b.Totals(); got.Spent != 0 {
			t.Errorf("%v spent though there are no filters", got.Spent)
		}
		g := empty.small(100)
		b.Born(g.id)
		time.Sleep(time.Minute)
		synctest.Wait()
		if b.Totals().Probes == 0 || !b.Kept(g.id) {
			t.Error("a filter that was made while the Keeper slept is not probed")
		}
		late := full.small(100) // while a sleeps between two evaluations
		a.Born(late.id)
		time.Sleep(time.Second)
		synctest.Wait()
		if a.ProbesOf(late.id) == 0 {
			t.Error("a filter that was made a second ago is not probed yet")
		}
		cancel()
		<-done
		<-done
	})
}

// TestProbesAreOfNobody checks that digests differ from batch to batch and from
// seed to seed.
func TestProbesAreOfNobody(t *testing.T) {
	seen, want := map[uint64]bool{}, 0
	for seed := range uint64(2) {
		s := newSource()
		f := s.small(1)
		f.asks = func(r *rand.Rand) int {
			for range health.Batch {
				seen[r.Uint64()] = true
			}
			return 0
		}
		k := health.New(health.Config{Source: s, Now: func() time.Time { return s.now }, Work: func() time.Duration { return s.worked }, Seed: seed})
		s.run(k, time.Minute)
		if want += f.probed * health.Batch; len(seen) != want || f.probed == 0 {
			t.Errorf("%d different digests, want %d", len(seen), want)
		}
	}
}

// TestSettledAfterEnoughProbes checks how many probes a filter gets that stays as it
// is: 100 positive answers expected at the rate asked for, or 1,024 without a rate.
func TestSettledAfterEnoughProbes(t *testing.T) {
	for _, c := range []struct {
		asked float64
		want  uint64
	}{{0, 1024}, {0.5, 256}, {0.05, 2000}} {
		s := newSource()
		f := s.small(10)
		f.asks = noProbes
		f.change = func(l *health.Look) { l.Asked, l.Predicted = c.asked, 0 }
		k := s.keeper()
		s.run(k, 10*time.Minute)
		if got := k.ProbesOf(f.id); got < c.want || got >= c.want+health.Batch {
			t.Errorf("asked for %v: %d probes, want %d", c.asked, got, c.want)
		}
	}
}

// TestEvaluationsAreOnTime makes a filter between two ticks: it is evaluated ten
// seconds later, not with the next tick.
func TestEvaluationsAreOnTime(t *testing.T) {
	s := newSource()
	first := s.small(10)
	k := s.keeper()
	s.run(k, 5*time.Second)
	s.remove(first)
	k.Step()
	k.Born(s.small(10).id)
	s.run(k, 9*time.Second)
	before := k.Totals().Evaluations
	s.run(k, 3*time.Second)
	if got := k.Totals().Evaluations - before; got != 1 {
		t.Errorf("%d evaluations between 14 and 17 seconds, want the one of 15", got)
	}
}

// TestLargeFiltersMakeRoom has filters grow past 1 MiB: others take their places.
func TestLargeFiltersMakeRoom(t *testing.T) {
	s := newSource()
	for range health.Busiest {
		s.small(1)
	}
	k := s.keeper()
	s.run(k, time.Minute)
	for _, id := range s.ids[:3] {
		s.filters[id].bytes = health.Large + 1
		s.filters[id].version += 1 << 20
	}
	s.run(k, time.Minute)
	for range 5 {
		s.small(1)
	}
	s.run(k, time.Minute)
	if got := k.States(); got != health.Busiest+3 {
		t.Errorf("%d states, want 3 more than %d", got, health.Busiest)
	}
	meters := map[*health.Meter]bool{}
	for _, id := range s.ids {
		if m := k.Meter(id); (m != nil) != k.Kept(id) || meters[m] && m != nil {
			t.Fatalf("filter %d: meter %p, which another has: %t", id, m, meters[m])
		} else {
			meters[m] = true
		}
	}
	for len(s.ids) > 0 {
		s.remove(s.filters[s.ids[0]])
	}
	if k.Step(); k.Meter(1) != nil {
		t.Error("a filter that is gone has a meter")
	}
}

// TestIllFiltersStay fills all places of suspects, a few of them with ill filters: of
// those that come later none takes the place of an ill one.
func TestIllFiltersStay(t *testing.T) {
	s := newSource()
	k := s.keeper()
	var ill []*filter
	for i := range health.Suspects {
		items := 1
		if i < 5 {
			items = 1500
		}
		f := s.small(items)
		report(t, k, f)
		s.now = s.now.Add(time.Millisecond)
		if i < 5 {
			ill = append(ill, f)
		}
	}
	for range 500 {
		report(t, k, s.small(1))
	}
	for _, f := range ill {
		if !k.Kept(f.id) {
			t.Errorf("filter %d, which is ill, has lost its state to one that is not", f.id)
		}
	}
}
