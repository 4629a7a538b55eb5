package health_test

import (
	"math"
	"testing"
	"time"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/server/internal/health"
)

// The symptoms in the order of Measures.
const (
	overRate = iota
	skewed
	deleted
	outgrown
	fillingUp
	slow
	wrongKind
	overBudget
	sparse
)

// TestMeasures holds every symptom to its threshold: 1 is the threshold itself.
func TestMeasures(t *testing.T) {
	stats := func(change func(*bloomery.Stats)) health.Look {
		l := health.Look{Stats: bloomery.Stats{Kind: "bloom", Capacity: 1000, Items: 500, Asked: 0.01, Predicted: 0.001, Bytes: 8192, Saturation: 0.5}}
		change(&l.Stats)
		return l
	}
	plain := stats(func(*bloomery.Stats) {})
	with := func(change func(*health.Look)) health.Look {
		l := plain
		change(&l)
		return l
	}
	const day = 24 * time.Hour
	unknown, filling := health.Evidence{Pace: -1}, health.Evidence{Pace: -1, Filling: true}
	has := func(calls uint64, p99 time.Duration) health.Evidence {
		return health.Evidence{Pace: -1, Has: health.Latency{Calls: calls, P99: p99}}
	}
	sla := with(func(l *health.Look) { l.SLA = time.Millisecond })
	for _, c := range []struct {
		name string
		look health.Look
		more health.Evidence
		at   int
		want float64
		ill  bool // shown by one look
	}{
		{"twice the rate", stats(func(s *bloomery.Stats) { s.Predicted, s.Items = 2.04*0.01, 1001 }), unknown, overRate, 2, true},
		{"the luck of a small filter", stats(func(s *bloomery.Stats) { s.Predicted, s.Items = 1.6*0.01, 1000 }), unknown, overRate, 1.6 / 1.02 / math.Exp(3*0.8*math.Log2(100)/math.Sqrt(1000)), false},
		{"twice the rate, of which a half is chance", stats(func(s *bloomery.Stats) { s.Predicted, s.PredictedSigma, s.Items = 2.04*0.01, 0.0035, 1001 }), unknown, overRate, 0.0099 / 0.0102, false},
		{"no rate asked for", stats(func(s *bloomery.Stats) { s.Predicted, s.Asked = 1, 0 }), unknown, overRate, 0, false},
		{"a skew of 12", stats(func(s *bloomery.Stats) { s.Skew = 12 }), unknown, skewed, 2, true},
		{"150 of 500 items are deleted", with(func(l *health.Look) { l.Gone = 150 }), unknown, deleted, 1 + 1e-9, true},
		{"149 of 500 items are deleted", with(func(l *health.Look) { l.Gone = 149 }), unknown, deleted, 149. / 150 * (1 + 1e-9), false},
		{"900 of 1,000 items", stats(func(s *bloomery.Stats) { s.Items = 900 }), filling, outgrown, 1, false},
		{"990 of 1,000 items, and it fills", stats(func(s *bloomery.Stats) { s.Items = 990 }), filling, outgrown, 1.1, false},
		{"all of 1,000 items", stats(func(s *bloomery.Stats) { s.Items, s.Exact = 1000, true }), unknown, outgrown, 1, false},
		{"1,100 of 1,000 items", stats(func(s *bloomery.Stats) { s.Items, s.Exact = 1100, true }), unknown, outgrown, 1.1, true},
		{"1,100 of 1,000 items by their bits", stats(func(s *bloomery.Stats) { s.Items = 1100 }), unknown, outgrown, 1100 / (1020 + 3*math.Sqrt(1000)), false},
		{"no capacity", stats(func(s *bloomery.Stats) { s.Items, s.Capacity = 990, 0 }), filling, outgrown, 0, false},
		{"1,990 of 1,000 items of one that grows", with(func(l *health.Look) { l.Items, l.Grows = 1990, true }), filling, outgrown, 0, false},
		{"500 more in a day", plain, health.Evidence{Pace: 500 / day.Seconds()}, fillingUp, 1, false},
		{"1,000 more in a day", plain, health.Evidence{Pace: 1000 / day.Seconds()}, fillingUp, 2, false},
		{"a pace that is not known", plain, health.Evidence{Pace: -1}, fillingUp, 0, false},
		{"no pace", plain, health.Evidence{Pace: 0}, fillingUp, 0, false},
		{"full already", stats(func(s *bloomery.Stats) { s.Items = 1000 }), health.Evidence{Pace: 1}, fillingUp, 0, false},
		{"twice the SLA", sla, has(1000, 2*time.Millisecond), slow, 2, false},
		{"twice the SLA in few calls", sla, has(999, 2*time.Millisecond), slow, 0, false},
		{"no SLA", plain, has(1000, time.Second), slow, 0, false},
		{"half the time", plain, health.Evidence{Pace: -1, Gain: 2}, wrongKind, 1 + 1e-9, false},
		{"twice the budget", with(func(l *health.Look) { l.Budget = 4096 }), unknown, overBudget, 2, true},
		{"all of the budget", with(func(l *health.Look) { l.Budget = 8192 }), unknown, overBudget, 1, false},
		{"no budget", plain, unknown, overBudget, 0, false},
		{"5% full for a day", stats(func(s *bloomery.Stats) { s.Saturation = 0.05 }), health.Evidence{Pace: -1, Sparse: day}, sparse, 2, false},
		{"5% full for less", stats(func(s *bloomery.Stats) { s.Saturation = 0.05 }), health.Evidence{Pace: -1, Sparse: day - 1}, sparse, 1, false},
		{"20% full", stats(func(s *bloomery.Stats) { s.Saturation = 0.2 }), health.Evidence{Pace: -1, Sparse: day}, sparse, 0.5, false},
		{"empty for a day", stats(func(s *bloomery.Stats) { s.Saturation = 0 }), health.Evidence{Pace: -1, Sparse: day}, sparse, math.Inf(1), false},
		{"empty and of 4 KiB", stats(func(s *bloomery.Stats) { s.Saturation, s.Bytes = 0.05, 4096 }), health.Evidence{Pace: -1, Sparse: day}, sparse, 2, false},
		{"empty and small", stats(func(s *bloomery.Stats) { s.Saturation, s.Bytes = 0, 4095 }), health.Evidence{Pace: -1, Sparse: day}, sparse, 0, false},
		{"a window that is full", stats(func(s *bloomery.Stats) { s.Kind, s.Items = "window", 2000 }), filling, outgrown, 0, false},
		{"a kind that nobody knows", stats(func(s *bloomery.Stats) { s.Kind, s.Predicted = "none", 1 }), unknown, overRate, 0, false},
	} {
		got := health.Measures(c.look, c.more)[c.at]
		if got != c.want && math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
		if health.Ill(c.look) != c.ill {
			t.Errorf("%s: one look shows illness: %v", c.name, !c.ill)
		}
	}
}

