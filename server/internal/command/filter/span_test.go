package filter_test

import (
	"strings"
	"testing"
	"time"
)

// TestWindowLoad asks that a window which goes by FILTER.DUMP and FILTER.LOAD keeps
// its span: what it forgets at the source, it forgets at the target. Without a span it
// is refused, and so is one with which time would stand still, or all would go.
func TestWindowLoad(t *testing.T) {
	for _, parts := range []string{"1", "4"} {
		b := newBench(t, 1<<30)
		start := b.Now
		b.Do("FILTER.CREATE", "w", "window", "CAPACITY", "1000", "SPAN", "60s", "GENERATIONS", "6", "BURST", "6", "PARTS", parts)
		b.Do("FILTER.CREATE", "other", "window", "CAPACITY", "1000", "SPAN", "60s", "GENERATIONS", "5")
		b.Do("FILTER.CREATE", "same", "window", "CAPACITY", "50", "SPAN", "60s", "GENERATIONS", "6")
		b.Do("FILTER.CREATE", "plain", "bloom", "CAPACITY", "100")
		b.Do("FILTER.ADD", "w", "old", "new")
		pieces := piecesOf(t, b, "w")
		load := func(key string, more ...string) (got string) {
			for _, words := range pieces {
				if got = b.Do(append(append([]string{"FILTER.LOAD", key}, words...), more...)...); got != "+OK" {
					return got
				}
			}
			return got
		}
		for _, tt := range []struct {
			key, span, want string
		}{
			{"copy", "", "DUMP and RESTORE"},
			{"other", "", "DUMP and RESTORE"},
			{"plain", "", "DUMP and RESTORE"},
			{"copy", "24h", "give the SPAN that it was made with"},
			{"copy", "30s", "no item would be left"},
			{"copy", "x", "SPAN must be"},
			{"copy", "60s", "+OK"},
			{"other", "60s", "+OK"},
			{"plain", "60s", "+OK"},
			{"same", "", "+OK"},
		} {
			var more []string
			if tt.span != "" {
				more = []string{"SPAN", tt.span}
			}
			if got := load(tt.key, more...); !strings.Contains(got, tt.want) {
				t.Errorf("%s parts: LOAD %s with span %q = %s, want %s", parts, tt.key, tt.span, got, tt.want)
			}
		}
		b.Now = start.Add(30 * time.Second)
		keys := []string{"w", "copy", "other", "plain", "same"}
		for _, key := range keys {
			if got := b.Do("FILTER.ADD", key, "new"); got != "[false]" {
				t.Errorf("%s parts, %s: ADD = %s", parts, key, got)
			}
		}
		b.Now = start.Add(75 * time.Second)
		for _, key := range keys {
			if got := b.field(t, key, "generation_ms"); got != "10000" {
				t.Errorf("%s parts, %s: generation_ms %s, want 10000", parts, key, got)
			}
			if got := b.Do("FILTER.HAS", key, "old", "new"); got != "[false true]" {
				t.Errorf("%s parts, %s: HAS = %s after the span of the first", parts, key, got)
			}
		}
		b.Crash(t)
	}
	b := newBench(t, 1<<30)
	b.Do("FILTER.CREATE", "b", "bloom", "CAPACITY", "100")
	words := append([]string{"FILTER.LOAD", "c"}, piecesOf(t, b, "b")[0]...)
	if got := b.Do(append(words, "SPAN", "60s")...); !strings.Contains(got, "SPAN is for kind window") {
		t.Errorf("SPAN for a bloom = %s", got)
	}
	if got := b.Do(append(words, "SPAN", "60s", "SPAN", "60s")...); !strings.Contains(got, "syntax") {
		t.Errorf("SPAN twice = %s", got)
	}
}

// TestAbortTakenName asks that a rebuild of a key that is not there can be aborted
// whatever has taken its name meanwhile, and that its memory is free then.
func TestAbortTakenName(t *testing.T) {
	for _, taken := range []string{"", "DEL words", "SET words 1", "BF.ADD words x", "CMS.INITBYDIM words 10 3", "FILTER.CREATE words bloom CAPACITY 100"} {
		b := newBench(t, 1<<30)
		b.Line("FILTER.REBUILD words BEGIN fuse8 CAPACITY 1000")
		b.Line("FILTER.REBUILD words FEED one two")
		if taken != "" {
			if got := b.Line(taken); strings.HasPrefix(got, "-") {
				t.Fatalf("%s = %s", taken, got)
			}
		}
		if got := b.Line("FILTER.REBUILD words ABORT"); got != "+OK" {
			t.Errorf("%q: ABORT = %s", taken, got)
		}
		if got := b.Line("FILTER.REBUILD words ABORT"); !strings.HasPrefix(got, "-") {
			t.Errorf("%q: a second ABORT = %s", taken, got)
		}
		b.Line("DEL words")
		if got := b.State.Bytes(); got != 0 {
			t.Errorf("%q: %d bytes are in use", taken, got)
		}
		b.Crash(t)
	}
}
