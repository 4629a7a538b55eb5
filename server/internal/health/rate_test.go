package health_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/server/internal/health"
)

// within reports whether got of runs is want within three standard deviations.
func within(got, runs int, want float64) bool {
	return math.Abs(float64(got)/float64(runs)-want) <= 3*math.Sqrt(want*(1-want)/float64(runs))
}

// TestIntervalCoversTheRate probes a real filter, whose rate is known from two
// million lookups, 1,000 times over: the interval covers the rate in 95% of the
// runs, within three standard deviations.
func TestIntervalCoversTheRate(t *testing.T) {
	const runs, batches, truth = 1000, 60, 2_000_000
	f := bloom.NewStandard(5000, 0.01)
	r := rand.New(rand.NewPCG(1, 1))
	for range 5000 {
		f.AddHash(r.Uint64())
	}
	ask := func(n int) (yes int) {
		for range n {
			if f.ContainsHash(r.Uint64()) {
				yes++
			}
		}
		return yes
	}
	rate := float64(ask(truth)) / truth
	covered := 0
	for range runs {
		var m health.Rate
		for range batches {
			m.Add(ask(health.Batch), health.Batch)
		}
		if m.Interval().Holds(rate) {
			covered++
		}
	}
	if !within(covered, runs, 0.95) {
		t.Errorf("the interval covers the rate %.4f in %d of %d runs, want 95%% within 3σ", rate, covered, runs)
	}
}

// TestIntervalCoversAMovingRate fills a filter while it is probed: the interval
// covers the rate that it has in the end in 95% of the runs at least, less three
// standard deviations, because what was seen at another fill is forgotten.
func TestIntervalCoversAMovingRate(t *testing.T) {
	const runs, steps, batches = 300, 60, 10
	r := rand.New(rand.NewPCG(2, 2))
	covered, low := 0, 0
	for range runs {
		var m, never health.Rate
		p := 0.0
		for i := range steps {
			p = 0.001 * math.Pow(20, float64(i)/steps) // from 0.1% to 2%
			m.Move(p)
			for range batches {
				yes := 0
				for range health.Batch {
					if r.Float64() < p {
						yes++
					}
				}
				m.Add(yes, health.Batch)
				never.Add(yes, health.Batch)
			}
		}
		if m.Interval().Holds(p) {
			covered++
		}
		if never.Interval().High < p {
			low++
		}
	}
	if least := 0.95 - 3*math.Sqrt(0.95*0.05/runs); float64(covered) < least*runs {
		t.Errorf("the interval covers the rate in %d of %d runs, want at least %.0f", covered, runs, least*runs)
	}
	if low < runs*9/10 {
		t.Errorf("without decay the interval is below the rate in %d of %d runs: the test shows nothing", low, runs)
	}
}

func TestRateForgetsByFill(t *testing.T) {
	var r health.Rate
	r.Move(0.01)
	r.Add(100, 10_000)
	counts := func() float64 { _, n := r.Counts(); return n }
	r.Move(0.01)
	if counts() != 10_000 {
		t.Errorf("%v probes are left though the fill is the same, want 10,000", counts())
	}
	r.Move(0.0101) // a tenth of a standard error, which is 0.001
	if n := counts(); n < 7_000 || n > 9_000 {
		t.Errorf("%v probes are left after a change of 0.1 standard errors, want exp(-0.2) of 10,000", n)
	}
	r.Move(0.02)
	if n := counts(); n > 1 {
		t.Errorf("%v probes are left after the rate has doubled, want none", n)
	}
	if r.Enough(0.01) {
		t.Error("a rate without probes is said to have enough")
	}
	// Far below what so many probes can resolve, a change shows nothing.
	var tiny health.Rate
	tiny.Move(1e-12)
	tiny.Add(0, 10_000)
	tiny.Move(1e-10)
	if _, n := tiny.Counts(); n < 9_999 {
		t.Errorf("%v probes are left of a rate of 1e-10, want 10,000", n)
	}
	tiny.Move(math.NaN())
	if _, n := tiny.Counts(); n < 9_999 {
		t.Errorf("%v probes are left after NaN, want 10,000", n)
	}
}