// TestAdviceNeedsWork asks that another kind is advised after 100,000 calls, for the
// work that was seen, and only if it halves time or space.
func TestAdviceNeedsWork(t *testing.T) {
	calls := func(add, has, remove, count uint64) (c [5]uint64) {
		c[health.Add], c[health.Has], c[health.Delete], c[health.Count] = add, has, remove, count
		return c
	}
	look := func(kind string) health.Look {
		return health.Look{Stats: bloomery.Stats{Kind: kind, Capacity: 10_000, Items: 5000, Asked: 0.01, Predicted: 0.001, Bytes: 12_000, Saturation: 0.5}}
	}
	for _, c := range []struct {
		name  string
		look  health.Look
		calls [5]uint64
		want  bool
	}{
		{"lookups of a standard filter", look("standard"), calls(10_000, 90_000, 0, 0), true},
		{"one too few", look("standard"), calls(9_999, 90_000, 0, 0), false},
		{"a filter that is right", look("bloom"), calls(10_000, 90_000, 0, 0), false},
		{"counters that nobody uses", look("counting"), calls(10_000, 90_000, 0, 0), true},
		{"no items", func() health.Look { l := look("standard"); l.Items = 0; return l }(), calls(10_000, 90_000, 0, 0), false},
		{"no rate", func() health.Look { l := look("standard"); l.Asked = 0; return l }(), calls(10_000, 90_000, 0, 0), false},
		{"a kind of RedisBloom", look("bf"), calls(10_000, 90_000, 0, 0), false},
		{"a kind that nobody knows", look("none"), calls(10_000, 90_000, 0, 0), false},
	} {
		if got := health.Measures(c.look, health.Evidence{Pace: -1, Advising: c.calls})[wrongKind]; (got > 1) != c.want {
			t.Errorf("%s: %v times what is enough", c.name, got)
		}
	}
}

