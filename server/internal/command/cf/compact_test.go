package cf_test

import (
	"fmt"
	"testing"

	"github.com/bloomery/bloomery/server/internal/command/commandtest"
)

// TestCuckooShrinks deletes most of what is in many sub-filters: what is left moves
// together, at deletes and by CF.COMPACT.
func TestCuckooShrinks(t *testing.T) {
	for _, items := range []int{60, 3000} { // compacted at once, and in pieces
		b := commandtest.New(t, 1<<30)
		b.Line("CF.RESERVE c 8 BUCKETSIZE 2 EXPANSION 1")
		filters := func() (n int) {
			info := b.Exec(commandtest.Fields("CF.INFO c"))[0].Elems
			for i := 0; i+1 < len(info); i += 2 {
				if info[i].Text == "Number of filters" {
					n = int(info[i+1].N)
				}
			}
			return n
		}
		for i := range items {
			if got := b.Line(fmt.Sprint("CF.ADD c item", i)); got != ":1" {
				if i < 50 {
					t.Fatalf("CF.ADD of item %d = %s", i, got)
				}
				items = i // no more sub-filters: enough
				break
			}
		}
		full := filters()
		left := items / 20
		for i := left; i < items; i++ {
			if got := b.Line(fmt.Sprint("CF.DEL c item", i)); got != ":1" {
				t.Fatalf("CF.DEL of item %d = %s", i, got)
			}
		}
		deleted := filters()
		if got := b.Line("CF.COMPACT c"); got != "+OK" {
			t.Fatalf("CF.COMPACT = %s", got)
		}
		compact := filters()
		if full < 4 || deleted >= full || compact > deleted || compact > max(1, full/4) {
			t.Errorf("%d items: %d sub-filters, %d after deletes, %d after CF.COMPACT", items, full, deleted, compact)
		}
		for i := range left {
			if got := b.Line(fmt.Sprint("CF.EXISTS c item", i)); got != ":1" {
				t.Fatalf("item %d is forgotten: %s", i, got)
			}
		}
	}
}

// TestCuckooShrinksInPieces deletes from a filter that is too large to be compacted at
// once: it shrinks behind the deletes.
func TestCuckooShrinksInPieces(t *testing.T) {
	b := commandtest.New(t, 1<<30)
	b.Line("CF.RESERVE c 4096 BUCKETSIZE 2")
	const items, step = 24_000, 1000
	for i := 0; i < items; i += step {
		words := []string{"CF.INSERT", "c", "ITEMS"}
		for j := range step {
			words = append(words, fmt.Sprint(i+j))
		}
		b.Do(words...)
	}
	filters := func() int64 { return b.Exec(commandtest.Fields("CF.INFO c"))[0].Elems[5].N }
	full := filters()
	remove := func(from, to int) {
		for i := from; i < to; i++ {
			if got := b.Line(fmt.Sprint("CF.DEL c ", i)); got != ":1" {
				t.Fatalf("CF.DEL of item %d = %s", i, got)
			}
		}
	}
	remove(items/2, items)
	if got := filters(); full < 5 || got >= full {
		t.Errorf("%d sub-filters, %d after half of the items were deleted", full, got)
	}
	remove(2000, items/2)
	if got := filters(); got > full/2 {
		t.Errorf("%d sub-filters, %d after deletes", full, got)
	}
	for i := range 2000 {
		if got := b.Line(fmt.Sprint("CF.EXISTS c ", i)); got != ":1" {
			t.Fatalf("item %d is forgotten: %s", i, got)
		}
	}
	b.Crash(t)
}
