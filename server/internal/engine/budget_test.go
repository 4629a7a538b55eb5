package engine_test

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/bloomery/bloomery/server/internal/rdb"
)

// TestReadsWorkWhenMemoryIsFull fills the budget with data and asks that reads
// and deletes of many keys go on, and that writes are refused.
func TestReadsWorkWhenMemoryIsFull(t *testing.T) {
	b := newBench(t, 8<<20)
	value := strings.Repeat("v", 100_000)
	full := false
	for i := 0; i < 200 && !full; i++ {
		full = strings.HasPrefix(b.do("SET", fmt.Sprint("s", i), value), "-OOM")
	}
	if !full {
		t.Fatal("the budget is never full")
	}
	if got := b.do("SET", "more", value); !strings.HasPrefix(got, "-OOM") {
		t.Errorf("SET with the budget full = %.60s", got)
	}
	if got := b.line("STRLEN s0"); got != ":100000" {
		t.Errorf("STRLEN = %s", got)
	}
	if got := b.do("GET", "s1"); len(got) != 100_002 {
		t.Errorf("GET = %.60s", got)
	}
	if got := b.do("DUMP", "s1"); len(got) < 100_000 {
		t.Errorf("DUMP = %.60s", got)
	}
	if got := b.line("KEYS *"); !strings.HasPrefix(got, "[") {
		t.Errorf("KEYS = %.60s", got)
	}
	names := []string{"DEL"}
	for i := range 5000 {
		names = append(names, fmt.Sprint("s", i))
	}
	if got := b.do(names...); got == ":0" || strings.HasPrefix(got, "-") {
		t.Errorf("DEL of 5000 names = %s", got)
	}
	if got := b.state.Bytes(); got != 0 {
		t.Errorf("%d bytes in use after DEL", got)
	}
}

// TestWhatClientsHoldCounts asks that queued commands, watched keys and replies
// count for the client and together, and are given back.
func TestWhatClientsHoldCounts(t *testing.T) {
	b := newBench(t, 1<<20)
	value := strings.Repeat("v", 10_000)
	b.line("MULTI")
	for range 10 {
		b.do("SET", "s", value)
	}
	if got := b.session.Memory(); got < 100_000 || got > 110_000 {
		t.Errorf("ten queued values of 10,000 bytes: %d bytes are held", got)
	}
	if got := b.engine.Budget.Clients(); got != b.session.Memory() {
		t.Errorf("%d bytes are held for clients, %d for the only one", got, b.session.Memory())
	}
	other := b.connect()
	if got := other.line("CLIENT LIST"); !strings.Contains(got, fmt.Sprint("tot-mem=", b.session.Memory())) || !strings.Contains(got, "multi=10") {
		t.Errorf("CLIENT LIST = %s", got)
	}
	if got := b.line("EXEC"); !strings.HasPrefix(got, "[+OK") {
		t.Errorf("EXEC = %.40s", got)
	}
	b.line("WATCH a b c")
	if got := other.line("CLIENT LIST"); !strings.Contains(got, "watch=3") {
		t.Errorf("CLIENT LIST = %s", got)
	}
	b.line("UNWATCH")
	if got := b.session.Memory(); got != 0 {
		t.Errorf("%d bytes are held after EXEC and UNWATCH", got)
	}
	// More than there is: the transaction is refused, and nothing stays.
	b.line("MULTI")
	refused := ""
	for range 200 {
		if got := b.do("SET", "s", value); got != "+QUEUED" {
			refused = got
			break
		}
	}
	if !strings.HasPrefix(refused, "-OOM") {
		t.Errorf("a transaction of more than the budget: %s", refused)
	}
	if got := b.line("EXEC"); !strings.HasPrefix(got, "-EXECABORT") {
		t.Errorf("EXEC = %.60s", got)
	}
	b.engine.Close(b.session)
	if got := b.engine.Budget.Clients(); got != 0 {
		t.Errorf("%d bytes are held for clients that left", got)
	}
}

