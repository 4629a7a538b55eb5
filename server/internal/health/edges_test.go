package health_test

import (
	"testing"
	"time"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/server/internal/health"
)

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

// TestMetersOfAnyIDs looks for the meters of filters whose ids meet in the table.
func TestMetersOfAnyIDs(t *testing.T) {
	s, r := newSource(), random(1)
	for i := range 300 {
		f := s.small(1)
		delete(s.filters, f.id)
		f.id = r.Uint64()
		s.filters[f.id], s.ids[i] = f, f.id
	}
	k := s.keeper()
	s.run(k, time.Minute)
	meters := map[*health.Meter]bool{}
	for _, id := range s.ids {
		meters[k.Meter(id)] = true
	}
	if len(meters) != 300 || meters[nil] {
		t.Errorf("300 filters have %d meters, none: %t", len(meters), meters[nil])
	}
	for range 1000 {
		if k.Meter(r.Uint64()) != nil {
			t.Fatal("a filter that is not there has a meter")
		}
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
			items = 990
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

// TestMeterCountsAllWork checks single calls of every kind of work.
func TestMeterCountsAllWork(t *testing.T) {
	for w := health.Other; w <= health.Count; w++ {
		var m health.Meter
		m.Note(3, w, time.Microsecond, 1, 1, 1)
		if calls, no, _ := m.Drained(w); calls != 1 || no != 1 {
			t.Errorf("work %d: %d calls, %d negatives, want 1 and 1", w, calls, no)
		}
	}
	var r health.Rate
	r.Add(3, 10)
	if yes, n := r.Counts(); yes != 3 || n != 10 {
		t.Errorf("%v of %v answers, want 3 of 10", yes, n)
	}
}

// TestAdviceCountsAllWork checks that deletes count as work, and that a filter from
// which keys are deleted is not taken for one that never changes.
func TestAdviceCountsAllWork(t *testing.T) {
	gain := func(kind string, calls map[health.Work]uint64) float64 {
		v := health.Evidence{Pace: -1}
		for w, n := range calls {
			v.Advising[w] = n
		}
		look := health.Look{Stats: bloomery.Stats{Kind: kind, Capacity: 10_000, Items: 10_000, Asked: 0.01, Predicted: 0.001, Bytes: 12_000, Saturation: 0.5}}
		return health.Measures(look, v)[wrongKind]
	}
	if got := gain("counting", map[health.Work]uint64{health.Add: 60_000, health.Delete: 50_000}); got <= 1 {
		t.Errorf("110,000 adds and deletes of a counting filter: %v times what is enough for advice", got)
	}
	if got := gain("counting", map[health.Work]uint64{health.Has: 60_000, health.Delete: 50_000}); got <= 1 {
		t.Errorf("110,000 lookups and deletes of a counting filter: %v times what is enough for advice", got)
	}
}

// TestEdgesOfHistory checks the latest point of a full history, slopes at their limits,
// and filters without a rate or that are gone.
func TestEdgesOfHistory(t *testing.T) {
	if p, ok := health.LastOf(1000, func(i int) health.Point { return health.Point{At: int64(i)} }); !ok || p.At != 999 {
		t.Errorf("the latest point is %v, %t, want 999", p.At, ok)
	}
	points := []health.Point{{At: 0}, {At: 1, Items: 2}}
	for after, want := range map[time.Duration]bool{10 * time.Minute: true, 10*time.Minute - time.Second: false} {
		if got, ok := health.Slope(points, time.Unix(0, 0).Add(after)); ok != want || ok && got != 2 {
			t.Errorf("after %v: %v, %t, want 2 a second if ten minutes have passed", after, got, ok)
		}
	}
	if got := health.RateLimit(health.Look{Stats: bloomery.Stats{Capacity: 100}}); got != 0 {
		t.Errorf("the limit of no rate is %v, want 0", got)
	}
	s := newSource()
	f := s.small(1)
	f.held = true // Peek may wait; what still fails is gone
	if _, ok := s.keeper().Peek(f); ok {
		t.Error("a filter that is gone has a report")
	}
}
