package filter_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/bloomery/bloomery/server/internal/checkup"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/health"
)

// infoField returns a field of INFO.
func (b *bench) infoField(name string) string {
	args := [][]byte{[]byte("INFO"), []byte("all")}
	for l := range strings.Lines(b.Exec(args)[0].Text) {
		if k, v, ok := strings.Cut(strings.TrimSpace(l), ":"); ok && k == name {
			return v
		}
	}
	return ""
}

// fillBF and fillCF add n items.
func (b *bench) fillBF(key string, n int) {
	for i := range n {
		b.Line(fmt.Sprintf("BF.ADD %s item-%d", key, i))
	}
}

func (b *bench) fillCF(key string, n int) {
	for i := range n {
		b.Line(fmt.Sprintf("CF.ADD %s item-%d", key, i))
	}
}

// TestProbesTouchNothing compares everything that use changes before and after
// thousands of probes.
func TestProbesTouchNothing(t *testing.T) {
	b := newBench(t, 1<<30)
	b.Line("BF.RESERVE bf 0.01 1000")
	b.Line("CF.RESERVE cf 1000")
	b.fillBF("bf", 500)
	b.fillCF("cf", 500)
	b.infoField("keyspace_hits") // counts itself
	state := func() string {
		var out []string
		for _, f := range []string{"keyspace_hits", "keyspace_misses", "expired_keys", "log_position", "used_memory_dataset"} {
			out = append(out, f+"="+b.infoField(f))
		}
		for _, key := range []string{"bf", "cf"} {
			entry := b.State.Names.Lookup([]byte(key), b.Now.UnixMilli())
			p := contents.PartOf(entry)
			out = append(out, fmt.Sprint(key, " version ", p.Version()))
			m := b.Engine.Health().Meter(entry.ID)
			out = append(out, fmt.Sprint(m == nil))
		}
		return strings.Join(out, "\n")
	}
	b.Watch(5 * time.Second)
	data, before := string(b.State.AppendSnapshot(nil)), state()
	b.Watch(time.Minute)
	if after := state(); after != before {
		t.Errorf("after probes:\n%s\nbefore:\n%s", after, before)
	}
	if string(b.State.AppendSnapshot(nil)) != data {
		t.Error("probes have changed the data")
	}
	if n := b.Engine.Health().Totals().Probes; n < 1000 {
		t.Errorf("%d probes in a minute", n)
	}
	r, ok := b.Engine.Health().Report(b.watched("bf"))
	if !ok || r.Negatives != 0 || r.Has.Calls != 0 || r.Calls[health.Has] != 0 {
		t.Errorf("probes were counted as calls: %+v", r)
	}
}

// TestProbesDoNotWaitForWriters holds the lock of a filter as a writer does.
func TestProbesDoNotWaitForWriters(t *testing.T) {
	b := newBench(t, 1<<30)
	b.Line("BF.RESERVE bf 0.01 1000")
	p := contents.PartOf(b.State.Names.Lookup([]byte("bf"), b.Now.UnixMilli()))
	p.Lock()
	b.Watch(time.Minute) // would never return if it waited
	p.Unlock()
	got := b.Engine.Health().Totals()
	if got.Probes != 0 || got.Busy == 0 {
		t.Errorf("%d probes, %d times busy, want none and some", got.Probes, got.Busy)
	}
	b.Watch(time.Minute)
	if b.Engine.Health().Totals().Probes == 0 {
		t.Error("no probes after the writer has gone")
	}
}

// watched returns a filter as its health sees it.
func (b *bench) watched(key string) health.Subject {
	filters := checkup.Filters{State: b.State}
	return filters.Of(b.State.Names.Lookup([]byte(key), b.Now.UnixMilli()))
}

