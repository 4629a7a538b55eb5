package engine_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/bloomery/bloomery/internal/redisbloom"
	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/store"
)

// poured fills a cuckoo filter of several sub-filters and deletes a few items.
func poured(b *client, key string) {
	b.line("DEL " + key)
	b.line("CF.RESERVE " + key + " 8192 BUCKETSIZE 2 EXPANSION 1")
	for i := 0; i < 50_000; i += 500 {
		items := []string{"CF.INSERT", key, "ITEMS"}
		for j := range 500 {
			items = append(items, fmt.Sprint(i+j))
		}
		b.do(items...)
	}
	for i := 0; i < 4000; i += 500 {
		var dels [][][]byte
		for j := range 500 {
			dels = append(dels, [][]byte{[]byte("CF.DEL"), []byte(key), fmt.Append(nil, (i+j)*10)})
		}
		b.exec(dels...)
	}
}

// TestCompactLetsOthersIn runs a transaction that writes to a filter between every
// two pieces of its compaction: none waits, and no write is lost.
func TestCompactLetsOthersIn(t *testing.T) {
	b := newBench(t, 1<<30)
	poured(b.client, "c")
	poured(b.client, "same")
	b.line("CF.COMPACT same")
	other := b.connect()
	writes, inside := 0, false
	b.door.ready = func() {
		if inside {
			return
		}
		inside = true
		defer func() { inside = false }()
		if got := other.lines("MULTI", fmt.Sprint("CF.ADD c new", writes), "CF.DEL c 1", "CF.ADD c 1", "EXEC")[4]; got != "[:1 :1 :1]" {
			t.Fatalf("EXEC between two pieces = %s", got)
		}
		writes++
	}
	if got := b.line("CF.COMPACT c"); got != "+OK" {
		t.Fatal(got)
	}
	b.door.ready = nil
	if writes < 5 {
		t.Errorf("%d transactions had their turn during CF.COMPACT, want more", writes)
	}
	for i := range writes {
		if got := b.line(fmt.Sprint("CF.EXISTS c new", i)); got != ":1" {
			t.Errorf("new%d was added during CF.COMPACT and is gone", i)
		}
	}
	for i := range 50_000 {
		if i%10 != 0 && b.line(fmt.Sprint("CF.EXISTS c ", i)) != ":1" {
			t.Fatalf("item %d is gone", i)
		}
	}
	b.replays(t)
}

// TestCompactPiecesAreSmall asks that no record of a compaction looks at more than
// a few thousand slots times sub-filters, and that they all together compact.
func TestCompactPiecesAreSmall(t *testing.T) {
	b := newBench(t, 1<<30)
	poured(b.client, "c")
	before := b.line("CF.DEBUG c")
	b.door.groups = nil
	got := b.lines("CF.COMPACT c", "CF.DEBUG c")
	if got[0] != "+OK" || got[1] == before || !strings.Contains(got[1], "deletes:0") {
		t.Errorf("CF.COMPACT, CF.DEBUG = %q, before it %s", got, before)
	}
	pieces := 0
	for _, group := range b.door.groups {
		for _, r := range group {
			if o, ok := r.Body.(*store.CuckooCompactPiece); !ok || o.Slots*(o.Filter+1) > 10_000 {
				t.Fatalf("record %d: %+v", r.Op(), r.Body)
			}
			pieces++
		}
	}
	if pieces < 10 {
		t.Errorf("%d pieces", pieces)
	}
	b.line("CF.RESERVE large 16320 BUCKETSIZE 255 EXPANSION 1")
	for i := range 40 {
		b.do(append([]string{"CF.INSERT", "large", "ITEMS"}, someWords("{items}", i)...)...)
	}
	b.door.groups = nil
	b.line("CF.COMPACT large")
	for _, group := range b.door.groups {
		for _, r := range group {
			if o := r.Body.(*store.CuckooCompactPiece); 4*o.Slots*(o.Filter+1) > 10_000 { // four lines each
				t.Fatalf("large buckets: %+v", o)
			}
		}
	}
	if len(b.door.groups) < 10 {
		t.Errorf("large buckets: %d groups of pieces", len(b.door.groups))
	}
	claims(t, b.client, 9)
	b.door.groups = nil
	for i := 0; b.line(fmt.Sprint("CF.DEL claims item", i)) != ":1"; i++ {
		b.door.groups = nil
	}
	if len(b.door.groups) < 10 {
		t.Errorf("a full filter that claims few items is compacted in %d pieces", len(b.door.groups)-1)
	}
	b.replays(t)
}