// TestEnough holds the number of probes to its limits.
func TestEnough(t *testing.T) {
	for _, c := range []struct {
		n     int
		asked float64
		want  bool
	}{{500, 0.01, true}, {499, 0.01, false}, {1024, 0, true}, {1023, 0, false}, {1, 0, false}} {
		var r health.Rate
		if r.Value() != 0 {
			t.Error("an empty rate is not 0")
		}
		r.Add(0, c.n)
		if got := r.Enough(c.asked); got != c.want {
			t.Errorf("%d probes are enough for %v: %v", c.n, c.asked, got)
		}
		if r.Spans(0) {
			t.Error("a rate that was not asked for needs more probes")
		}
	}
	var r health.Rate
	r.Add(10, 1000)
	if !r.Spans(0.01) || r.Spans(0.1) || r.Spans(0.0001) {
		t.Error("10 of 1,000 answers: more probes for the wrong rates")
	}
}

// TestShare returns the share of a core.
func TestShare(t *testing.T) {
	for _, c := range []struct {
		spent, over time.Duration
		want        float64
	}{{time.Second, 100 * time.Second, 0.01}, {time.Second, 0, 0}, {0, time.Second, 0}, {time.Second, time.Second, 1}} {
		if got := (health.Totals{Spent: c.spent, Over: c.over}).Share(); got != c.want {
			t.Errorf("%v of %v: %v, want %v", c.spent, c.over, got, c.want)
		}
	}
}

// TestTotalsAdd asks that the figures of all filters are the sums of those of each.
func TestTotalsAdd(t *testing.T) {
	s := newSource()
	k := s.keeper()
	var all []*filter
	for i := range 20 {
		all = append(all, s.small(100+i))
	}
	s.run(k, 10*time.Minute)
	totals := k.Totals()
	probes, verdicts := uint64(0), 0
	for _, f := range all {
		probes += k.ProbesOf(f.id)
	}
	for _, n := range totals.ByVerdict {
		verdicts += n
	}
	if totals.Filters != len(all) || verdicts != len(all) || totals.Probes != probes || probes == 0 || totals.Positives > probes {
		t.Errorf("%+v: want %d filters and %d probes", totals, len(all), probes)
	}
	for _, f := range all {
		s.remove(f)
	}
	s.run(k, 10*time.Minute)
	if got := k.Totals(); got.Filters != 0 {
		t.Errorf("%d filters are left of none", got.Filters)
	}
}

