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

// Numbers have units, and make what they make without.
func TestUnits(t *testing.T) {
	b := newBench(t, 1<<30)
	for _, tt := range []struct{ with, without string }{
		{"FILTER.CREATE x bloom CAPACITY 1M ERROR 1%", "FILTER.CREATE x bloom CAPACITY 1000000 ERROR 0.01"},
		{"FILTER.CREATE x bloom CAPACITY 1e6 ERROR 1in1000", "FILTER.CREATE x bloom CAPACITY 1000000 ERROR 0.001"},
		{"FILTER.CREATE x bloom CAPACITY 0.5k ERROR 1/100", "FILTER.CREATE x bloom CAPACITY 500 ERROR 0.01"},
		{"FILTER.CREATE x bloom CAPACITY 2Ki HEADROOM 50%", "FILTER.CREATE x bloom CAPACITY 2048 HEADROOM 50"},
		{"FILTER.CREATE x bloom SLA 2ms BUDGET 64KiB NEWS 1k", "FILTER.CREATE x bloom SLA 2000 BUDGET 65536 NEWS 1000"},
		{"FILTER.CREATE x bloom BUDGET 64MB", "FILTER.CREATE x bloom BUDGET 67108864"},
		{"FILTER.CREATE x window CAPACITY 1k SPAN 7d BURST 200%", "FILTER.CREATE x window CAPACITY 1000 SPAN 168h BURST 2"},
		{"FILTER.PLAN 1M 1%", "FILTER.PLAN 1000000 0.01"},
		{"FILTER.LIST OFFSET 0.0k COUNT 0.1k", "FILTER.LIST OFFSET 0 COUNT 100"},
		{"FILTER.HEALTH COUNT 1k", "FILTER.HEALTH COUNT 1000"},
	} {
		made := func(line string) string {
			b.Line("DEL x")
			return b.Line(line) + b.Line("FILTER.INFO x")
		}
		if got, want := made(tt.with), made(tt.without); got != want || strings.HasPrefix(got, "-ERR") && strings.Contains(got, "must") {
			t.Errorf("%s: %s, want %s, as of %s", tt.with, got, want, tt.without)
		}
	}
	for _, line := range []string{"FILTER.CREATE x bloom", "FILTER.GROW x ERROR 50%", "FILTER.SET x NEWS 1k", "FILTER.NEWS x MAX 64KiB BLOCK 1ms", "FILTER.DENSITY x 0.1k", "FILTER.REBUILD x BEGIN CAPACITY 1k ERROR 1%"} {
		b.Line("DEL y")
		if got := b.Line(line); strings.HasPrefix(got, "-") {
			t.Errorf("%s = %s", line, got)
		}
	}
	for line, want := range map[string]string{ // RedisBloom's grammar
		"BF.RESERVE bf 1% 1000":             "-ERR bad error rate",
		"BF.RESERVE bf 0.01 1k":             "-ERR bad capacity",
		"BF.INSERT bf CAPACITY 1e3 ITEMS a": "-Bad capacity",
		"CF.RESERVE cf 1k":                  "-Bad capacity",
		"CMS.INITBYPROB m 1% 0.1":           "-CMS: invalid overestimation value",
		"TOPK.RESERVE k 1k":                 "-TopK: invalid k",
		"TDIGEST.CREATE t COMPRESSION 1k":   "-ERR T-Digest: error parsing compression parameter",
	} {
		if got := b.Line(line); got != want {
			t.Errorf("%s = %s, want %s", line, got, want)
		}
	}
}
