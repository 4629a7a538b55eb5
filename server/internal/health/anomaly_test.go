package health_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/server/internal/health"
)

// TestSurprise compares the tail of the binomial distribution with sums of its terms:
// it is never less surprising than it is, and off by a tenth of a digit at most.
func TestSurprise(t *testing.T) {
	for _, p := range []float64{0.5, 0.1, 0.01, 1e-4} {
		n := int(50 / p)
		term := float64(n) * math.Log1p(-p) // ln of the probability of no positive answer
		terms := make([]float64, n+1)
		for x := range terms {
			terms[x] = term
			term += math.Log(float64(n-x)/float64(x+1)) + math.Log(p) - math.Log1p(-p)
		}
		tail := 0.0
		for x := n; x > 0; x-- {
			tail += math.Exp(terms[x])
			if x < 55 || x > 130 {
				continue
			}
			want, got := -math.Log10(tail), health.Surprise(x, n, p)
			if got > want+1e-6 || got < want-0.6 || x > 80 && got < want-0.1 {
				t.Errorf("p %v: %d of %d surprises by %.4f, want %.4f or little less", p, x, n, got, want)
			}
		}
	}
	for _, c := range []struct{ yes, n int }{{0, 0}, {0, 100}, {10, 100}} {
		if got := health.Surprise(c.yes, c.n, 0.1); got != 0 {
			t.Errorf("%d of %d surprises by %v, want 0", c.yes, c.n, got)
		}
	}
	if got := health.Surprise(100, 100, 0.1); math.Abs(got-100) > 1e-6 {
		t.Errorf("100 of 100 at 10%% surprise by %v, want 100", got)
	}
}

// TestWatch raises an alarm after two windows in a row, and ends it after two.
func TestWatch(t *testing.T) {
	var w health.Watch
	const n, limit = 2500, 0.01
	for i, c := range []struct {
		yes  int
		want bool
	}{
		{25, false}, {90, false}, {25, false}, {90, false}, {90, true}, {90, true}, {25, true}, {90, true},
		{25, true}, {25, false}, {90, false}, {25, false},
	} {
		if got := w.Add(c.yes, n, limit); got != c.want {
			t.Errorf("window %d with %d: alarm %v, want %v", i, c.yes, got, c.want)
		}
	}
	for range 1000 { // no limit, no alarm
		if w.Add(n, n, 0) || w.Add(n, n, 1) || w.Add(n, n, 2) {
			t.Fatal("an alarm without a limit")
		}
	}
}

// aimed returns a hash in the first block of every blocked filter of less than 2^32
// blocks.
func aimed(r *rand.Rand) uint64 { return r.Uint64() >> 33 }

// TestAimedKeysAreAnAnomaly adds keys that all fall into one block to a filter that
// is half full, and honest ones to another.
func TestAimedKeysAreAnAnomaly(t *testing.T) {
	s := newSource()
	victim, honest := s.add(bloom.New(10_000, 0.01)), s.add(bloom.New(10_000, 0.01))
	victim.fill(5000, 1)
	honest.fill(5000, 2)
	k := s.keeper()
	s.run(k, time.Minute)
	if got := k.Totals().Anomalous; got != 0 {
		t.Errorf("%d anomalies of random keys", got)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		victim.hashed.(bloomery.Adder).AddHash(aimed(r))
	}
	victim.version += 4
	honest.fill(1000, 3)
	s.run(k, 30*time.Second)
	got := map[uint64]health.Anomaly{}
	k.Reports(func(id uint64, r *health.Report) { got[id] = r.Anomaly })
	if got[victim.id] != health.Aimed || got[honest.id] != 0 || k.Totals().Anomalous != 1 {
		t.Errorf("anomalies %v, want aimed of the first", got)
	}
	victim.hashed.(interface{ Clear() }).Clear()
	victim.version++
	s.run(k, 2*time.Minute)
	if got := report(t, k, victim).Anomaly; got != 0 {
		t.Errorf("after a clear it is %v", got)
	}
}