// claims loads a full CF of 31 sub-filters whose header says that it has so many items. Every item is in it.
func claims(t *testing.T, b *client, items uint64) {
	t.Helper()
	header, _ := binary.Append(nil, binary.LittleEndian, struct { // there is no error for numbers
		Items, Buckets, Deletes, Filters uint64
		Bucket, Kicks, Expansion         uint16
	}{items, 16, 0, 31, 255, 20, 1})
	b.line("DEL claims")
	b.do("CF.LOADCHUNK", "claims", "1", string(header))
	data := make([]byte, 16*255)
	for i := range data {
		data[i] = byte(i%255) + 1
	}
	for i := range 31 {
		if got := b.do("CF.LOADCHUNK", "claims", fmt.Sprint(1+(i+1)*len(data)), string(data)); got != "+OK" {
			t.Fatal(got)
		}
	}
}

// TestDeletesInAClusterCompactInPieces deletes from a full CF that claims few items, in a transaction whose deletes make it
// due to be compacted together, and while others may be deleting: no node does that at once.
func TestDeletesInAClusterCompactInPieces(t *testing.T) {
	b, d := newShared(t, 1<<30)
	alone := newBench(t, 1<<30)
	for _, tt := range []struct {
		items uint64
		n     int // deletes in one transaction, 0 for one delete outside
		door  *testDoor
		*client
		atOnce, pieces bool
	}{
		{40, 6, d.testDoor, b.client, false, true},
		{30_000, 6, d.testDoor, b.client, false, false},
		{30_000, 0, d.testDoor, b.client, false, false},
		{100_000, 6, d.testDoor, b.client, false, false},
		{100_000, 0, d.testDoor, b.client, true, false},
		{30_000, 6, alone.door, alone.client, true, false},
		{30_000, 0, alone.door, alone.client, false, false},
		{100_000, 0, alone.door, alone.client, true, false},
	} {
		claims(t, tt.client, tt.items)
		tt.door.groups = nil
		if tt.n == 0 {
			tt.line("CF.DEL claims item")
		} else {
			tt.transaction(slices.Repeat([]string{"CF.DEL claims item"}, tt.n)...)
		}
		deletes, pieces := 0, 0
		for _, group := range tt.door.groups {
			for _, r := range group {
				switch o := r.Body.(type) {
				case *store.CuckooDelete:
					if deletes++; o.Steps != 0 != tt.atOnce {
						t.Errorf("%d items, EXEC of %d: a delete compacts at once in %d steps", tt.items, tt.n, o.Steps)
					}
				case *store.CuckooCompactPiece:
					pieces++
				}
			}
		}
		if deletes == 0 || pieces > 0 != tt.pieces {
			t.Errorf("%d items, EXEC of %d: %d records delete, %d compact", tt.items, tt.n, deletes, pieces)
		}
	}
	alone.replays(t)
}

// TestCompactInATransaction asks that a compaction in a transaction is done when
// the gate is open again, without a watched key having changed, and that it reports
// a loss.
func TestCompactInATransaction(t *testing.T) {
	b := newBench(t, 1<<30)
	poured(b.client, "c")
	b.lines("WATCH c", "MULTI", "CF.COMPACT c", "CF.COMPACT none")
	b.door.groups = nil
	if got := b.line("EXEC"); got != "[+OK -Cuckoo filter was not found]" {
		t.Errorf("EXEC = %s", got)
	}
	if got := b.line("CF.DEBUG c"); !strings.Contains(got, "deletes:0") {
		t.Errorf("CF.DEBUG = %s", got)
	}
	open := false
	for _, group := range b.door.groups {
		switch group[0].Op() {
		case store.OpBegin, store.OpCommit:
			open = group[0].Op() == store.OpBegin
		case store.OpCompactPiece:
			if open {
				t.Fatal("a piece was done inside the transaction")
			}
		default:
		}
	}
	poured(b.client, "d")
	b.lines("MULTI", "CF.COMPACT d")
	n := 0
	b.door.ready = func() {
		if n++; n == 4 {
			b.door.lose = fmt.Errorf("%w: test", door.ErrUnknown)
		}
	}
	if got := b.line("EXEC"); !strings.HasPrefix(got, "[-UNKNOWN") {
		t.Errorf("EXEC whose compaction was lost = %s", got)
	}
}

