package dedupe_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"pgregory.net/rapid"

	"github.com/bloomery/bloomery/cmd/bloomery/internal/dedupe"
	"github.com/bloomery/bloomery/cmd/bloomery/internal/lines"
)

// input returns an Input that reads a text as standard input, in small blocks.
func input(text string, size int) *lines.Input {
	return &lines.Input{Stdin: strings.NewReader(text), Block: size}
}

// newSeen returns a Seen or ends the test.
func newSeen(tb testing.TB, memory int, p float64) *dedupe.Seen {
	tb.Helper()
	s, err := dedupe.Config{Memory: memory, ErrorRate: p}.New()
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// want does by a map what a Job should do.
func want(text string, key func(string) string, duplicates bool) string {
	seen := map[string]bool{}
	var b strings.Builder
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		k := key(line)
		if seen[k] == duplicates {
			b.WriteString(line + "\n")
		}
		seen[k] = true
	}
	return b.String()
}

func same(s string) string { return s }

func run(tb testing.TB, j *dedupe.Job) (dedupe.Summary, string) {
	tb.Helper()
	var out bytes.Buffer
	j.Out = &out
	sum, err := j.Run(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	return sum, out.String()
}

// TestJobAgreesWithMap holds both memories to a map, on texts of many kinds and
// in blocks of many sizes.
func TestJobAgreesWithMap(t *testing.T) {
	temp := t.TempDir()
	rapid.Check(t, func(r *rapid.T) {
		words := rapid.SliceOfN(rapid.StringMatching(`[a-c,\x00\r]{0,4}`), 0, 200).Draw(r, "lines")
		text := strings.Join(words, "\n")
		size := rapid.IntRange(1, 64).Draw(r, "block")
		j := dedupe.Job{
			Input: input(text, size), Workers: rapid.IntRange(1, 3).Draw(r, "workers"),
			Duplicates: rapid.Bool().Draw(r, "duplicates"),
		}
		key := same
		if rapid.Bool().Draw(r, "columns") {
			c, err := dedupe.ParseColumns("2")
			if err != nil {
				r.Fatal(err)
			}
			j.Key = dedupe.Key{Delimiter: ",", Columns: c}
			key = func(s string) string {
				if parts := strings.Split(s, ","); len(parts) > 1 {
					return parts[1]
				}
				return ""
			}
		}
		if rapid.Bool().Draw(r, "exact") {
			j.Exact = &dedupe.Exact{Memory: dedupe.MinExact, Temp: temp}
		} else {
			j.Seen = newSeen(t, dedupe.MinMemory, 1e-6)
		}
		var out bytes.Buffer
		j.Out = &out
		sum, err := j.Run(t.Context())
		if err != nil {
			r.Fatal(err)
		}
		if w := want(text, key, j.Duplicates); out.String() != w {
			r.Fatalf("got %q, want %q", out.String(), w)
		}
		if n := uint64(strings.Count(out.String(), "\n")); sum.Out != n || sum.In != sum.Out+sum.Dropped {
			r.Fatalf("summary %+v, %d lines written", sum, n)
		}
	})
}

// manyLines returns lines with numbers below distinct, drawn with repetition.
func manyLines(n, distinct int, seed uint64) string {
	r := rand.New(rand.NewPCG(seed, 0))
	var b strings.Builder
	for range n {
		fmt.Fprintf(&b, "line %d of the test\n", r.IntN(distinct))
	}
	return b.String()
}

// TestExactSpills asks for the same answer when most lines are spilled, some of
// them several times, and for an empty folder behind.
func TestExactSpills(t *testing.T) {
	n := 200_000
	if testing.Short() {
		n = 60_000
	}
	text := manyLines(n, n*2/3, 1)
	for _, duplicates := range []bool{false, true} {
		temp := t.TempDir()
		e := &dedupe.Exact{Memory: dedupe.MinExact, Temp: temp}
		sum, out := run(t, &dedupe.Job{Input: input(text, 0), Exact: e, Duplicates: duplicates})
		if w := want(text, same, duplicates); out != w {
			t.Errorf("duplicates %v: %d bytes that differ from the %d wanted", duplicates, len(out), len(w))
		}
		if sum.In != uint64(n) || sum.Out != uint64(strings.Count(out, "\n")) || e.Spilled() < uint64(n)/2 {
			t.Errorf("summary %+v, %d spilled", sum, e.Spilled())
		}
		if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
			t.Errorf("left behind: %v, %v", left, err)
		}
	}
}

func TestExactCounts(t *testing.T) {
	for _, n := range []int{1000, 60_000} {
		text := manyLines(n, n/3, 2)
		counts := map[string]int{}
		for line := range strings.Lines(text) {
			counts[line]++
		}
		var w strings.Builder
		for line := range strings.Lines(want(text, same, false)) {
			fmt.Fprintf(&w, "%d\t%s", counts[line], line)
		}
		sum, out := run(t, &dedupe.Job{Input: input(text, 0), Exact: &dedupe.Exact{Memory: dedupe.MinExact, Temp: t.TempDir(), Count: true}})
		if out != w.String() {
			t.Errorf("n = %d: %d bytes that differ from the %d wanted", n, len(out), w.Len())
		}
		if sum.Out != uint64(len(counts)) {
			t.Errorf("n = %d: summary %+v, want %d out", n, sum, len(counts))
		}
	}
}

