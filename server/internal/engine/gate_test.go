//go:build bloomerydebug

package engine_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bloomery/bloomery/server/internal/gate"
)

// longestHold is how long the gate may be held: a millisecond, on a machine that others slow down at times.
const longestHold = 5 * time.Millisecond

// TestGateIsHeldShortly has clients read, write and run transactions while one of
// them does something long, and asks how long the gate was held at most, that
// nobody waited inside it, and how long others waited for their replies.
func TestGateIsHeldShortly(t *testing.T) {
	capacity := 200_000_000 // 262 MiB
	if testing.Short() {
		capacity /= 20
	}
	b := newDisk(t, 8<<30)
	if got := b.line(fmt.Sprint("BF.RESERVE large 0.01 ", capacity)); got != "+OK" {
		t.Fatal(got)
	}
	for i := range 200 {
		items := []string{"BF.MADD", "large"}
		for j := range 500 {
			items = append(items, fmt.Sprint(i, "-", j))
		}
		b.do(items...)
	}
	b.line(fmt.Sprint("BF.RESERVE dumped 0.01 ", capacity*3/10)) // a larger one is refused
	b.line("BF.RESERVE small 0.01 100000")
	b.line("CF.RESERVE cuckoo 100000")
	for i := range 20_000 {
		b.do("SET", fmt.Sprint("name", i), "v")
	}
	long := strings.Repeat("x", 64<<20)
	dump := b.exec([][]byte{[]byte("DUMP"), []byte("large")})[0].Text
	for _, tt := range []struct {
		name string
		long func(c *client) string
	}{
		{"SAVE", func(c *client) string { c.line("BF.ADD large save"); return c.line("SAVE") }},
		{"DUMP", func(c *client) string {
			return c.exec([][]byte{[]byte("DUMP"), []byte("large")})[0].Text[:1]
		}},
		{"DUMP in EXEC", func(c *client) string {
			c.line("MULTI")
			c.line("DUMP dumped")
			got := c.exec([][]byte{[]byte("EXEC")})[0]
			if len(got.Elems) != 1 || len(got.Elems[0].Text) < capacity/4 {
				t.Errorf("EXEC of DUMP = %.200s", show(got))
			}
			return "+OK"
		}},
		{"RESTORE", func(c *client) string { return c.do("RESTORE", "again", "0", dump, "REPLACE") }},
		{"KEYS", func(c *client) string { return fmt.Sprint(len(c.line("KEYS n*9*9*"))) }},
		{"SCAN", func(c *client) string { return fmt.Sprint(len(c.line("SCAN 0 COUNT 100000"))) }},
		{"MADD", func(c *client) string {
			items := [][]byte{[]byte("BF.MADD"), []byte("large")}
			for i := range 100_000 {
				items = append(items, fmt.Append(nil, "many", i))
			}
			return fmt.Sprint(len(c.exec(items)[0].Bools))
		}},
		{"SET", func(c *client) string { return c.do("SET", "long", long) }},
		{"SET in EXEC", func(c *client) string {
			return fmt.Sprint(c.lines("MULTI"), c.do("SET", "other", long), c.line("EXEC"))
		}},
		{"GETSET", func(c *client) string {
			return c.exec([][]byte{[]byte("GETSET"), []byte("long"), []byte(long)})[0].Text[:1]
		}},
		{"APPEND", func(c *client) string { return c.do("APPEND", "long", "x") + c.do("APPEND", "long", long) }},
		{"SETRANGE", func(c *client) string {
			return c.do("SETRANGE", "long", "10", "x") + c.do("SETRANGE", "long", "10", long)
		}},
		{"COPY", func(c *client) string { return c.line("COPY long other REPLACE") }},
		{"RESTORE of a string", func(c *client) string { return c.do("RESTORE", "long", "0", bomb(200_000), "REPLACE") }},
		{"COMPACT", func(c *client) string { poured(c, "poured"); return c.line("CF.COMPACT poured") }},
		{"DEL", func(c *client) string {
			names := []string{"DEL"}
			var sets [][][]byte
			for i := range 10_000 {
				names = append(names, fmt.Sprint("name", i))
				sets = append(sets, [][]byte{[]byte("SET"), []byte(names[i+1]), []byte("v")})
			}
			for batch := range slices.Chunk(sets, 500) {
				c.exec(batch...)
			}
			return c.do(names...)
		}},
		{"FLUSHALL", func(c *client) string { return c.line("FLUSHALL") }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var long string
			for range tries {
				if long = b.beside(t, tt.name, tt.long); long == "" {
					return
				}
			}
			t.Error(long)
		})
	}
}

