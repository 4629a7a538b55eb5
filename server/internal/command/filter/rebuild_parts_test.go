package filter_test

import (
	"fmt"
	"strings"
	"testing"
)

// TestRebuildOfOnePart rebuilds a filter of four parts as one of one: its capacity is
// shown, and deletes from every part are counted.
func TestRebuildOfOnePart(t *testing.T) {
	b := newBench(t, 1<<30)
	b.Line("FILTER.CREATE f cuckoo CAPACITY 2000 PARTS 4")
	for i := range 40 {
		b.Line(fmt.Sprint("FILTER.ADD f item", i))
	}
	b.Script(t, "FILTER.REBUILD f BEGIN CAPACITY 3000 -> +OK")
	for i := range 40 {
		b.Script(t, fmt.Sprintf("FILTER.REBUILD f FEED item%d -> :1\nFILTER.DEL f item%[1]d -> [true]", i))
	}
	for name, want := range map[string]string{"capacity": "3000", "parts": "1", "fed": "40", "deleted": "40", "items": "40", "old_items": "0"} {
		if got := b.status(t, "f", name); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
}

// TestRebuildOfManyParts rebuilds a small filter as a large one of several parts:
// items that come together during the rebuild are in it, each in its part.
func TestRebuildOfManyParts(t *testing.T) {
	b := newBench(t, 1<<30)
	b.Line("FILTER.CREATE f bloom CAPACITY 1000")
	b.Script(t, "FILTER.REBUILD f BEGIN CAPACITY 15000000 -> +OK")
	if parts := b.status(t, "f", "parts"); parts == "1" {
		t.Fatal("the new filter has one part")
	}
	has := []string{"FILTER.HAS", "f"}
	for i := range 50 { // half of the pairs are for two parts
		added, fed := fmt.Sprintf("added%d more%[1]d", i), fmt.Sprintf("fed%d fed%[1]dtoo", i)
		b.Line("FILTER.ADD f " + added)
		b.Script(t, "FILTER.REBUILD f FEED "+fed+" -> :2")
		has = append(has, strings.Fields(added+" "+fed)...)
	}
	b.Script(t, "FILTER.REBUILD f COMMIT FORCE -> +OK")
	if got := b.Do(has...); strings.Contains(got, "false") {
		t.Errorf("items are missing after the rebuild: %s", got)
	}
	if got := b.Line("FILTER.HAS f none1 none2 none3"); got != "[false false false]" {
		t.Errorf("items that were never there: %s", got)
	}
	b.Crash(t)
}
