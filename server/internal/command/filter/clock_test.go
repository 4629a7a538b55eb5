package filter_test

import (
	"strings"
	"testing"
	"time"
)

// TestClockSteps sets the wall clock of a server back and forth by an hour, with a crash in between. What
// is added is found for a span after the clock has come back, a key lives as long as the clock says, and no
// duration is negative.
func TestClockSteps(t *testing.T) {
	for _, step := range []time.Duration{-time.Hour, time.Hour} {
		b := newBench(t, 1<<30)
		b.OK(t, "CONFIG SET slowlog-log-slower-than 0")
		b.OK(t, "CONFIG SET latency-monitor-threshold 1")
		b.OK(t, "FILTER.CREATE f window CAPACITY 1000 SPAN 60s GENERATIONS 6 BURST 6")
		b.OK(t, "SET key x EX 7200")
		b.add("f", "before", 0, 100)
		jump := func(d time.Duration) {
			b.Now = b.Now.Add(d)
			if got := b.Line("GET key"); got != `"x"` {
				t.Errorf("%v: GET of a key with two hours left = %s", step, got)
			}
		}
		jump(step)
		b.add("f", "away", 0, 100)
		b.hasAll(t, "f", "away", 0, 100)
		if step < 0 {
			b.hasAll(t, "f", "before", 0, 100)
		}
		b.Crash(t)
		jump(-step)
		b.add("f", "back", 0, 100)
		b.Now = b.Now.Add(49 * time.Second)
		b.hasAll(t, "f", "back", 0, 100)
		b.hasAll(t, "f", "away", 0, 100)
		b.Now = b.Now.Add(time.Hour + 2*time.Minute)
		b.add("f", "last", 0, 1)
		if got := b.Do(append([]string{"FILTER.HAS", "f"}, itemsOf("back", 0, 100)...)...); strings.Count(got, "true") > 10 {
			t.Errorf("%v: when the time has come that the clock showed, the window does not forget", step)
		}
		if got := b.Line("TTL key"); got != ":3431" && got != ":3430" {
			t.Errorf("%v: TTL = %s", step, got)
		}
		for _, line := range []string{"SLOWLOG GET -1", "LATENCY LATEST", "LATENCY HISTOGRAM", "INFO commandstats", "FILTER.INFO f", "FILTER.HEALTH"} {
			if got := b.Line(line); strings.HasPrefix(got, "-") || strings.Contains(got, ":-") || strings.Contains(got, "=-") {
				t.Errorf("%v: %s = %.2000s", step, line, got)
			}
		}
	}
}