// TestExactCountsKeys counts by columns, with the first line of each key.
func TestExactCountsKeys(t *testing.T) {
	columns, err := dedupe.ParseColumns("1,3")
	if err != nil {
		t.Fatal(err)
	}
	j := &dedupe.Job{
		Input: input("a;1;x\na;2;y\na;3;x\nb\nb;;\nb;1;\n", 0), Exact: &dedupe.Exact{Memory: dedupe.MinExact, Count: true},
		Key: dedupe.Key{Delimiter: ";", Columns: columns},
	}
	if _, out := run(t, j); out != "2\ta;1;x\n1\ta;2;y\n3\tb\n" {
		t.Errorf("got %q", out)
	}
}

// TestExactLongLines has lines longer than all memory, several in one part.
func TestExactLongLines(t *testing.T) {
	long := strings.Repeat("x", dedupe.MinExact)
	text := "a\n" + long + "1\n" + long + "2\nb\n" + long + "1\na\n" + long + "3\n" + long + "2\nc\n"
	if _, out := run(t, &dedupe.Job{Input: input(text, 0), Exact: &dedupe.Exact{Memory: dedupe.MinExact, Temp: t.TempDir()}}); out != want(text, same, false) {
		t.Errorf("%d bytes", len(out))
	}
}

func TestHeader(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"a": "name\nx\nname\n", "b": "name\nx\ny\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	in := func() *lines.Input {
		return &lines.Input{Files: []string{filepath.Join(dir, "a"), filepath.Join(dir, "b")}}
	}
	for _, c := range []struct {
		duplicates bool
		want       string
	}{{false, "name\nx\nname\ny\n"}, {true, "name\nx\n"}} {
		sum, out := run(t, &dedupe.Job{Input: in(), Seen: newSeen(t, dedupe.MinMemory, 1e-6), Header: true, Duplicates: c.duplicates})
		if out != c.want || sum.In != 4 || sum.Out != uint64(strings.Count(c.want, "\n"))-1 {
			t.Errorf("duplicates %v: got %q, %+v", c.duplicates, out, sum)
		}
	}
}

// broken is an output that nobody reads any more.
type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, syscall.EPIPE }

func TestJobFails(t *testing.T) {
	text := manyLines(60_000, 50_000, 3)
	jobs := map[string]func(temp string) *dedupe.Job{
		"seen": func(string) *dedupe.Job {
			return &dedupe.Job{Input: input(text, 0), Seen: newSeen(t, dedupe.MinMemory, 1e-6), Out: broken{}}
		},
		"exact": func(temp string) *dedupe.Job {
			return &dedupe.Job{Input: input(text, 0), Exact: &dedupe.Exact{Memory: dedupe.MinExact, Temp: temp}, Out: broken{}}
		},
		"exact, at the end": func(temp string) *dedupe.Job {
			return &dedupe.Job{Input: input(text, 0), Exact: &dedupe.Exact{Memory: dedupe.MinExact, Temp: temp, Count: true}, Out: broken{}}
		},
	}
	for name, job := range jobs {
		temp := t.TempDir()
		if _, err := job(temp).Run(t.Context()); !errors.Is(err, syscall.EPIPE) {
			t.Errorf("%s: %v, want EPIPE", name, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := job(temp).Run(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("%s, cancelled: %v", name, err)
		}
		if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
			t.Errorf("%s: left behind: %v, %v", name, left, err)
		}
	}
}

// cancelling ends a context when the first bytes are written to it.
type cancelling struct{ cancel func() }

func (c cancelling) Write(b []byte) (int, error) {
	c.cancel()
	return len(b), nil
}

// TestCancelAtTheEnd ends a job while it writes what was spilled.
func TestCancelAtTheEnd(t *testing.T) {
	temp := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	j := &dedupe.Job{
		Input: input(manyLines(100_000, 80_000, 4), 0), Out: cancelling{cancel},
		Exact: &dedupe.Exact{Memory: dedupe.MinExact, Temp: temp, Count: true},
	}
	if _, err := j.Run(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Run: %v", err)
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestFullDisk gives the temporary folder room for less and less.
func TestFullDisk(t *testing.T) {
	text := manyLines(60_000, 50_000, 5)
	for _, room := range []int{0, 1, 100_000, 1_000_000, 1_500_000} {
		full := dedupe.NewFullDisk(room)
		e := &dedupe.Exact{Memory: dedupe.MinExact}
		dedupe.SetDisk(e, full)
		var out bytes.Buffer
		_, err := (&dedupe.Job{Input: input(text, 0), Exact: e, Out: &out}).Run(t.Context())
		if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "temporary folder") {
			t.Errorf("room for %d bytes: %v, want ENOSPC of the temporary folder", room, err)
		}
		if !strings.HasPrefix(want(text, same, false), out.String()) {
			t.Errorf("room for %d bytes: what was written is not the beginning of what is right", room)
		}
		if n := full.Open(); n > 0 || !full.Closed {
			t.Errorf("room for %d bytes: %d files open, folder removed: %v", room, n, full.Closed)
		}
	}
}