// TestTrafficIsMeasured counts calls, items and negative answers of BF and CF.
func TestTrafficIsMeasured(t *testing.T) {
	b := newBench(t, 1<<30)
	b.Line("BF.RESERVE bf 0.001 1000")
	b.Line("CF.RESERVE cf 1000")
	b.Watch(2 * time.Second) // meters are known within a second
	for _, f := range []string{"BF", "CF"} {
		key := strings.ToLower(f)
		b.Line(f + ".ADD " + key + " a")
		b.Line(f + ".ADD " + key + " b")
		b.Line(f + ".EXISTS " + key + " a")
		b.Line(f + ".EXISTS " + key + " x")
		b.Line(f + ".MEXISTS " + key + " a b x y z")
	}
	b.Line("CF.DEL cf a")
	b.Line("CF.COUNT cf b")
	b.Line("CF.INFO cf")
	b.Line("BF.CARD bf")
	for key, want := range map[string][5]uint64{
		"bf": {1, 2, 3, 0, 0},
		"cf": {1, 2, 3, 1, 1},
	} {
		r, ok := b.Engine.Health().Report(b.watched(key))
		if !ok || r.Calls != want || r.Negatives != 4 {
			t.Errorf("%s: calls %v, %d negatives, want %v and 4", key, r.Calls, r.Negatives, want)
		}
		if r.Has.Calls != 3 || r.Add.Calls != 2 {
			t.Errorf("%s: latency of %d and %d calls, want 3 and 2", key, r.Has.Calls, r.Add.Calls)
		}
	}
}

// TestVerdictsOfRedisBloomsFilters fills a BF that does not scale and a CF that does.
func TestVerdictsOfRedisBloomsFilters(t *testing.T) {
	b := newBench(t, 1<<30)
	b.Line("BF.RESERVE bf 0.01 1000 NONSCALING")
	b.Line("BF.RESERVE scaling 0.01 100")
	b.Line("CF.RESERVE cf 1000 EXPANSION 1")
	b.fillBF("bf", 950)
	b.fillBF("scaling", 2000)
	b.fillCF("cf", 5000)
	b.Watch(40 * time.Second)
	for key, want := range map[string]health.Verdict{"bf": health.OK, "scaling": health.OK, "cf": health.Rebuild} {
		r, ok := b.Engine.Health().Report(b.watched(key))
		if !ok || r.Verdict != want {
			t.Errorf("%s: %v, want %v: %s", key, r.Verdict, want, r.Reason)
		}
		if !r.Interval.Holds(r.Probed) || r.Probes < 1024 {
			t.Errorf("%s: probed %v in %v by %v probes", key, r.Probed, r.Interval, r.Probes)
		}
	}
	if got := b.infoField("health_filters") + b.infoField("health_resize") + b.infoField("health_rebuild") + b.infoField("health_ok"); got != "3012" {
		t.Errorf("INFO health: %s, want 3 filters with 1 Rebuild and 2 OK", got)
	}
	b.Line("FLUSHALL")
	b.Watch(time.Second)
	if got := b.infoField("health_filters"); got != "0" {
		t.Errorf("%s filters after FLUSHALL", got)
	}
}

// TestProbedRateOfRedisBloomsFilters compares the probed rate with that of real
// items, within six standard deviations of both: the probes differ from run to run.
func TestProbedRateOfRedisBloomsFilters(t *testing.T) {
	b := newBench(t, 1<<30)
	b.Line("BF.RESERVE bf 0.02 1000 NONSCALING")
	b.Line("CF.RESERVE cf 1000")
	b.fillBF("bf", 1000)
	b.fillCF("cf", 900)
	b.Watch(2 * time.Minute)
	for _, key := range []string{"bf", "cf"} {
		const asked = 30_000
		yes := 0
		for i := range asked / 100 {
			line := strings.ToUpper(key) + ".MEXISTS " + key
			for j := range 100 {
				line += fmt.Sprint(" other-", i*100+j)
			}
			yes += strings.Count(b.Line(line), "true")
		}
		r, _ := b.Engine.Health().Report(b.watched(key))
		truth := float64(yes) / asked
		sigma2 := truth/asked + truth/r.Probes
		if d := r.Probed - truth; d*d > 36*sigma2 || r.TooFew {
			t.Errorf("%s: probed %v by %v probes, and it is %v", key, r.Probed, r.Probes, truth)
		}
	}
}
