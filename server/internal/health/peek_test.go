package health_test

import (
	"math"
	"testing"
	"time"

	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/server/internal/health"
)

// TestPeek asks that a filter without a state is judged by a look, is not probed and
// gets no state, and that of one with a state everything is shown.
func TestPeek(t *testing.T) {
	s := newSource()
	k := s.keeper()
	f := bloom.New(100, 0.01)
	for i := range uint64(95) {
		f.AddHash(hashing.Hasher{}.HashUint64(i))
	}
	v := s.add(f)
	r, ok := k.Peek(v)
	if !ok || r.Verdict != health.Resize || r.Command("k", noKey) != "FILTER.GROW k" || !r.TooFew || r.Probes != 0 || v.probed != 0 {
		t.Errorf("Peek = %v %q, %v probes, %t", r.Verdict, r.Command("k", noKey), r.Probes, ok)
	}
	if r.Interval.Low != 0 || r.Interval.High != 1 {
		t.Errorf("the interval of no probes is %v", r.Interval)
	}
	if _, _, known := k.Known(v); known {
		t.Error("Peek has made a state")
	}
	want, _ := k.Report(v)
	if r, ok = k.Peek(v); !ok || r.Probes != want.Probes || r.Probes == 0 {
		t.Errorf("after Report: %v probes, want %v", r.Probes, want.Probes)
	}
}

// TestSlope asks for the slope of a history.
func TestSlope(t *testing.T) {
	now := time.Unix(100_000, 0)
	var points []health.Point
	for i := range 100 {
		points = append(points, health.Point{At: now.Unix() - int64(99-i)*300, Items: uint64(1000 + 600*i + i%2)})
	}
	if got, ok := health.Slope(points, now); !ok || math.Abs(got-2) > 0.001 {
		t.Errorf("Slope = %v, %t, want 2 a second", got, ok)
	}
	if _, ok := health.Slope(points[98:], now); ok {
		t.Error("5 minutes are enough")
	}
	if _, ok := health.Slope(nil, now); ok {
		t.Error("no points are enough")
	}
	same := []health.Point{{At: 1}, {At: 1, Items: 5}}
	if _, ok := health.Slope(same, now); ok {
		t.Error("points of one moment are enough")
	}
}