func TestTooFewProbes(t *testing.T) {
	var r health.Rate
	r.Add(0, 1000)
	for _, c := range []struct {
		asked float64
		want  bool
	}{{0.01, true}, {0.001, false}, {1e-6, false}, {0, false}} {
		if got := r.Enough(c.asked); got != c.want {
			t.Errorf("Enough(%v) = %v after 1,000 probes, want %v", c.asked, got, c.want)
		}
	}
}

func TestLatch(t *testing.T) {
	for _, c := range []struct {
		name     string
		measures []float64
		want     string // of each step: 1 on, 0 off
	}{
		{"enters after three", []float64{1.1, 1.1, 1.1}, "001"},
		{"two are not enough", []float64{1.1, 1.1, 0.99, 1.1, 1.1}, "00000"},
		{"the threshold itself is not beyond it", []float64{1, 1, 1, 1}, "0000"},
		{"stays between 0.9 and 1", []float64{2, 2, 2, 0.95, 0.91, 0.9, 0.95}, "0011111"},
		{"leaves after three below 0.9", []float64{2, 2, 2, 0.8, 0.8, 0.8}, "001110"},
		{"one in between begins again", []float64{2, 2, 2, 0.8, 0.8, 0.95, 0.8, 0.8, 0.8}, "001111110"},
		{"enters again after three", []float64{2, 2, 2, 0, 0, 0, 2, 2, 2}, "001110001"},
	} {
		var l health.Latch
		got := ""
		for _, m := range c.measures {
			if l.Step(m) {
				got += "1"
			} else {
				got += "0"
			}
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestHistoryKeepsADay(t *testing.T) {
	at := time.Unix(0, 0)
	points := health.HistoryOf(1000, func(i int) health.Point {
		return health.Point{At: at.Unix() + int64(300*i), Items: uint64(i)}
	})
	if len(points) != 288 || points[0].Items != 712 || points[287].Items != 999 {
		t.Errorf("%d points from %d to %d, want 288 from 712 to 999", len(points), points[0].Items, points[len(points)-1].Items)
	}
	for i := 1; i < len(points); i++ {
		if points[i].Items != points[i-1].Items+1 {
			t.Fatalf("point %d follows %d", points[i].Items, points[i-1].Items)
		}
	}
}

func TestPace(t *testing.T) {
	at := time.Unix(1_000_000, 0)
	points := health.HistoryOf(20, func(i int) health.Point {
		return health.Point{At: at.Unix() + int64(300*i), Items: uint64(3000 * i)}
	})
	last := time.Unix(points[19].At, 0)
	for _, c := range []struct {
		name  string
		now   time.Time
		from  int
		items uint64
		want  float64 // -1: not known
	}{
		{"an hour of ten a second", last, 0, 57_000, 10},
		{"nine minutes are too few", last.Add(4 * time.Minute), 18, 59_400, -1},
		{"ten are enough", last.Add(5 * time.Minute), 18, 60_000, 10},
		{"a second span with a third of the items", last.Add(5 * time.Minute), 0, 58_000, -1},
		{"a second span with three times the items", last.Add(5 * time.Minute), 0, 66_000, -1},
		{"a second span with two thirds of the items", last.Add(5 * time.Minute), 0, 59_000, 2000. / 300},
		{"no items for five minutes", last.Add(5 * time.Minute), 0, 57_000, -1},
		{"no items for ten", last.Add(10 * time.Minute), 0, 57_000, 0},
		{"50 items in half an hour", last.Add(30 * time.Minute), 0, 57_050, -1},
		{"fewer items than before", last, 0, 10, 0},
		{"a clock that was set back", at.Add(-time.Hour), 0, 57_000, -1},
	} {
		if got := health.Pace(points[c.from:], c.now, c.items); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
