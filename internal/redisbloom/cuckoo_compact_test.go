package redisbloom_test

import (
	"bytes"
	"encoding/binary"
	"flag"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/bloomery/bloomery/internal/redisbloom"
)

// compactPieces compacts c in pieces of n slots and calls between after each.
func compactPieces(t *testing.T, c *redisbloom.Cuckoo, n uint64, between func()) {
	t.Helper()
	at := c.CompactFrom()
	for range 1 << 20 {
		next, _ := c.CompactPiece(at, n)
		if next.Filter == 0 {
			return
		}
		if next.Filter > at.Filter || next.Filter == at.Filter && next.Slot <= at.Slot {
			t.Fatalf("the piece behind %+v is %+v", at, next)
		}
		at = next
		between()
	}
	t.Fatal("there is no end of pieces")
}

// filled returns a cuckoo filter of several sub-filters from which some items
// were deleted, and how often it has each item.
func filled(t *testing.T, rng *rand.Rand, expansion uint16) (*redisbloom.Cuckoo, map[int]int) {
	t.Helper()
	c := newCuckoo(t, redisbloom.CuckooParams{
		Capacity: 16, BucketSize: uint16(1 + rng.IntN(2)), MaxIterations: 5, Expansion: expansion,
	})
	counts := map[int]int{}
	for range 100 + rng.IntN(900) {
		key := rng.IntN(300)
		if c.Insert(item(key)) == nil {
			counts[key]++
		}
	}
	for key := range counts {
		// Few enough that no delete compacts the filter.
		if rng.IntN(12) == 0 && c.Delete(item(key)) {
			counts[key]--
		}
	}
	return c, counts
}

// TestCuckooCompactSlots asks that few steps pass over many empty slots, and that an
// item costs a step for each older sub-filter.
func TestCuckooCompactSlots(t *testing.T) {
	empty := newCuckoo(t, redisbloom.CuckooParams{Capacity: 1024, BucketSize: 2, MaxIterations: 5, Expansion: 1})
	for _, tt := range []struct{ slot, steps, want uint64 }{
		{0, 1, 16}, {0, 4, 64}, {1020, 100, 4}, {1024, 100, 1}, {5000, 100, 1}, {0, 0, 1},
	} {
		if got := empty.CompactSlots(redisbloom.Place{Slot: tt.slot}, tt.steps); got != tt.want {
			t.Errorf("%d steps from slot %d on: %d slots, want %d", tt.steps, tt.slot, got, tt.want)
		}
	}
	c, _ := filled(t, rand.New(rand.NewPCG(13, 14)), 1)
	at := c.CompactFrom()
	if at.Filter < 3 {
		t.Fatalf("%d sub-filters are too few for this test", c.Filters())
	}
	// Half a sub-filter of 16 slots is not empty: a step for each older one.
	if got := c.CompactSlots(redisbloom.Place{Filter: 1}, 2*at.Filter); got < 2 {
		t.Errorf("room for %d slots", got)
	}
	if got := c.CompactSlots(redisbloom.Place{Filter: at.Filter - 1}, at.Filter); got > 15 {
		t.Errorf("room for %d slots of 16 in a few steps", got)
	}
	if got := c.CompactSlots(redisbloom.Place{Filter: at.Filter + 9}, 100); got != 1 {
		t.Errorf("room for %d slots behind the last sub-filter", got)
	}
}

