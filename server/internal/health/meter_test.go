package health_test

import (
	"sync"
	"testing"
	"time"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/server/internal/health"
)

func TestBuckets(t *testing.T) {
	last := -1
	for took := time.Duration(0); took < time.Second; took += took/50 + 1 {
		b := health.BucketOf(took)
		if b < last || b >= health.Buckets {
			t.Fatalf("BucketOf(%v) = %d after %d", took, b, last)
		}
		last = b
		end := health.BucketEnd(b)
		if b == health.Buckets-1 {
			continue
		}
		if took >= end || b > 0 && float64(end) > 1.251*float64(took)+1 {
			t.Fatalf("%v is in bucket %d, which ends at %v", took, b, end)
		}
	}
	if last != health.Buckets-1 {
		t.Errorf("a second is in bucket %d, want the last of %d", last, health.Buckets)
	}
}

// TestMeter has connections of all slots count at once.
func TestMeter(t *testing.T) {
	var m health.Meter
	var wg sync.WaitGroup
	const rounds = 1000
	for slot := range 2 * health.Slots {
		wg.Go(func() {
			for range rounds {
				m.Note(slot, health.Has, time.Microsecond, 10, 10, 5)
			}
			m.Note(slot, health.Has, 4*time.Millisecond, 1, 1, 0)
		})
	}
	wg.Wait()
	const sessions = 2 * health.Slots
	calls, no, l := m.Drained(health.Has)
	if calls != sessions*(rounds*10+1) || no != sessions*rounds*5 {
		t.Errorf("%d calls, %d negatives", calls, no)
	}
	if l.P50 < time.Microsecond || l.P50 > 1300*time.Nanosecond || l.P99 != l.P50 || l.P999 != l.P50 {
		t.Errorf("latency %+v, want about 1 µs", l)
	}
	if calls, _, _ := m.Drained(health.Has); calls != 0 {
		t.Errorf("%d calls after they were drained, want 0", calls)
	}
}

func TestMeterPercentiles(t *testing.T) {
	var m health.Meter
	for i := range 10_000 {
		took := time.Microsecond
		switch {
		case i%1000 < 2: // 0.2%
			took = time.Millisecond
		case i%100 < 2: // 2% in all
			took = 100 * time.Microsecond
		}
		m.Note(0, health.Add, took, 1, 1, 0)
	}
	_, _, l := m.Drained(health.Add)
	near := func(got, want time.Duration) bool { return got >= want && got <= want*126/100 }
	if !near(l.P50, time.Microsecond) || !near(l.P99, 100*time.Microsecond) || !near(l.P999, time.Millisecond) {
		t.Errorf("latency %+v, want 1 µs, 100 µs, 1 ms", l)
	}
}

func TestHotPathDoesNotAllocate(t *testing.T) {
	s := newSource()
	f := s.small(10)
	k := s.keeper()
	s.run(k, time.Minute)
	if k.Meter(f.id) == nil {
		t.Fatal("the filter has no meter")
	}
	if n := testing.AllocsPerRun(1000, func() {
		k.Touch(3, f.id)
		k.Meter(f.id).Note(3, health.Has, time.Microsecond, 1, 1, 0)
	}); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}

// TestUseIsCountedAtOnce asks for a filter that nobody has used yet, and uses it: that is counted before the table of meters is
// made again.
func TestUseIsCountedAtOnce(t *testing.T) {
	s := newSource()
	k := s.keeper()
	s.run(k, time.Minute)
	report(t, k, s.small(10)) // the table is made for it
	f := s.small(10)
	report(t, k, f)
	m := k.Meter(f.id)
	if m == nil {
		m = k.Adopt(f.id)
	}
	m.Note(3, health.Has, time.Microsecond, 1, 7, 5)
	if got := report(t, k, f); got.Lookups != 7 || got.Negatives != 5 {
		t.Errorf("%d lookups, %d negative, want 7 and 5", got.Lookups, got.Negatives)
	}
}

func BenchmarkNote(b *testing.B) {
	s := newSource()
	f := s.small(10)
	k := s.keeper()
	s.run(k, time.Minute)
	for b.Loop() {
		k.Meter(f.id).Note(3, health.Has, 62*time.Nanosecond, 16, 16, 8)
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
