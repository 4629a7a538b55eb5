package filter_test

import (
	"runtime"
	"strings"
	"testing"
)

// TestFilterCreateTries asks that a part which is only tried takes no memory beyond
// the limit, and none after the command; and that a part is as large as it may be.
func TestFilterCreateTries(t *testing.T) {
	b := newBench(t, 8<<20)
	for _, line := range []string{
		"FILTER.CREATE f quorum CAPACITY 100000000 PARTS 1", "FILTER.CREATE f window CAPACITY 20000000 PARTS 1",
		"FILTER.CREATE f growing CAPACITY 50000000 PARTS 1", "FILTER.CREATE f bloom CAPACITY 80000000 PARTS 1",
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		got := b.Line(line)
		runtime.ReadMemStats(&after)
		if !strings.HasPrefix(got, "-OOM FILTER.CREATE needs more than ") {
			t.Errorf("%s = %s", line, got)
		}
		if n := after.TotalAlloc - before.TotalAlloc; n > 8<<20 {
			t.Errorf("%s: %d bytes were allocated, the limit is %d", line, n, 8<<20)
		}
	}
	if n := b.Session.Memory(); n != 0 {
		t.Errorf("%d bytes are held after the commands", n)
	}
	b = newBench(t, 1<<30)
	for _, kind := range []string{"bloom", "standard", "partitioned", "split"} {
		b.Line("FILTER.CREATE " + kind + " " + kind + " CAPACITY 10000000") // 12 to 13 MB
		if p := piecesOf(t, b, kind); len(p) != 1 {
			t.Errorf("%s of 10,000,000: %d parts, it fits into one of 16 MiB", kind, len(p))
		}
	}
}

// TestCreateLikeInTransactions makes filters after others inside of transactions.
func TestCreateLikeInTransactions(t *testing.T) {
	b := newBench(t, 1<<30)
	b.Script(t, `
		FILTER.CREATE f cuckoo CAPACITY 5000 -> +OK
		MULTI -> +OK
		FILTER.CREATE g cuckoo LIKE f -> +QUEUED
		FILTER.CREATE h cuckoo LIKE none -> +QUEUED
		EXEC -> [+OK -ERR LIKE: not found]`)
	if f, g := b.field(t, "f", "bytes"), b.field(t, "g", "bytes"); f != g {
		t.Errorf("%s bytes, like one of %s", g, f)
	}
	if got := b.Line("FILTER.LOAD k 1 x SPAN 60s VERSION 1 FROM s more"); !strings.Contains(got, "wrong number of arguments") {
		t.Errorf("FILTER.LOAD with too much = %s", got)
	}
}
