package engine_test

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bloomery/bloomery/server/internal/door/cluster"
	"github.com/bloomery/bloomery/server/internal/door/cluster/memlog"
)

// waited runs a pipeline and returns how long its client has waited.
func (c *client) waited(lines ...string) time.Duration {
	began := time.Now()
	c.lines(lines...)
	return time.Since(began)
}

// micros returns a number that a line has behind a name.
func micros(t *testing.T, text, name string) int64 {
	t.Helper()
	m := regexp.MustCompile(regexp.QuoteMeta(name) + `(\d+)`).FindStringSubmatch(text)
	if m == nil {
		t.Fatalf("no %s in %.300s", name, text)
	}
	n, _ := strconv.ParseInt(m[1], 10, 64)
	return n
}

// TestLatencyHasTheWait asks a node whose records take their time to be kept, and whose own work takes none since time is
// simulated: what it has measured is what its client has waited for, to the microsecond.
func TestLatencyHasTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := memlog.New(1, memlog.Faults{Answer: time.Second})
		b, d, _ := newNodeOf(t, log, cluster.Config{})
		upgrade(t, d)
		b.live = true
		b.lines("BF.RESERVE one 0.01 100", "BF.RESERVE many 0.01 100", "BF.RESERVE other 0.01 100", "FILTER.CREATE slow bloom CAPACITY 100000 SLA 1000", "SET s v", "CONFIG RESETSTAT")
		log.SetFaults(memlog.Faults{Delay: 40 * time.Millisecond, Answer: time.Second})
		var alone, together, block time.Duration
		for i := range 10 {
			alone += b.waited(fmt.Sprint("BF.ADD one ", i))
			// Two bundles that wait side by side; of the first each call waits as long as its client.
			together += 3 * b.waited(fmt.Sprint("BF.MADD many ", i), fmt.Sprint("BF.MADD many x", i), fmt.Sprint("BF.MADD many y", i), "GET s", "ECHO x")
			b.line("MULTI")
			b.line(fmt.Sprint("BF.INSERT other ITEMS ", i))
			block += b.waited("EXEC")
		}
		stats := b.line("INFO commandstats")
		for _, tt := range []struct {
			name  string
			calls int
			want  time.Duration
		}{{"bf.add", 10, alone}, {"bf.madd", 30, together}, {"exec", 10, block}, {"bf.insert", 10, block}} {
			prefix := fmt.Sprintf("cmdstat_%s:calls=%d,usec=", tt.name, tt.calls)
			if got := micros(t, stats, prefix); got != tt.want.Microseconds() || tt.want < 10*time.Millisecond {
				t.Errorf("%s: %d µs, and its clients have waited for %d", tt.name, got, tt.want.Microseconds())
			}
			_, line, _ := strings.Cut(stats, prefix)
			if here := micros(t, line, "usec_in_node="); here != 0 {
				t.Errorf("%s: %d µs in this node", tt.name, here)
			}
		}
		if got := micros(t, stats, "cmdstat_get:calls=10,usec="); got != 0 {
			t.Errorf("reads beside writes waited for %d µs", got)
		}
		got := b.line("LATENCY HISTOGRAM bf.add")
		if !strings.HasSuffix(got, `"histogram_usec_in_node" [:1 :10]]]`) || strings.Contains(got, `"histogram_usec" [:1 :`) {
			t.Errorf("LATENCY HISTOGRAM = %s", got)
		}
		if got := b.line("SLOWLOG LEN"); got != ":0" {
			t.Errorf("%s commands are slow by themselves", got)
		}
		// The SLA of a filter sees it, and says that another kind of filter would not help.
		var adds []string
		for i := range 1200 {
			adds = append(adds, fmt.Sprint("FILTER.ADD slow ", i))
		}
		b.lines(adds...)
		b.engine.Health().Poke()
		time.Sleep(time.Minute)
		if info := b.line("FILTER.INFO slow"); micros(t, info, `"add_p99_us" `) < 1000 {
			t.Errorf("FILTER.INFO = %s", info)
		}
		// A call that fails while it waits has failed.
		log.SetDown(true)
		if got := b.line("BF.ADD one late"); !strings.HasPrefix(got, "-UNKNOWN") {
			t.Errorf("without a quorum: %s", got)
		}
		if stats := b.line("INFO commandstats"); micros(t, stats, "cmdstat_bf.add:calls=11,usec=") < 1_000_000 || !strings.Contains(stats, "rejected_calls=0,failed_calls=1") {
			t.Errorf("a write that failed: %s", stats)
		}
	})
}

// TestLatencyHasOtherNodes asks a node for what others hold.
func TestLatencyHasOtherNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newSpread(t, memlog.Faults{})
		b := v.nodes[0]
		b.live = true
		for i := range 8 {
			b.line("BF.ADD " + away(0, i) + " x")
		}
		time.Sleep(time.Second)
		b.line("CONFIG RESETSTAT")
		v.peers.SetFault(func(uint32) memlog.Fault { return memlog.Fault{Delay: 3 * time.Millisecond} })
		var want time.Duration
		for i := range 8 {
			want += b.waited("BF.EXISTS " + away(0, i) + " x")
		}
		stats := b.line("INFO commandstats")
		if got := micros(t, stats, "cmdstat_bf.exists:calls=8,usec="); got != want.Microseconds() || want < 3*time.Millisecond {
			t.Errorf("%d µs, and clients have waited for %d", got, want.Microseconds())
		}
		if got := micros(t, stats, "usec_in_node="); got != 0 {
			t.Errorf("%d µs in this node", got)
		}
	})
}
