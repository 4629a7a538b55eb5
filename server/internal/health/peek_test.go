package health_test

import (
	"testing"

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
	v.change = func(l *health.Look) { l.Items, l.Exact = 101, true }
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