// beside runs something long beside clients that read, write and run transactions.
// It returns what held the gate for too long, "" if nothing did.
func (b *bench) beside(t *testing.T, name string, long func(*client) string) string {
	b.engine.GateReport()
	var stop atomic.Bool
	var wg sync.WaitGroup
	var replies [3][]time.Duration
	for i := range replies {
		c := b.connect()
		wg.Go(func() {
			for n := 0; !stop.Load(); n++ {
				began := time.Now()
				switch i {
				case 0:
					c.lines("MULTI", "BF.ADD small x", fmt.Sprint("SET t ", n), "EXEC")
				case 1:
					c.lines(fmt.Sprint("BF.ADD large ", n), fmt.Sprint("CF.ADD cuckoo ", n), "BF.EXISTS small x", "CF.EXISTS poured 1")
				default:
					c.line("PING")
				}
				replies[i] = append(replies[i], time.Since(began))
			}
		})
	}
	began := time.Now()
	got := long(b.connect())
	took := time.Since(began)
	stop.Store(true)
	wg.Wait()
	r := b.engine.GateReport()
	shared, alone := sum(r.Shared), sum(r.Alone)
	t.Logf("%s = %.20s", name, got)
	t.Logf("shared: %s", shared)
	t.Logf("alone: %s", alone)
	// The row that make bench-server puts on its page.
	t.Logf("| %s | %v | %v | %v | %d | %s | %s | %s |", name, round(took), round(max(shared.cpu, alone.cpu)),
		round(max(shared.wall999, alone.wall999)), len(r.Waits), slowest(replies[0]), slowest(replies[1]), slowest(replies[2]))
	if len(r.Waits) > 0 {
		t.Errorf("%d waits inside the gate, the first: %s", len(r.Waits), r.Waits[0])
	}
	if m := max(shared.cpu, alone.cpu); m > longestHold {
		return fmt.Sprintf("a hold took %v of the processor, want at most %v:\n%s", m, longestHold, r.Worst)
	}
	return ""
}

// slowest describes how long replies took.
func slowest(replies []time.Duration) string {
	if len(replies) == 0 {
		return "none"
	}
	slices.Sort(replies)
	return fmt.Sprint(round(replies[len(replies)*999/1000]), ", ", round(replies[len(replies)-1]))
}

// round leaves three digits or so.
func round(d time.Duration) time.Duration {
	step := time.Microsecond
	for d/step >= 1000 {
		step *= 10
	}
	return d.Round(step)
}

// holds describes holds of the gate.
type holds struct {
	n, blocked           int
	cpu, wall, wall999   time.Duration
	blockedWall, half999 time.Duration
}

func sum(list []gate.Hold) holds {
	h := holds{n: len(list)}
	var walls []time.Duration
	for _, v := range list {
		h.cpu, h.wall = max(h.cpu, v.CPU), max(h.wall, v.Wall)
		walls = append(walls, v.Wall)
		if v.Blocked {
			h.blocked++
			h.blockedWall = max(h.blockedWall, v.Wall)
		}
	}
	slices.Sort(walls)
	if len(walls) > 0 {
		h.half999, h.wall999 = walls[len(walls)/2], walls[len(walls)*999/1000]
	}
	return h
}

func (h holds) String() string {
	return fmt.Sprintf("%d holds, longest by processor %v; by the clock median %v, 99.9%% %v, longest %v; %d blocked, up to %v",
		h.n, h.cpu, h.half999, h.wall999, h.wall, h.blocked, h.blockedWall)
}