// TestAimedKeysStayInLargeArrays has an array of which each look sees a quarter: keys
// that were aimed count as gone when 20 looks in a row have not seen them, and the
// verdict is that of the look that did.
func TestAimedKeysStayInLargeArrays(t *testing.T) {
	s := newSource()
	f := s.add(bloom.New(10_000, 0.01))
	skew := 20.0
	f.change = func(l *health.Look) { l.Bits, l.Skew = 1<<24, skew }
	k := s.keeper()
	s.run(k, time.Minute)
	skew = 0
	looks := 0
	for ; k.Totals().Anomalous > 0 && looks < 100; looks++ {
		if got := report(t, k, f); got.Anomaly != 0 && got.Verdict != health.Rebuild {
			t.Errorf("after %d looks the verdict is %v", looks, got.Verdict)
		}
	}
	if looks != 20 {
		t.Errorf("the anomaly ended after %d looks, want 20", looks)
	}
}

// TestHighRatesAreAnAnomaly has a filter answer probes at a rate of its own.
func TestHighRatesAreAnAnomaly(t *testing.T) {
	s := newSource()
	f := s.add(bloom.New(100_000, 0.01))
	f.fill(50_000, 1)
	rate := 0.01
	f.asks = func(r *rand.Rand) (yes int) {
		for range health.Batch {
			if r.Float64() < rate {
				yes++
			}
		}
		return yes
	}
	k := s.keeper()
	for _, step := range []struct {
		rate float64
		want health.Anomaly
	}{{0.01, 0}, {0.03, health.ProbedHigh}, {0.01, 0}} {
		rate = step.rate
		f.fill(5000, uint64(1000*rate)) // so that it is probed again
		s.run(k, 10*time.Minute)
		if got := report(t, k, f); got.Anomaly != step.want {
			t.Errorf("at a rate of %v: anomaly %q, want %q", rate, got.Anomaly, step.want)
		}
	}
}

// TestTrafficIsAnAnomaly reports far more false positives than the rate allows, once
// and twice.
func TestTrafficIsAnAnomaly(t *testing.T) {
	s := newSource()
	f := s.add(bloom.New(100_000, 0.01))
	k := s.keeper()
	s.run(k, time.Minute)
	for i, want := range []health.Anomaly{0, health.TrafficHigh, health.TrafficHigh} {
		k.Meter(f.id).Note(1, health.Has, 200*time.Nanosecond, 5000, 5000, 4500)
		k.False(f.id, 500)
		if got := report(t, k, f); got.Anomaly != want {
			t.Errorf("window %d: anomaly %q, want %q", i, got.Anomaly, want)
		}
	}
	if got := (health.ProbedHigh | health.TrafficHigh | health.Aimed).String(); got != "probed,traffic,aimed" {
		t.Errorf("all reasons are %q", got)
	}
}

// TestAnomalousKeepTheirPlace lets busier filters come when all places are taken, by
// filters that nobody uses: those that were made last would go first.
func TestAnomalousKeepTheirPlace(t *testing.T) {
	s := newSource()
	for range health.Busiest - 1 {
		s.small(10)
	}
	odd := s.small(100)
	odd.change = func(l *health.Look) { l.Skew = health.AimedSkew }
	last := s.filters[odd.id-1]
	k := s.keeper()
	s.run(k, time.Minute)
	late := s.small(10)
	for range 20 {
		k.Touch(1, late.id)
	}
	s.run(k, 30*time.Second)
	if !k.Kept(odd.id) || !k.Kept(late.id) || k.Kept(last.id) || k.Totals().Anomalous != 1 {
		t.Errorf("kept: the anomalous %v, the busy %v, the idle %v", k.Kept(odd.id), k.Kept(late.id), k.Kept(last.id))
	}
}

// TestRestIsCounted has more filters than places: what has none is in the sums of the
// walk.
func TestRestIsCounted(t *testing.T) {
	s := newSource()
	const more = 300
	for range health.Busiest + more {
		s.small(10)
	}
	k := s.keeper()
	s.run(k, 2*time.Minute)
	seen := 0
	rest := k.Reports(func(uint64, *health.Report) { seen++ })
	one := s.filters[1].hashed.Stats()
	if seen != health.Busiest || rest.Filters != more || rest.Bytes != more*one.Bytes || rest.Capacity != more*one.Capacity || rest.Items < more*8 {
		t.Errorf("%d reports and %+v, want %d and %d filters like %+v", seen, rest, health.Busiest, more, one)
	}
}
