//go:build bloomerydebug

package engine_test

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/bloomery/bloomery/server/internal/order"
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
	eachLargest(t, func(line string) {
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
	})
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
