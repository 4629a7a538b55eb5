package engine_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/store"
)

var newSketches = []string{"CMS.INITBYDIM m 200 4", "TOPK.RESERVE k 5 100 4 0.9", "TDIGEST.CREATE d COMPRESSION 20"}

// TestSketchGroupsAnswerAsSingles runs calls of one command that follow each other,
// and one by one: they answer alike, leave the same state, and the group makes one
// record.
func TestSketchGroupsAnswerAsSingles(t *testing.T) {
	for _, tt := range []struct {
		line string
		op   store.Op // 0 for a read
	}{
		{"CMS.INCRBY m i%d 2", store.OpCountMinIncr},
		{"CMS.INCRBY m i%d 2 j 1", store.OpCountMinIncr},
		{"TOPK.ADD k i%d i3", store.OpTopKIncr},
		{"TOPK.INCRBY k i%d 3", store.OpTopKIncr},
		{"TDIGEST.ADD d %d.5 7", store.OpTDigestAdd},
		{"CMS.QUERY m i%d none", 0},
		{"TOPK.QUERY k i%d", 0},
		{"TOPK.COUNT k i%d none", 0},
		{"TDIGEST.QUANTILE d 0.%d", 0},
	} {
		together, single := newBench(t, 1<<30), newBench(t, 1<<30)
		together.lines(newSketches...)
		single.lines(newSketches...)
		var lines []string
		for i := range 50 {
			lines = append(lines, fmt.Sprintf(tt.line, i%20))
		}
		before := len(together.door.groups)
		got := together.lines(lines...)
		for i, line := range lines {
			if want := single.line(line); got[i] != want {
				t.Fatalf("%s in a group = %s, alone %s", line, got[i], want)
			}
		}
		if n := len(together.door.groups) - before; tt.op != 0 && n != 1 || tt.op == 0 && n > 1 {
			t.Errorf("%s: %d records, want one", tt.line, n)
		}
		if string(snapshot(together.state)) != string(snapshot(single.state)) {
			t.Errorf("%s: the states differ", tt.line)
		}
		together.replays(t)
	}
}

// TestLongSketchCommands runs commands of more items than are looked at under one
// lock: they answer as the same items one by one.
func TestLongSketchCommands(t *testing.T) {
	large, small := newBench(t, 1<<30), newBench(t, 1<<30)
	large.lines(newSketches...)
	small.lines(newSketches...)
	long := strings.Repeat("x", 60<<10) // few of these fill a record
	for _, tt := range []struct{ words, key, number string }{
		{"CMS.INCRBY", "m", "3"}, {"CMS.QUERY", "m", ""}, {"TOPK.ADD", "k", ""}, {"TOPK.INCRBY", "k", "2"}, {"TOPK.COUNT", "k", ""},
	} {
		words := []string{tt.words, tt.key}
		var want []string
		for i := range 700 {
			item := fmt.Sprint("i", i*i%300)
			if i%100 == 7 {
				item = long + item
			}
			one := []string{item}
			if tt.number != "" {
				one = append(one, tt.number)
			}
			words = append(words, one...)
			want = append(want, strings.Trim(small.do(append([]string{tt.words, tt.key}, one...)...), "[]"))
		}
		if got := large.do(words...); got != "["+strings.Join(want, " ")+"]" {
			t.Errorf("%s of many items differs: %.100s", tt.words, got)
		}
	}
	values := []string{"TDIGEST.ADD", "d"}
	for i := range 700 {
		values = append(values, fmt.Sprint(i*i%1009, ".25"))
		small.do("TDIGEST.ADD", "d", values[len(values)-1])
	}
	if got := large.do(values...); got != "+OK" {
		t.Error(got)
	}
	if got := large.do(append(values, "x")...); got != "-ERR T-Digest: error parsing val parameter" {
		t.Errorf("a wrong value behind many = %s", got)
	}
	if string(snapshot(large.state)) != string(snapshot(small.state)) {
		t.Error("the states differ")
	}
	large.replays(t)
}

