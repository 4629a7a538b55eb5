package command_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// TestWhereCountsBeforeItTakes asks for items that are in all filters, whose names would
// take more than there is: that is refused before memory is taken for it, and nothing stays
// counted.
func TestWhereCountsBeforeItTakes(t *testing.T) {
	const filters, items, most = 64, 5000, 24 << 20
	b := newBench(t, most)
	b.withoutLog(t)
	for i := range filters {
		if got := b.line(fmt.Sprintf("FILTER.CREATE f%d bloom CAPACITY %d", i, items)); got != "+OK" {
			t.Fatal(got)
		}
		b.line(values(fmt.Sprint("FILTER.ADD f", i), items))
	}
	where := bytesOf(strings.Fields(values("FILTER.WHERE *", items)))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got := b.exec(where)[0]
	runtime.ReadMemStats(&after)
	if !strings.HasPrefix(got.Text, "OOM") {
		t.Fatalf("a reply of %d names with %d bytes of memory: %.100s", filters*items, most, show(got))
	}
	if taken := after.TotalAlloc - before.TotalAlloc; taken > most/8 {
		t.Errorf("%d bytes were taken for what was refused", taken)
	}
	b.engine.Release(b.session)
	if held := b.engine.Budget.Clients(); held != 0 {
		t.Errorf("%d bytes stay counted", held)
	}
	// One filter of them fits, and is answered in full.
	if got := b.exec(append(bytesOf([]string{"FILTER.WHERE", "f7"}), where[2:]...))[0]; len(got.Elems) != 2*items || len(got.Elems[1].Elems) != 1 {
		t.Errorf("FILTER.WHERE f7 has %d elements: %.100s", len(got.Elems), show(got))
	}
}
