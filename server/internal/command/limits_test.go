package command_test

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/command/commandtest"
	"github.com/bloomery/bloomery/server/internal/store"
)

// TestRepliesOfCuckooInserts asks for the kinds of replies, which RESP3 shows:
// booleans of CF.INSERT, numbers of CF.INSERTNX.
func TestRepliesOfCuckooInserts(t *testing.T) {
	b := commandtest.New(t, 1<<30)
	for line, want := range map[string]answer.ReplyKind{"CF.INSERT f ITEMS a": answer.Codes, "CF.INSERTNX f ITEMS b": answer.CodeInts} {
		if got := b.Exec(commandtest.Fields(line))[0].Kind; got != want {
			t.Errorf("%s answers kind %d, want %d", line, got, want)
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

// TestNarrowBloom loads a filter of a very old release, with hashes of 32 bits, and
// uses it in a pipeline beside another one.
func TestNarrowBloom(t *testing.T) {
	b := commandtest.New(t, 1<<30)
	b.Line("BF.RESERVE wide 0.01 100")
	r := b.Exec(commandtest.Fields("BF.SCANDUMP wide 0"))[0]
	header := []byte(r.Elems[1].Text)
	const force64 = 4
	options := binary.LittleEndian.Uint32(header[12:])
	if options&force64 == 0 {
		t.Fatalf("options %d", options)
	}
	binary.LittleEndian.PutUint32(header[12:], options&^force64)
	if got := b.Do("BF.LOADCHUNK", "narrow", fmt.Sprint(r.Elems[0].N), string(header)); got != "+OK" {
		t.Fatal(got)
	}
	var adds [][][]byte
	for i := range 20 {
		adds = append(adds, commandtest.Fields(fmt.Sprint("BF.ADD wide ", i)), commandtest.Fields(fmt.Sprint("BF.ADD narrow ", i, "n")), commandtest.Fields(fmt.Sprint("BF.MADD narrow ", i, "a ", i, "b")))
	}
	b.Exec(adds...)
	for i := range 20 {
		b.Script(t, fmt.Sprintf("BF.MEXISTS narrow %dn %[1]da %[1]db -> [true true true]\nBF.EXISTS wide %[1]d -> :1", i))
		b.Script(t, fmt.Sprintf("BF.MEXISTS wide %dn %[1]da -> [false false]\nBF.EXISTS narrow %[1]d -> :0", i))
	}
}

// TestLongMSet sends the longest MSET there is, and one that is a byte longer.
func TestLongMSet(t *testing.T) {
	b := commandtest.New(t, 1<<30)
	const beside = 64 + 2*10 + 1 // of the record, and of a name of one byte and its value
	for n, want := range map[int]string{store.MaxRecord - beside: "+OK", store.MaxRecord - beside + 1: "-ERR MSET takes"} {
		if got := b.Do("MSET", "k", strings.Repeat("v", n)); !strings.HasPrefix(got, want) {
			t.Errorf("MSET of a value of %d bytes = %s", n, got)
		}
	}
}

// TestReadsAndWritesWithoutMemory asks for more than maxmemory leaves: an error, and
// the server goes on.
func TestReadsAndWritesWithoutMemory(t *testing.T) {
	b := commandtest.New(t, 1<<30)
	b.Line("BF.RESERVE bf 0.001 100000")
	b.Line("FILTER.CREATE f bloom CAPACITY 100000")
	b.Do("SET", "s", strings.Repeat("x", 300_000))
	dumps := map[string]string{}
	for _, name := range []string{"bf", "f", "s"} {
		dumps[name] = b.Line("DUMP " + name)
	}
	b.Line(fmt.Sprint("CONFIG SET maxmemory ", b.State.Bytes()+50_000))
	for range 2 { // what the first has frozen is free again
		for name := range dumps {
			if got := b.Line("DUMP " + name); got != "-"+answer.TextOOM {
				t.Errorf("DUMP %s without memory = %.50s", name, got)
			}
		}
	}
	for _, words := range [][]string{
		{"SETRANGE", "n", "0", strings.Repeat("x", 200_000)}, {"SETRANGE", "n", "200000", "x"}, {"APPEND", "n", strings.Repeat("x", 200_000)},
	} {
		if got := b.Do(words...); got != "-"+answer.TextOOM {
			t.Errorf("%s without memory = %.50s", words[0], got)
		}
	}
	b.Line("CONFIG SET maxmemory 1073741824")
	for name, want := range dumps {
		if got := b.Line("DUMP " + name); got != want {
			t.Errorf("DUMP %s with memory again = %.50s", name, got)
		}
		b.Line("MULTI")
		b.Line("DUMP " + name)
		b.Line("DUMP " + name)
		if got := b.Line("EXEC"); got != "["+want+" "+want+"]" {
			t.Errorf("DUMP %s twice in a transaction = %.50s", name, got)
		}
	}
	small := commandtest.New(t, 3000)
	got := "+OK"
	for i := 0; i < 1000 && got == "+OK"; i++ {
		got = small.Line(fmt.Sprint("WATCH key", i))
	}
	if !strings.HasPrefix(got, "-") {
		t.Errorf("WATCH of 1000 keys in 3000 bytes = %s", got)
	}
}

// TestPauses holds a command back until the pause ends, or is ended.
func TestPauses(t *testing.T) {
	b := commandtest.New(t, 1<<30)
	run := func(line string) int {
		b.Work.Reset()
		b.Work.Add(commandtest.Fields(line))
		return b.Engine.Exec(b.Session, &b.Work, 0)
	}
	b.Script(t, "CLIENT PAUSE 60000 WRITE -> +OK")
	time.Sleep(5 * time.Millisecond) // it has not ended meanwhile
	if run("SET a v") != 0 || run("GET a") != 1 {
		t.Error("CLIENT PAUSE WRITE does not hold a write back, or holds a read back")
	}
	b.Script(t, "CLIENT PAUSE 60000 -> +OK")
	if run("GET a") != 0 {
		t.Error("CLIENT PAUSE does not hold a read back")
	}
	b.Script(t, "CLIENT UNPAUSE -> +OK")
	if run("SET a v") != 1 {
		t.Error("a write is held back after CLIENT UNPAUSE")
	}
}

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
