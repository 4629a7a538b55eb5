package engine_test

import (
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestLatency has commands take a known time and asks LATENCY for them.
func TestLatency(t *testing.T) {
	b := newBench(t, 1<<30)
	b.line("SET s v")
	for _, tt := range []struct{ line, want string }{
		{"LATENCY LATEST", "[]"},
		{"LATENCY RESET", ":0"},
		{"CONFIG GET latency-monitor-threshold", `["latency-monitor-threshold" "0"]`},
		{"CONFIG SET latency-monitor-threshold -1", "-ERR CONFIG SET failed (possibly related to argument 'latency-monitor-threshold') - argument must be between 0 and 9007199254740992 inclusive"},
		{"CONFIG SET latency-monitor-threshold 100", "+OK"},
		{"LATENCY HISTORY command", "[]"},
	} {
		if got := b.line(tt.line); got != tt.want {
			t.Errorf("%s = %s, want %s", tt.line, got, tt.want)
		}
	}
	if got := b.line("LATENCY DOCTOR"); !strings.Contains(got, "Nothing took 100 ms") {
		t.Errorf("LATENCY DOCTOR = %s", got)
	}
	b.step = 300 * time.Millisecond // by which the clock goes on whenever it is read
	b.line("GET s")
	b.line("SET s v")
	b.step = 0
	got := b.line("LATENCY LATEST")
	if !regexp.MustCompile(`^\[\["command" :\d+ :300 :300\] \["fast-command" :\d+ :300 :300\]\]$`).MatchString(got) {
		t.Errorf("LATENCY LATEST = %s", got)
	}
	if got := b.line("LATENCY HISTORY fast-command"); !regexp.MustCompile(`^\[\[:\d+ :300\]\]$`).MatchString(got) {
		t.Errorf("LATENCY HISTORY = %s", got)
	}
	if got := b.line("LATENCY DOCTOR"); !strings.Contains(got, "fast-command: 1 samples, 300 ms") {
		t.Errorf("LATENCY DOCTOR = %s", got)
	}
	if got := b.line("LATENCY RESET command other"); got != ":1" {
		t.Errorf("LATENCY RESET = %s", got)
	}
	// 300 ms are in the bucket up to 2^29 ns, which Redis calls 541065 µs, those that
	// took no time in the first.
	if got, want := b.line("LATENCY HISTOGRAM get set nothing"), `["get" ["calls" :1 "histogram_usec" [:541065 :1]] "set" ["calls" :2 "histogram_usec" [:1 :1 :541065 :2]]]`; got != want {
		t.Errorf("LATENCY HISTOGRAM = %s, want %s", got, want)
	}
	if got := b.line("LATENCY HISTOGRAM config"); !strings.Contains(got, `"config|set"`) {
		t.Errorf("LATENCY HISTOGRAM config = %s", got)
	}
	b.line("CONFIG RESETSTAT")
	if got := b.line("LATENCY HISTOGRAM get"); got != "[]" {
		t.Errorf("LATENCY HISTOGRAM after CONFIG RESETSTAT = %s", got)
	}
}

// TestInfoCounts asks INFO for what was done.
func TestInfoCounts(t *testing.T) {
	b := newBench(t, 1<<30)
	info := func(name string) string {
		m := regexp.MustCompile(`\\n` + name + `:([^\\]*)`).FindStringSubmatch(b.line("INFO"))
		if m == nil {
			t.Fatalf("INFO has no %s", name)
		}
		return m[1]
	}
	began := time.Now()
	b.engine.Sample(began)
	b.line("SET s v")
	b.line("BF.ADD f x") // writes count as neither
	b.lines("GET s", "GET none", "MGET s none s", "EXISTS s none", "STRLEN s", "BF.EXISTS f x", "BF.MEXISTS f x y", "BF.EXISTS nof x", "CF.COUNT f x")
	if got := info("keyspace_hits") + " " + info("keyspace_misses"); got != "8 4" {
		t.Errorf("hits and misses: %s, want 8 4", got)
	}
	for range 89 - 3 { // with the eleven above and three INFO
		b.line("PING")
	}
	b.line("PING")
	b.engine.Sample(began.Add(2 * time.Second))
	if got := info("instantaneous_ops_per_sec"); got != "50" {
		t.Errorf("instantaneous_ops_per_sec = %s, want 50", got)
	}
	id := info("run_id")
	if !regexp.MustCompile("^[0-9a-f]{40}$").MatchString(id) || info("run_id") != id {
		t.Errorf("run_id = %s, then %s", id, info("run_id"))
	}
	b.do("SET", "large", strings.Repeat("v", 1<<20))
	b.line("DEL large")
	if peak := info("used_memory_peak"); len(peak) < 7 || len(info("used_memory")) >= 7 {
		t.Errorf("used_memory %s, peak %s, want a peak of over 1048576", info("used_memory"), peak)
	}
	b.line("CONFIG RESETSTAT")
	if got := info("keyspace_hits") + " " + info("keyspace_misses") + " " + info("instantaneous_ops_per_sec"); got != "0 0 0" {
		t.Errorf("after CONFIG RESETSTAT: %s", got)
	}
}
