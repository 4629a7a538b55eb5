package filter_test

import (
	"strings"
	"testing"
)

// TestRebuildWithoutMemory lets a shadow run out of memory: adds go on, the rebuild is
// broken, and it can be given up with the budget full.
func TestRebuildWithoutMemory(t *testing.T) {
	for _, kind := range []string{"scalable CAPACITY 100", "growing CAPACITY 100", "fuse8 CAPACITY 100000"} {
		b := newBench(t, 4<<20)
		b.OK(t, "FILTER.CREATE f bloom CAPACITY 100000")
		b.OK(t, "FILTER.REBUILD f BEGIN "+kind)
		left := int(b.Engine.Budget.Left())
		b.OK(t, "SET s "+strings.Repeat("x", left-10_000))
		for i := range 30 {
			got := b.Do(append([]string{"FILTER.ADD", "f"}, itemsOf("a", 200*i, 200*i+200)...)...)
			if !strings.HasPrefix(got, "[") || strings.Contains(got, "-") {
				t.Fatalf("%s: ADD with a shadow that has no memory: %s", kind, got)
			}
		}
		if got := b.status(t, "f", "state"); got != "broken" {
			t.Errorf("%s: state %s, want broken", kind, got)
		}
		b.hasAll(t, "f", "a", 0, 6000)
		b.Do("CONFIG", "SET", "maxmemory", "1000000")
		b.OK(t, "FILTER.REBUILD f ABORT")
		b.Crash(t)
	}
}