// TestCuckooCompactsIn counts the steps of full filters whose headers claim few items, and deletes
// from them. Pieces of large buckets have fewer slots.
func TestCuckooCompactsIn(t *testing.T) {
	le := binary.LittleEndian
	for _, tt := range []struct {
		filters      uint64
		bucket       uint16
		steps, slots uint64 // of a compaction, and of a piece that has 10,000 steps
	}{
		{2, 4, 1 + 64/16 + 64, 64},
		{9, 4, 8 + 8*64/16 + 64*(1+2+3+4+5+6+7+8), 64},
		{2, 255, 1 + 16*255/16 + 16*255*4, 10_000 * 16 / (1 + 16*4)},
	} {
		header := le.AppendUint64(le.AppendUint64(nil, 9), 16)
		header = le.AppendUint64(le.AppendUint64(header, 0), tt.filters)
		header = le.AppendUint16(le.AppendUint16(le.AppendUint16(header, tt.bucket), 20), 1)
		h, err := redisbloom.ParseCuckooHeader(header)
		if err != nil {
			t.Fatal(err)
		}
		for i, due := range []bool{true, false} { // a step less is too few
			c := newFromHeader(t, h)
			size := 16 * uint64(tt.bucket)
			for k := range tt.filters {
				if err := c.LoadAt(k*size, bytes.Repeat([]byte{1}, int(size))); err != nil {
					t.Fatal(err)
				}
			}
			if got := c.CompactSlots(c.CompactFrom(), 10_000); got != tt.slots {
				t.Errorf("%d sub-filters of buckets of %d: a piece of %d slots, want %d", tt.filters, tt.bucket, got, tt.slots)
			}
			if steps := tt.steps - 1 + uint64(i); c.CompactsIn(steps, 1) == due {
				t.Errorf("%d sub-filters of buckets of %d: compacts in %d steps: %t", tt.filters, tt.bucket, steps, !due)
			}
			if !c.CompactsIn(0, 0) {
				t.Error("a filter that is not to be compacted takes steps for it")
			}
			if got := c.DeleteDigestsLazily(make([]bool, 1), []uint64{0}, 0); !got {
				t.Errorf("%d sub-filters of buckets of %d: compacts in no step", tt.filters, tt.bucket)
			}
		}
	}
}

// TestCuckooCompactsInNoTime has headers claim numbers that wrap around.
func TestCuckooCompactsInNoTime(t *testing.T) {
	le := binary.LittleEndian
	for _, deletes := range []uint64{5, math.MaxUint64, math.MaxUint64 - 3} {
		header := le.AppendUint64(le.AppendUint64(nil, 40), 16)
		header = le.AppendUint64(le.AppendUint64(header, deletes), 2)
		header = le.AppendUint16(le.AppendUint16(le.AppendUint16(header, 4), 20), 1)
		h, err := redisbloom.ParseCuckooHeader(header)
		if err != nil {
			t.Fatal(err)
		}
		if c := newFromHeader(t, h); c.CompactsIn(0, 4096) || c.CompactsIn(0, 4) {
			t.Errorf("a filter of which %d items were deleted is not to be compacted", deletes)
		}
	}
}

// TestCuckooCompactPieces asks that pieces of any size with nothing between them
// do what Compact does, to the byte, also if what one piece has learned for the
// next is lost.
func TestCuckooCompactPieces(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	dropped := 0
	for range 300 {
		c, _ := filled(t, rng, 1<<rng.IntN(2))
		whole, fresh := reloadCuckoo(t, c), reloadCuckoo(t, c)
		whole.Compact()
		n := uint64(1 + rng.IntN(100))
		before := c.Filters()
		compactPieces(t, c, n, func() {})
		if !bytes.Equal(cuckooBytes(t, c), cuckooBytes(t, whole)) {
			t.Fatalf("pieces of %d slots give other slots than Compact", n)
		}
		if c.Filters() < before {
			dropped++
		}
		compactPieces(t, fresh, n, func() {
			if rng.IntN(2) == 0 {
				*fresh = *reloadCuckoo(t, fresh)
			}
		})
		if !bytes.Equal(cuckooBytes(t, fresh), cuckooBytes(t, whole)) {
			t.Fatalf("pieces of %d slots give other slots after a reload", n)
		}
		if c.Deletes() != 0 || c.Bytes() != whole.Bytes() {
			t.Fatalf("%d deletes, %d bytes; Compact leaves 0, %d", c.Deletes(), c.Bytes(), whole.Bytes())
		}
	}
	if dropped == 0 {
		t.Error("no compaction dropped a sub-filter")
	}
}

