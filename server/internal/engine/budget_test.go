package engine_test

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/bloomery/bloomery/internal/rdb"
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

// bomb is a short payload for RESTORE with a string of 1 + 264 * copies bytes in it.
func bomb(copies int) string {
	packed := append([]byte{0, 'v'}, strings.Repeat("\xe0\xff\x00", copies)...) // a literal, then copies of the byte before
	payload := binary.BigEndian.AppendUint32([]byte{rdb.String, 0xc3, 0x80}, uint32(len(packed)))
	payload = append(binary.BigEndian.AppendUint32(append(payload, 0x80), uint32(1+264*copies)), packed...)
	return string(rdb.AppendFooter(payload))
}

// TestPackedStringsCount asks that what RESTORE unpacks is held, and refused when
// there is no room for it, also if many wait for their turn in a transaction.
func TestPackedStringsCount(t *testing.T) {
	const copies = 12_000
	const size = 1 + 264*copies
	bomb := bomb(copies)

	b := newBench(t, 12<<20) // room for three
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
	if got := b.line("EXEC"); strings.Count(got, "OOM") != 7 || strings.Count(got, "+OK") != 3 {
		t.Errorf("EXEC of ten strings, of which three can be kept = %.400s", got)
	}
	if got := b.state.Bytes(); got < 3*size || got > 4*size {
		t.Errorf("%d bytes are data, want three strings of %d", got, size)
	}
	if got := b.session.Memory(); got != 0 {
		t.Errorf("%d bytes are held for what is data now", got)
	}
	b.line("MULTI")
	for range 3 {
		b.do("RESTORE", "s0", "0", bomb) // the name is taken
	}
	b.line("EXEC")
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

// TestLongValuesAreMadeOnce asks that a long string takes its own size and no more
// to store, log included, and that what a copy has to be made of, is counted before.
func TestLongValuesAreMadeOnce(t *testing.T) {
	const mib = 1 << 20
	b := newDisk(t, 1<<30)
	long := []byte(strings.Repeat("v", 16*mib))
	args := func(words ...string) [][]byte {
		var a [][]byte
		for _, w := range words {
			a = append(a, []byte(w))
		}
		return a
	}
	for _, tt := range []struct {
		args [][]byte
		most int // MiB allocated
	}{
		{append(args("SET", "a"), long), 16},
		{append(args("GETSET", "a"), long), 16},
		{append(args("SETEX", "a", "100"), long), 16},
		{append(args("SETNX", "new"), long), 16},
		{args("COPY", "a", "b"), 0},
		{append(args("APPEND", "b"), long), 32},
		{args("APPEND", "b", "x"), 32},
		{append(args("SETRANGE", "b", "7"), long), 32},
		{args("INCR", "b"), 0},
		{args("GETDEL", "b"), 0},
		{args("RESTORE", "c", "0", bomb(60_000)), 15},
		{args("MULTI"), 0},
		{append(args("SET", "a"), long), 16}, // the copy of the queue
		{args("EXEC"), 0},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		reply := b.exec(tt.args)[0]
		runtime.ReadMemStats(&after)
		got := show(reply)
		if n := int(after.TotalAlloc-before.TotalAlloc) / mib; n > tt.most+1 {
			t.Errorf("%s = %.30s: %d MiB are allocated, want at most %d", tt.args[0], got, n, tt.most)
		}
		if strings.HasPrefix(got, "-") && string(tt.args[0]) != "INCR" {
			t.Errorf("%s = %.100s", tt.args[0], got)
		}
	}
	if got := b.engine.Budget.Used(); got != b.state.Bytes() {
		t.Errorf("%d bytes are in use, %d of data", got, b.state.Bytes())
	}
	b = newDisk(t, 40*mib)
	for _, tt := range []struct{ command, want string }{
		{"SET", "+OK"}, {"SET", "+OK"}, {"APPEND", "-OOM"}, {"SETRANGE", "-OOM"}, {"GETSET", "\"v"}, {"SETNX", "-OOM"},
	} {
		words := args(tt.command, "a")
		switch tt.command {
		case "SETRANGE":
			words = append(words, []byte("16000000"))
		case "SETNX":
			words[1] = []byte("b")
			b.do("SET", "c", string(long))
		}
		if got := show(b.exec(append(words, long))[0]); !strings.HasPrefix(got, tt.want) {
			t.Errorf("%s of 16 MiB in 40 = %.40s, want %s", tt.command, got, tt.want)
		}
	}
}

// TestAppendsMeet has two clients append to the same long string at once: none of
// what they append may be lost.
func TestAppendsMeet(t *testing.T) {
	b := newBench(t, 1<<30)
	b.do("SET", "s", strings.Repeat("v", 100_000))
	const each = 200
	var wg sync.WaitGroup
	for range 4 {
		c := b.connect()
		wg.Go(func() {
			for range each {
				c.line("APPEND s 12345")
			}
		})
	}
	wg.Wait()
	if got, want := b.line("STRLEN s"), fmt.Sprint(":", 100_000+4*each*5); got != want {
		t.Errorf("STRLEN = %s, want %s", got, want)
	}
}