// TestFailedTransactionHoldsNothing asks that a transaction that can only be
// refused gives its memory back, and takes no more: other clients go on.
func TestFailedTransactionHoldsNothing(t *testing.T) {
	for _, failure := range []string{"SET too-short", "NOSUCHCOMMAND"} {
		b := newBench(t, 1<<20)
		b.line("MULTI")
		b.do("SET", "s", strings.Repeat("v", 100_000))
		b.line(failure)
		for range 20 {
			if got := b.do("SET", "s", strings.Repeat("v", 100_000)); got != "+QUEUED" {
				t.Fatalf("%s: SET = %.60s", failure, got)
			}
		}
		if got := b.session.Memory(); got != 0 {
			t.Errorf("%s: %d bytes are held for a transaction that has failed", failure, got)
		}
		if got := b.line("EXEC"); !strings.HasPrefix(got, "-EXECABORT") {
			t.Errorf("%s: EXEC = %.60s", failure, got)
		}
	}
	b := newBench(t, 1<<20)
	b.line("MULTI")
	for range 20 {
		b.do("SET", "s", strings.Repeat("v", 100_000))
	}
	if got := b.session.Memory(); got != 0 {
		t.Errorf("%d bytes are held for a transaction that was too large", got)
	}
	if got := b.connect().do("SET", "s", strings.Repeat("v", 100_000)); got != "+OK" {
		t.Errorf("SET of another client = %.60s", got)
	}
	if got := b.line("EXEC"); !strings.HasPrefix(got, "-EXECABORT") {
		t.Errorf("EXEC = %.60s", got)
	}
}

// TestPackedStringsCount asks that what RESTORE unpacks is held, and refused when
// there is no room for it, also if many wait for their turn in a transaction.
func TestPackedStringsCount(t *testing.T) {
	const copies = 12_000
	const size = 1 + 264*copies
	packed := append([]byte{0, 'v'}, strings.Repeat("\xe0\xff\x00", copies)...) // a literal, then copies of the byte before
	payload := binary.BigEndian.AppendUint32([]byte{rdb.String, 0xc3, 0x80}, uint32(len(packed)))
	payload = append(binary.BigEndian.AppendUint32(append(payload, 0x80), size), packed...)
	bomb := string(rdb.AppendFooter(payload))

	b := newBench(t, 12<<20)
	if got := b.do("RESTORE", "s", "0", bomb); got != "+OK" {
		t.Fatalf("RESTORE = %s", got)
	}
	if got := b.line("STRLEN s"); got != fmt.Sprint(":", size) {
		t.Errorf("STRLEN = %s", got)
	}
	b.line("DEL s")
	b.line("MULTI")
	for i := range 10 {
		b.do("RESTORE", fmt.Sprint("s", i), "0", bomb)
	}
	if got := b.line("EXEC"); strings.Count(got, "OOM") < 9 {
		t.Errorf("EXEC of ten strings, of which one can be unpacked and kept = %.400s", got)
	}
	if got := b.session.Memory(); got < size || got > 12<<20 {
		t.Errorf("%d bytes are held for what was unpacked, want %d, or twice that", got, size)
	}
	b.engine.Release(b.session)
	if got := b.session.Memory(); got != 0 {
		t.Errorf("%d bytes are held in the end", got)
	}
}

// TestDumpsCount asks that a dump is held until it is written, and refused when
// there is no room for it.
func TestDumpsCount(t *testing.T) {
	b := newBench(t, 4<<20)
	b.line("BF.RESERVE b 0.01 2000000") // 2.4 MB
	if got := b.line("DUMP b"); !strings.HasPrefix(got, "-OOM") {
		t.Errorf("DUMP without room = %.60s", got)
	}
	b.line("BF.RESERVE c 0.01 200000")
	if got := b.line("DUMP c"); strings.HasPrefix(got, "-") {
		t.Errorf("DUMP with room = %.60s", got)
	}
	if got := b.session.Memory(); got < 200_000 {
		t.Errorf("%d bytes are held for a dump that is not written", got)
	}
	b.engine.Release(b.session)
	if got := b.session.Memory(); got != 0 {
		t.Errorf("%d bytes are held for a dump that was written", got)
	}
	if got := b.line("CONFIG SET maxmemory 1gb"); got != "+OK" {
		t.Fatal(got)
	}
	if got := b.line("DUMP b"); strings.HasPrefix(got, "-") {
		t.Errorf("DUMP with more memory = %.60s", got)
	}
	if b.engine.Budget.Peak() < b.state.Bytes() {
		t.Errorf("peak %d, and %d bytes are in use", b.engine.Budget.Peak(), b.state.Bytes())
	}
}

// A long value is in the log, too, until that is written: both copies must have room.
func TestLongValuesCountTwice(t *testing.T) {
	b := newBench(t, 4<<20)
	value := strings.Repeat("v", 3<<19)
	if got := b.do("SET", "a", value); got != "+OK" {
		t.Fatalf("the first value: %.60s", got)
	}
	if got := b.do("SET", "b", value); !strings.HasPrefix(got, "-OOM") {
		t.Errorf("a second value of 1.5 MiB in 4 MiB: %.60s, want OOM", got)
	}
	if got := b.do("SET", "c", value[:1<<19]); got != "+OK" {
		t.Errorf("a shorter value: %.60s", got)
	}
	if got := b.line("DEL a"); got != ":1" {
		t.Errorf("DEL = %s", got)
	}
}
