package filter_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/bloomery/bloomery/server/internal/command/commandtest"
)

// TestWhereCountsBeforeItTakes asks for items that are in all filters, whose names would
// take more than there is: that is refused before memory is taken for it, and nothing stays
// counted.
func TestWhereCountsBeforeItTakes(t *testing.T) {
	const filters, items, most = 64, 5000, 24 << 20
	b := newBench(t, most)
	b.WithoutLog(t)
	for i := range filters {
		if got := b.Line(fmt.Sprintf("FILTER.CREATE f%d bloom CAPACITY %d", i, items)); got != "+OK" {
			t.Fatal(got)
		}
		b.Do(append([]string{"FILTER.ADD", fmt.Sprint("f", i)}, itemsOf("", 0, items)...)...)
	}
	where := commandtest.Bytes(append([]string{"FILTER.WHERE", "*"}, itemsOf("", 0, items)...))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got := b.Exec(where)[0]
	runtime.ReadMemStats(&after)
	if !strings.HasPrefix(got.Text, "OOM") {
		t.Fatalf("a reply of %d names with %d bytes of memory: %.100s", filters*items, most, commandtest.Show(got))
	}
	if taken := after.TotalAlloc - before.TotalAlloc; taken > most/8 {
		t.Errorf("%d bytes were taken for what was refused", taken)
	}
	b.Engine.Release(b.Session)
	if held := b.Engine.Budget.Clients(); held != 0 {
		t.Errorf("%d bytes stay counted", held)
	}
	// One filter of them fits, and is answered in full.
	if got := b.Exec(append(commandtest.Bytes([]string{"FILTER.WHERE", "f7"}), where[2:]...))[0]; len(got.Elems) != 2*items || len(got.Elems[1].Elems) != 1 {
		t.Errorf("FILTER.WHERE f7 has %d elements: %.100s", len(got.Elems), commandtest.Show(got))
	}
}
