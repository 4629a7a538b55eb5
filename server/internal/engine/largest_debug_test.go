//go:build bloomerydebug

package engine_test

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/bloomery/bloomery/server/internal/command"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/order"
	"github.com/bloomery/bloomery/server/internal/traits"
)

// TestLargestCallsHoldLocksShortly runs every command with its largest input, outside of
// transactions, and asks for how long it has held the gate, or the lock of a part, by the
// processor: that is what another client waits.
func TestLargestCallsHoldLocksShortly(t *testing.T) {
	if runtime.GOOS != "linux" || *largestMiB == 0 {
		t.Skip("it takes long: see -largest, on Linux")
	}
	const limit = 20 * time.Millisecond
	b := newDisk(t, 64<<30)
	values := fillLargest(b.client, *largestMiB<<20)
	call := 0
	eachLine := func(line string) {
		var gate, part time.Duration
		var worst string
		for range tries {
			if strings.Contains(line, "parts{i}") {
				call = 0
				makeSmall(b.client)
			}
			gate, part, worst = b.holds(largestCall(line, call, values), largestCall(line, call+1, values))
			if call += 2; gate <= limit && part <= limit {
				t.Logf("gate %v, part %v: %.60s", gate, part, line)
				return
			}
		}
		t.Errorf("%.60s has held the gate for %v, the lock of a part for %v, want at most %v\n%.1500s", line, gate, part, limit, worst)
	}
	each := func(c *engine.Command) {
		lines, ok := largest[c.FullName()]
		if !ok || len(c.Subcommands) > 0 || c.Flags&(traits.NoMulti|traits.Immediate) != 0 {
			return
		}
		for line := range strings.SplitSeq(lines, "\n") {
			eachLine(line)
		}
	}
	var last []*engine.Command
	engine.NewTable(command.All()).Walk(func(c *engine.Command) {
		if strings.HasPrefix(c.Name, "flush") {
			last = append(last, c)
		} else {
			each(c)
		}
	})
	for _, c := range last {
		each(c)
	}
}

// holds returns for how long one call has held the gate, and another one, of the same
// command, the lock of a part: to record locks itself takes long.
func (b *bench) holds(first, second []string) (gate, part time.Duration, worst string) {
	b.engine.GateReport()
	b.exec(bytesOf(first))
	held := b.engine.GateReport()
	for _, h := range held.Shared {
		gate = max(gate, h.CPU)
	}
	order.Record(true)
	order.Take()
	b.exec(bytesOf(second))
	report := order.Take()
	order.Record(false)
	if worst = report.WorstPart; gate > report.LongestPart {
		worst = held.Worst
	}
	return gate, report.LongestPart, worst
}
