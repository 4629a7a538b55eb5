//go:build bloomerydebug

package filter_test

import (
	"runtime"
	"testing"
	"time"

	"github.com/bloomery/bloomery/server/internal/order"
	"github.com/bloomery/bloomery/server/internal/store"
)

// TestUnionHoldsPartsShortly unites two filters of 64 MiB and asks the debug build
// how long the lock of a part was held: in pieces, not for a whole part.
func TestUnionHoldsPartsShortly(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the time of a thread is not known")
	}
	const limit = 2 * time.Millisecond
	b := newBench(t, 1<<40)
	b.WithoutLog(t)
	b.Do("FILTER.CREATE", "a", "bloom", "CAPACITY", "54000000")
	b.Do("FILTER.CREATE", "b", "bloom", "LIKE", "a")
	b.Do("FILTER.ADD", "a", "x", "y")
	b.Do("FILTER.ADD", "b", "z")
	if bytes := store.Cost("", b.State.Names.Lookup([]byte("b"), 0)); bytes < 64<<20 {
		t.Fatalf("the filter takes %d bytes, want 64 MiB", bytes)
	}
	longest := time.Hour
	for range 5 { // in the first the system makes the pages of b
		order.Record(true)
		order.Take()
		got := b.Do("FILTER.UNION", "b", "a")
		report := order.Take()
		order.Record(false)
		if got != "+OK" {
			t.Fatal(got)
		}
		t.Logf("longest hold of a part: %v", report.LongestPart)
		longest = min(longest, report.LongestPart)
	}
	if longest > limit {
		t.Errorf("each UNION held the lock of a part for %v or longer, want at most %v", longest, limit)
	}
	if got := b.Do("FILTER.HAS", "b", "x", "y", "z"); got != "[true true true]" {
		t.Error(got)
	}
}