// compactions is larger in make soak.
var compactions = flag.Int("compactions", 5, "how many filters TestCuckooChangesBetweenPieces compacts")

// TestCuckooChangesBetweenPieces inserts and deletes between the pieces of a
// compaction: no item is lost, and the slots are those of a filter that remembers
// nothing between two pieces.
func TestCuckooChangesBetweenPieces(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 14))
	for round := range *compactions {
		c, counts := filled(t, rng, 1<<rng.IntN(2))
		same := reloadCuckoo(t, c)
		n := uint64(1 + rng.IntN(60))
		at := c.CompactFrom()
		for at.Filter != 0 {
			next, changed := c.CompactPiece(at, n)
			same = reloadCuckoo(t, same)
			if again, did := same.CompactPiece(at, n); again != next || did != changed {
				t.Fatalf("round %d: a piece ends at %+v (%t), without a memory at %+v (%t)", round, next, changed, again, did)
			}
			at = next
			for range rng.IntN(4) {
				key := rng.IntN(400)
				if rng.IntN(3) > 0 {
					if c.Insert(item(key)) == nil {
						counts[key]++
					}
					_ = same.Insert(item(key))
				} else if counts[key] > 0 {
					counts[key]--
					c.Delete(item(key))
					same.Delete(item(key))
				}
			}
			if !bytes.Equal(cuckooBytes(t, c), cuckooBytes(t, same)) {
				t.Fatalf("round %d: the slots depend on what is remembered between pieces", round)
			}
		}
		for key, want := range counts {
			if got := c.Count(item(key)); got < uint64(want) {
				t.Fatalf("round %d: item %d is there %d times, was inserted %d times", round, key, got, want)
			}
		}
	}
}

// TestCompactPieceReportsTheDrop empties the newest of three sub-filters: the
// piece that drops it moves nothing and has changed the filter nevertheless.
func TestCompactPieceReportsTheDrop(t *testing.T) {
	c := newCuckoo(t, redisbloom.CuckooParams{Capacity: 64, BucketSize: 2, MaxIterations: 20, Expansion: 1})
	last := 0
	for ; c.Filters() < 3; last++ {
		if err := c.Insert(item(last)); err != nil {
			t.Fatal(err)
		}
	}
	if !c.Delete(item(last-1)) || c.Filters() != 3 {
		t.Fatalf("%d filters after the delete, want 3", c.Filters())
	}
	next, changed := c.CompactPiece(c.CompactFrom(), math.MaxUint64)
	if want := (redisbloom.Place{Filter: 1}); next != want || !changed || c.Filters() != 2 {
		t.Errorf("CompactPiece = %+v, %v, and %d filters, want %+v, true and 2", next, changed, c.Filters(), want)
	}
}

// TestCompactPieceLooksAgain deletes the one item of the newest sub-filter when a
// compaction has passed it and left it there: the last piece drops the sub-filter.
func TestCompactPieceLooksAgain(t *testing.T) {
	c := newCuckoo(t, redisbloom.CuckooParams{Capacity: 64, BucketSize: 2, MaxIterations: 20, Expansion: 1})
	last := 0
	for ; c.Filters() < 2; last++ {
		if err := c.Insert(item(last)); err != nil {
			t.Fatal(err)
		}
	}
	at, _ := c.CompactPiece(c.CompactFrom(), 63)
	if want := (redisbloom.Place{Filter: 1, Slot: 63}); at != want || !c.Delete(item(last-1)) {
		t.Fatalf("a piece of 63 slots ends at %+v, want %+v and the item to be there", at, want)
	}
	if _, changed := c.CompactPiece(at, 1); !changed || c.Filters() != 1 {
		t.Errorf("the last piece: %t, and %d filters, want true and 1", changed, c.Filters())
	}
}