// TestPercentilesOfFewCalls asks for percentiles where one call makes the difference.
func TestPercentilesOfFewCalls(t *testing.T) {
	for _, c := range []struct {
		quick, long   int
		p50, p99, max bool // whether they are long
	}{
		{1, 0, false, false, false},
		{0, 1, true, true, true},
		{1, 1, true, true, true},
		{2, 1, false, true, true},
		{99, 1, false, true, true},
		{199, 1, false, false, true},
		{1999, 1, false, false, false},
	} {
		var m health.Meter
		m.Note(0, health.Has, time.Microsecond, c.quick, c.quick, 0)
		m.Note(0, health.Has, time.Millisecond, c.long, c.long, 0)
		calls, _, l := m.Drained(health.Has)
		const between = 100 * time.Microsecond
		if l.Calls != uint64(c.quick+c.long) || (l.P50 > between) != c.p50 || (l.P99 > between) != c.p99 || (l.P999 > between) != c.max {
			t.Errorf("%d quick calls and %d long ones: %d, %+v", c.quick, c.long, calls, l)
		}
	}
}

// TestCures asks for the command against every symptom, of the kinds that differ.
func TestCures(t *testing.T) {
	attacked := health.Look{Layers: 1, Stats: bloomery.Stats{Kind: "bloom", Capacity: 1000}}
	if got := health.Cure(attacked, skewed, "second key"); got != `FILTER.REBUILD key BEGIN NEWKEY "second key"` {
		t.Errorf("with a secret key that it may have: %s", got)
	}
	look := func(kind string) health.Look {
		return health.Look{Layers: 1, Budget: 600, Stats: bloomery.Stats{Kind: kind, Capacity: 1000, Items: 300, Asked: 0.01, Bytes: 1300}}
	}
	changed := func(kind string, change func(*health.Look)) health.Look {
		l := look(kind)
		change(&l)
		return l
	}
	fixed := func(kind string) health.Look { return changed(kind, func(l *health.Look) { l.Can.Cluster = true }) }
	const again = ", then CF.ADD every item and RENAME <new key> "
	for _, c := range []struct {
		look health.Look
		at   int
		want string
	}{
		{look("bloom"), overRate, "FILTER.REBUILD key BEGIN CAPACITY 1000 ERROR 0.01"},
		{changed("bloom", func(l *health.Look) { l.Items = 4321 }), overRate, "FILTER.REBUILD key BEGIN CAPACITY 6500 ERROR 0.01"},
		{changed("bloom", func(l *health.Look) { l.Items = math.MaxUint64 }), overRate, "FILTER.REBUILD key BEGIN CAPACITY 1500000 ERROR 0.01"},
		{look("bloom"), skewed, "FILTER.REBUILD key BEGIN NEWKEY <id>, with a line <id> = <32 hexadecimal digits> in the file of serve --keys"},
		{look("bloom"), deleted, "FILTER.REBUILD key BEGIN"},
		{look("fuse8"), deleted, "FILTER.REBUILD key BEGIN"},
		{fixed("bloom"), deleted, "FILTER.CREATE <new key> bloom CAPACITY 1000 ERROR 0.01, then FILTER.ADD every item and RENAME <new key> key"},
		{fixed("fuse8"), deleted, "FILTER.LOAD key 1 <file of bloomery build --kind fuse8>"},
		{look("bloom"), outgrown, "FILTER.GROW key"},
		{look("cuckoo"), fillingUp, "FILTER.REBUILD key BEGIN CAPACITY 1000 ERROR 0.01"},
		{look("bloom"), slow, "SLOWLOG GET 10"},
		{look("standard"), slow, "FILTER.REBUILD key BEGIN bloom"},
		{look("cuckoo"), wrongKind, "FILTER.REBUILD key BEGIN ribbon"},
		{look("bloom"), overBudget, "FILTER.REBUILD key BEGIN ERROR 0.12"},
		{look("bloom"), sparse, "FILTER.REBUILD key BEGIN CAPACITY 450"},
		{changed("bloom", func(l *health.Look) { l.Items = 10 }), sparse, "FILTER.REBUILD key BEGIN CAPACITY 100"},
		{changed("bloom", func(l *health.Look) { l.Folds, l.Items = true, 400 }), sparse, "FILTER.FOLD key"},
		{changed("split", func(l *health.Look) { l.Folds, l.Items = true, 400 }), sparse, "FILTER.FOLD key"},
		{changed("split", func(l *health.Look) { l.Folds, l.Items, l.Can.Cluster = true, 400, true }), sparse, "FILTER.CREATE <new key> split CAPACITY 600 ERROR 0.01, then FILTER.ADD every item and RENAME <new key> key"},
		{changed("bloom", func(l *health.Look) { l.Folds, l.Items = true, 401 }), sparse, "FILTER.REBUILD key BEGIN CAPACITY 610"},
		{fixed("bloom"), overRate, "FILTER.CREATE <new key> bloom CAPACITY 1000 ERROR 0.01, then FILTER.ADD every item and RENAME <new key> key"},
		{fixed("bloom"), skewed, "FILTER.CREATE <new key> bloom CAPACITY 1000 ERROR 0.01 KEYED <id>, then FILTER.ADD every item and RENAME <new key> key, with a line <id> = <32 hexadecimal digits> in the file of serve --keys"},
		{fixed("bloom"), outgrown, "FILTER.GROW key"},
		{fixed("standard"), slow, "FILTER.CREATE <new key> bloom CAPACITY 1000 ERROR 0.01, then FILTER.ADD every item and RENAME <new key> key"},
		{fixed("bloom"), overBudget, "FILTER.CREATE <new key> bloom CAPACITY 1000 ERROR 0.12, then FILTER.ADD every item and RENAME <new key> key"},
		{look("bf"), slow, "SLOWLOG GET 10"},
		{look("bf"), outgrown, "BF.RESERVE <new key> 0.01 450, then BF.MADD every item and RENAME <new key> key"},
		{changed("bf", func(l *health.Look) { l.Grows = true }), overRate, "BF.RESERVE <new key> 0.005 450, then BF.MADD every item and RENAME <new key> key"},
		{look("bf"), overBudget, "BF.RESERVE <new key> 0.12 450, then BF.MADD every item and RENAME <new key> key"},
		{look("cf"), sparse, "CF.RESERVE <new key> 450" + again + "key"},
		{changed("cf", func(l *health.Look) { l.Layers = 2 }), sparse, "CF.COMPACT key"},
		{changed("cf", func(l *health.Look) { l.Layers = 2 }), overBudget, "CF.COMPACT key"},
		{changed("cf", func(l *health.Look) { l.Layers = 2 }), outgrown, "CF.RESERVE <new key> 450" + again + "key"},
	} {
		if got := health.Cure(c.look, c.at, ""); got != c.want {
			t.Errorf("%s with symptom %d:\n got %s\nwant %s", c.look.Kind, c.at, got, c.want)
		}
	}
}

// TestReportedFiltersStay fills all places of suspects with filters of which callers
// have reported something, and with ill ones: those that come later take the places
// of ill ones, though the others were asked for earlier.
func TestReportedFiltersStay(t *testing.T) {
	s := newSource()
	k := s.keeper()
	var reported []*filter
	for i := range health.Suspects {
		items := 10
		if i%2 == 1 {
			items = 1500
		}
		f := s.small(items)
		if got := report(t, k, f).Verdict; (got != health.OK) != (i%2 == 1) {
			t.Fatalf("%d items: %v", items, got)
		}
		if i%2 == 0 {
			k.False(f.id, 1)
			reported = append(reported, f)
		}
		s.now = s.now.Add(time.Millisecond)
	}
	for range 100 {
		report(t, k, s.small(10))
	}
	for _, f := range reported {
		if !k.Kept(f.id) {
			t.Fatalf("filter %d, of which a false positive was reported, has lost its state to one of which nothing was", f.id)
		}
	}
	if n := k.States(); n != health.Suspects {
		t.Errorf("%d filters have a state, want %d", n, health.Suspects)
	}
}
