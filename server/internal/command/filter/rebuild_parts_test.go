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
	b.Script(t, "FILTER.REBUILD f BEGIN CAPACITY 3000 PARTS 1 -> +OK")
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

// TestRebuildKeepsParts asks that a rebuild has as many parts as the filter, unless it is told otherwise or needs
// more.
func TestRebuildKeepsParts(t *testing.T) {
	b := newBench(t, 1<<30)
	for i, tt := range []struct{ create, begin, want string }{
		{"bloom CAPACITY 1000 PARTS 16", "", "16"},
		{"bloom CAPACITY 1000 PARTS 16", "CAPACITY 50", "16"},
		{"bloom CAPACITY 1000 PARTS 16", "PARTS 4", "4"},
		{"bloom CAPACITY 1000 PARTS 16", "cuckoo CAPACITY 2000", "16"},
		{"bloom CAPACITY 1000 PARTS 16", "fuse8", "16"},
		{"bloom CAPACITY 1000 PARTS 16", "ribbon PARTS 2", "2"},
		{"bloom CAPACITY 1000 PARTS 2048", "quorum CAPACITY 100", "1024"}, // three members of each
		{"bloom CAPACITY 1000 PARTS 2", "CAPACITY 60000000", "8"},
		{"bloom CAPACITY 1000 PARTS 2", "fuse8 CAPACITY 9000000", "8"},
		{"bloom CAPACITY 1000", "", "1"},
	} {
		name := fmt.Sprint("f", i)
		b.OK(t, "FILTER.CREATE "+name+" "+tt.create)
		b.add(name, "a", 0, 100)
		b.OK(t, "FILTER.REBUILD "+name+" BEGIN "+tt.begin)
		if got := b.status(t, name, "parts"); got != tt.want {
			t.Errorf("%s, BEGIN %s: %s parts, want %s", tt.create, tt.begin, got, tt.want)
		}
		b.feed(t, name, "a", 0, 100)
		b.OK(t, "FILTER.REBUILD "+name+" COMMIT")
		b.hasAll(t, name, "a", 0, 100)
		b.Line("DEL " + name)
	}
	b.Script(t, `
		FILTER.CREATE f bloom -> +OK
		FILTER.REBUILD f BEGIN PARTS 3 -> -ERR PARTS must be a power of two from 1 to 4096
		FILTER.REBUILD f BEGIN fuse8 CAPACITY 1000000000 PARTS 1 -> -ERR PARTS 1: the hashes of a part would take more than 268435456 bytes
		FILTER.REBUILD f BEGIN bloom CAPACITY 1000000000 PARTS 1 -> -ERR bloom: PARTS 1: a part would take more than 268435456 bytes`)
	b.Crash(t)
}