// TestCompactOfAFilterThatGoes removes a filter between two pieces.
func TestCompactOfAFilterThatGoes(t *testing.T) {
	b := newBench(t, 1<<30)
	poured(b.client, "c")
	other, n := b.connect(), 0
	b.door.ready = func() {
		if n++; n == 3 {
			other.line("DEL c")
		}
	}
	if got := b.line("CF.COMPACT c"); got != "+OK" {
		t.Errorf("CF.COMPACT of a filter that goes = %s", got)
	}
	b.door.ready = nil
	if got := b.state.Bytes(); got != 0 {
		t.Errorf("%d bytes are left", got)
	}
	b.replays(t)
}

// TestDeletesCompactInPieces deletes so much of a filter that RedisBloom compacts
// it: that is done in pieces behind the command, none of them long, and the filter
// is the one that compacting it at once makes. In a transaction it is done when the
// gate is open again.
func TestDeletesCompactInPieces(t *testing.T) {
	b := newBench(t, 1<<30)
	params := redisbloom.CuckooParams{Capacity: 16 << 10, BucketSize: 2, MaxIterations: 20, Expansion: 2}
	want, err := redisbloom.NewCuckoo(params)
	if err != nil {
		t.Fatal(err)
	}
	b.line("CF.RESERVE c 16384 BUCKETSIZE 2 MAXITERATIONS 20 EXPANSION 2")
	const items = 40_000
	for i := range items {
		item := strconv.Itoa(i)
		if got := b.line("CF.ADD c " + item); got != ":1" {
			t.Fatal(got)
		}
		if err := want.Insert([]byte(item)); err != nil {
			t.Fatal(err)
		}
	}
	b.door.groups = nil
	for i := range items / 4 {
		item := strconv.Itoa(3 * i)
		line, ok := b.line, ":1"
		if i%2 == 0 {
			line, ok = func(l string) string { return b.lines("MULTI", l, "EXEC")[2] }, "[:1]"
		}
		if got := line("CF.DEL c " + item); got != ok || !want.Delete([]byte(item)) {
			t.Fatalf("CF.DEL = %s", got)
		}
	}
	pieces, open := 0, false
	for _, group := range b.door.groups {
		for _, r := range group {
			switch o := r.Body.(type) {
			case *store.Begin:
				open = true
			case *store.Commit:
				open = false
			case *store.CuckooCompactPiece:
				if pieces++; open || o.Filter > 0 && o.Slots*(o.Filter+1) > 10_000 {
					t.Fatalf("a piece of %d slots of sub-filter %d, inside a transaction: %v", o.Slots, o.Filter, open)
				}
			case *store.CuckooDelete:
				if !o.Lazily {
					t.Fatal("a delete compacts at once")
				}
			case *store.CuckooCompact:
				t.Fatal("all is compacted at once")
			}
		}
	}
	if pieces < 10 {
		t.Errorf("%d pieces", pieces)
	}
	got := contents.PartOf(b.state.Names.Lookup([]byte("c"), 0)).Cuckoo()
	if got.Filters() != want.Filters() || got.Deletes() != want.Deletes() {
		t.Errorf("%d sub-filters, %d deletes, want %d, %d", got.Filters(), got.Deletes(), want.Filters(), want.Deletes())
	}
	for iter := int64(1); iter != 0; {
		_, chunk, _ := got.ScanDump(iter)
		next, other, _ := want.ScanDump(iter)
		if !bytes.Equal(chunk, other) {
			t.Fatalf("chunk %d is another one than when it is compacted at once", iter)
		}
		iter = next
	}
	b.replays(t)
}

// TestKilledClearEnds kills a client in the middle of FILTER.CLEAR: it ends, and the parts
// that it has not come to keep their items.
func TestKilledClearEnds(t *testing.T) {
	b := newBench(t, 1<<30)
	b.lines("FILTER.CREATE f bloom CAPACITY 4000 PARTS 16")
	b.do(append([]string{"FILTER.ADD", "f"}, someWords("{items}", 0)...)...)
	pieces := 0
	b.door.ready = func() {
		if pieces++; pieces == 4 {
			b.session.End()
		}
	}
	if got := b.line("FILTER.CLEAR f"); got != "-"+answer.TextStopped || pieces != 4 {
		t.Errorf("FILTER.CLEAR of a client that was killed = %s, behind %d parts", got, pieces)
	}
}
