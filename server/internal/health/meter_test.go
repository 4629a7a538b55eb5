package health_test

import (
	"sync"
	"testing"
	"time"

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
				m.Note(slot, health.Has, 10*time.Microsecond, 10, 10, 5) // 1 µs a call
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

func BenchmarkNote(b *testing.B) {
	s := newSource()
	f := s.small(10)
	k := s.keeper()
	s.run(k, time.Minute)
	for b.Loop() {
		k.Meter(f.id).Note(3, health.Has, time.Microsecond, 16, 16, 8)
	}
}