// TestTooLongItems asks that an item which no record holds is refused, even while there is
// no room in the log, and nothing has changed.
func TestTooLongItems(t *testing.T) {
	b := newBench(t, 1<<30)
	b.lines(newSketches...)
	before := string(snapshot(b.state))
	long := strings.Repeat("x", store.MaxItem+1)
	b.door.crowded.Store(true)
	for _, words := range [][]string{{"TOPK.ADD", "k", "a", long}, {"TOPK.INCRBY", "k", "a", "1", long, "1"}} {
		if got := b.do(words...); got != "-TopK: item is longer than 262144 bytes" {
			t.Errorf("%s = %.80s", words[0], got)
		}
	}
	if string(snapshot(b.state)) != before || !b.door.crowded.Load() {
		t.Error("something has changed, or what is refused has waited for room in the log")
	}
	if got := b.do("TOPK.ADD", "k", long[1:]); got != "[nil]" || b.door.crowded.Load() {
		t.Errorf("the longest item = %.80s, waited %v", got, !b.door.crowded.Load())
	}
	if got := b.do("CMS.INCRBY", "m", long, "1"); got != "[:1]" {
		t.Errorf("CMS.INCRBY of a long item = %s", got)
	}
	b.replays(t)
}

// TestSketchMemory asks that sketches and the items of a TOPK keep to the memory
// there is.
func TestSketchMemory(t *testing.T) {
	const limit = 1 << 20
	b := newBench(t, limit)
	for _, tt := range []struct{ line, want string }{
		{"CMS.INITBYDIM new 1000000 3", "-CMS: Insufficient memory to create the key"},
		{"CMS.INITBYDIM new 1 65537", "-CMS: Insufficient memory to create the key"},
		{"CMS.INITBYPROB new 0.0000001 0.001", "-CMS: Insufficient memory to create the key"},
		{"TOPK.RESERVE new 1000000", "-ERR Insufficient memory to create topk data structure"},
		{"TDIGEST.CREATE new COMPRESSION 1000000", "-ERR T-Digest: allocation failed"},
		{"TDIGEST.CREATE d", "+OK"},
		{"TDIGEST.MERGE new 1 d COMPRESSION 1000000", "-ERR T-Digest: allocation of destination digest failed"},
		{"DBSIZE", ":1"},
		{"TOPK.RESERVE k 1000 1000 3 0.9", "+OK"},
	} {
		if got := b.line(tt.line); got != tt.want {
			t.Errorf("%s = %s, want %s", tt.line, got, tt.want)
		}
	}
	refused := false
	for i := range 200 {
		got := b.do("TOPK.ADD", "k", fmt.Sprint(i, strings.Repeat("x", 20<<10)))
		refused = refused || got == "-"+answer.TextOOM
		if used := b.engine.Budget.Used(); used > limit {
			t.Fatalf("%d bytes in use, limit %d", used, limit)
		}
	}
	if !refused {
		t.Error("items of 4 MB fit into 1 MB")
	}
	b.replays(t)
}

// TestDigestsAreReadWhenWritesAreRefused asks that queries, which compress a digest
// first, are answered from a copy while nothing can be written, and that the digest
// stays as it is.
func TestDigestsAreReadWhenWritesAreRefused(t *testing.T) {
	lines := []string{
		"TDIGEST.QUANTILE d 0.5 1", "TDIGEST.CDF d 2", "TDIGEST.RANK d 2", "TDIGEST.REVRANK d 2", "TDIGEST.BYRANK d 1",
		"TDIGEST.BYREVRANK d 1", "TDIGEST.TRIMMED_MEAN d 0.1 0.9", "TDIGEST.MIN d", "TDIGEST.INFO d",
	}
	b, other := newBench(t, 1<<30), newBench(t, 1<<30)
	for _, v := range []*bench{b, other} {
		v.lines("TDIGEST.CREATE d", "TDIGEST.ADD d 1 2 2 3 9 4")
	}
	before := string(snapshot(b.state))
	b.door.refuses = fmt.Errorf("%w: test", door.ErrRefused)
	for _, line := range lines[:len(lines)-1] {
		if got, want := b.line(line), other.line(line); got != want {
			t.Errorf("%s while writes are refused = %s, want %s", line, got, want)
		}
	}
	if string(snapshot(b.state)) != before {
		t.Error("a digest has changed while writes were refused")
	}
	if got := b.line("DUMP d"); got != other.line("DUMP d") {
		t.Errorf("DUMP while writes are refused = %s", got)
	}
	b.door.refuses = nil
	if got, want := b.line("TDIGEST.QUANTILE d 0.5"), other.line("TDIGEST.QUANTILE d 0.5"); got != want {
		t.Errorf("after that %s, want %s", got, want)
	}
	if string(snapshot(b.state)) != string(snapshot(other.state)) {
		t.Error("the digest is not compressed as it should be")
	}
}
