// Tests of Job with every memory.

package dedupe_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"pgregory.net/rapid"

	"github.com/bloomery/bloomery"
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

// same is the key of a whole line.
func same(s string) string { return strings.TrimSuffix(s, "\r") }

func run(tb testing.TB, j *dedupe.Job) (dedupe.Summary, string) {
	tb.Helper()
	var out bytes.Buffer
	j.Out = &out
	sum, err := finish(tb, tb.Context(), j)
	if err != nil {
		tb.Fatal(err)
	}
	return sum, out.String()
}

// finish runs a job and closes its memory.
func finish(tb testing.TB, ctx context.Context, j *dedupe.Job) (dedupe.Summary, error) {
	tb.Helper()
	sum, err := j.Run(ctx)
	if j.Exact != nil {
		if err := j.Exact.Close(); err != nil {
			tb.Error(err)
		}
	}
	return sum, err
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
		if j.Input.Raw = rapid.Bool().Draw(r, "raw"); j.Input.Raw {
			key = func(s string) string { return s }
		}
		if rapid.Bool().Draw(r, "columns") {
			c, err := lines.ParseColumns("2")
			if err != nil {
				r.Fatal(err)
			}
			j.Key = lines.Key{Delimiter: ",", Columns: c}
			line := key
			key = func(s string) string {
				if parts := strings.Split(line(s), ","); len(parts) > 1 {
					return parts[1]
				}
				return ""
			}
		}
		j.Key.Raw = j.Input.Raw
		if rapid.Bool().Draw(r, "exact") {
			j.Exact = &dedupe.Exact{Memory: dedupe.MinExact, Temp: temp, Seed: rapid.Uint64().Draw(r, "seed"), Texts: rapid.Bool().Draw(r, "texts")}
		} else {
			j.Seen = newSeen(t, dedupe.MinMemory, 1e-6)
		}
		var out bytes.Buffer
		j.Out = &out
		sum, err := finish(t, t.Context(), &j)
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

// manyLines returns lines with numbers below distinct, drawn with repetition. Some end with CR LF.
func manyLines(n, distinct int, seed uint64) string {
	r := rand.New(rand.NewPCG(seed, 0))
	var b strings.Builder
	for range n {
		fmt.Fprintf(&b, "line %d of the test%s", r.IntN(distinct), []string{"\n", "\n", "\r\n"}[r.IntN(3)])
	}
	return b.String()
}

// TestExactSpills asks for the same answer when most lines are spilled, some of
// them several times, for one notice of it, and for an empty folder behind.
func TestExactSpills(t *testing.T) {
	n := 200_000
	if testing.Short() {
		n = 60_000
	}
	text := manyLines(n, n*2/3, 1)
	for _, c := range []struct{ duplicates, texts bool }{{false, false}, {true, false}, {false, true}, {true, true}} {
		temp := t.TempDir()
		notices, known := 0, uint64(0)
		e := &dedupe.Exact{Memory: dedupe.MinExact, Temp: temp, Seed: 7, Texts: c.texts, Spilling: func(distinct uint64) { notices, known = notices+1, distinct }}
		sum, out := run(t, &dedupe.Job{Input: input(text, 0), Exact: e, Duplicates: c.duplicates})
		if w := want(text, same, c.duplicates); out != w {
			t.Errorf("%+v: %d bytes that differ from the %d wanted", c, len(out), len(w))
		}
		if sum.In != uint64(n) || sum.Out != uint64(strings.Count(out, "\n")) || e.Spilled() < uint64(n)/3 || notices != 1 {
			t.Errorf("%+v: summary %+v, %d spilled, %d notices", c, sum, e.Spilled(), notices)
		}
		if !c.duplicates && sum.Out-sum.Late != known {
			t.Errorf("%+v: %d of %d lines came at the end, and memory held %d", c, sum.Late, sum.Out, known)
		}
		if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
			t.Errorf("%+v: left behind: %v, %v", c, left, err)
		}
	}
}

// TestBoundedDoesNotSpill asks for an error when memory is full.
func TestBoundedDoesNotSpill(t *testing.T) {
	temp := t.TempDir()
	var out bytes.Buffer
	j := &dedupe.Job{Input: input(manyLines(60_000, 50_000, 6), 0), Exact: &dedupe.Exact{Memory: dedupe.MinExact, Temp: temp, Bounded: true}, Out: &out}
	if _, err := finish(t, t.Context(), j); !errors.Is(err, bloomery.ErrFull) {
		t.Errorf("Run: %v, want ErrFull", err)
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestSeparated notices the delimiter of columns in whatever batch it is.
func TestSeparated(t *testing.T) {
	c, err := lines.ParseColumns("2")
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]bool{"a\nb\nc\n": false, "a,b\nb\nc\n": true, "a\nb\nc,d\n": true} {
		sum, _ := run(t, &dedupe.Job{Input: input(text, 2), Workers: 1, Key: lines.Key{Delimiter: ",", Columns: c}, Seen: newSeen(t, dedupe.MinMemory, 1e-6)})
		if sum.Separated != want || sum.Bytes != uint64(len(text)) {
			t.Errorf("%q: %+v, want separated %v", text, sum, want)
		}
	}
}

func TestExactCounts(t *testing.T) {
	for _, n := range []int{1000, 60_000} {
		text := manyLines(n, n/3, 2)
		counts := map[string]int{}
		for line := range strings.Lines(text) {
			counts[same(line[:len(line)-1])]++
		}
		var w strings.Builder
		for line := range strings.Lines(want(text, same, false)) {
			fmt.Fprintf(&w, "%d\t%s", counts[same(line[:len(line)-1])], line)
		}
		sum, out := run(t, &dedupe.Job{Input: input(text, 0), Exact: &dedupe.Exact{Memory: dedupe.MinExact, Temp: t.TempDir(), Texts: true, Count: true}})
		if out != w.String() {
			t.Errorf("n = %d: %d bytes that differ from the %d wanted", n, len(out), w.Len())
		}
		if sum.Out != uint64(len(counts)) || sum.Bytes != uint64(len(text)) {
			t.Errorf("n = %d: summary %+v, want %d out of %d bytes", n, sum, len(counts), len(text))
		}
	}
}

// TestExactCountsKeys counts by columns, with the first line of each key.
func TestExactCountsKeys(t *testing.T) {
	columns, err := lines.ParseColumns("1,3")
	if err != nil {
		t.Fatal(err)
	}
	j := &dedupe.Job{
		Input: input("a;1;x\na;2;y\na;3;x\nb\nb;;\nb;1;\n", 0), Exact: &dedupe.Exact{Memory: dedupe.MinExact, Texts: true, Count: true},
		Key: lines.Key{Delimiter: ";", Columns: columns},
	}
	if _, out := run(t, j); out != "2\ta;1;x\n1\ta;2;y\n3\tb\n" {
		t.Errorf("got %q", out)
	}
}

// TestExactLongLines has lines longer than all memory, several in one part.
func TestExactLongLines(t *testing.T) {
	long := strings.Repeat("x", dedupe.MinExact)
	text := "a\n" + long + "1\n" + long + "2\nb\n" + long + "1\na\n" + long + "3\n" + long + "2\nc\n"
	if _, out := run(t, &dedupe.Job{Input: input(text, 0), Exact: &dedupe.Exact{Memory: dedupe.MinExact, Temp: t.TempDir(), Texts: true}}); out != want(text, same, false) {
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
		return &lines.Input{Files: []string{filepath.Join(dir, "a"), filepath.Join(dir, "b")}, Header: true}
	}
	for _, c := range []struct {
		duplicates bool
		want       string
	}{{false, "name\nx\nname\ny\n"}, {true, "name\nx\n"}} {
		sum, out := run(t, &dedupe.Job{Input: in(), Seen: newSeen(t, dedupe.MinMemory, 1e-6), Duplicates: c.duplicates})
		if out != c.want || sum.In != 4 || sum.Out != uint64(strings.Count(c.want, "\n"))-1 {
			t.Errorf("duplicates %v: got %q, %+v", c.duplicates, out, sum)
		}
	}
}

// TestNames dedupes by the names of columns, in all ways of remembering: keys of texts
// that were spilled are those of the header, too, and other places are refused.
func TestNames(t *testing.T) {
	text := "name;id\n"
	for i := range 3000 {
		text += fmt.Sprintf("name %d;%d\n", i, i%1000)
	}
	columns, err := lines.ParseColumns("id")
	if err != nil {
		t.Fatal(err)
	}
	key := lines.Key{Delimiter: ";", Columns: columns}
	for name, j := range map[string]*dedupe.Job{
		"seen":   {Seen: newSeen(t, dedupe.MinMemory, 1e-6)},
		"hashes": {Exact: &dedupe.Exact{Memory: dedupe.MinExact, Temp: t.TempDir()}},
		"texts":  {Exact: &dedupe.Exact{Memory: dedupe.MinExact, Temp: t.TempDir(), Texts: true}},
		"count":  {Exact: &dedupe.Exact{Memory: dedupe.MinExact, Temp: t.TempDir(), Texts: true, Count: true}},
	} {
		j.Input, j.Key = input(text, 1<<10), key
		j.Input.Header, j.Input.Named = true, &key
		sum, out := run(t, j)
		if !strings.HasPrefix(out, "name;id\n") || strings.Count(out, "\n") != 1001 || sum.In != 3000 || sum.Out != 1000 || sum.Bytes != uint64(len(text)) {
			t.Errorf("%s: %d lines of %+v", name, strings.Count(out, "\n"), sum)
		}
	}
	dir := t.TempDir()
	files := []string{filepath.Join(dir, "a"), filepath.Join(dir, "b")}
	for i, text := range []string{"name;id\nx;1\n", "id;name\n1;x\n"} {
		if err := os.WriteFile(files[i], []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	j := &dedupe.Job{Input: &lines.Input{Files: files, Header: true, Named: &key}, Key: key, Out: io.Discard, Seen: newSeen(t, dedupe.MinMemory, 1e-6)}
	if _, err := j.Run(t.Context()); err == nil || !strings.Contains(err.Error(), `the columns "id" are at 1, and at 2 in the first file`) {
		t.Errorf("other places: %v", err)
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
		"hashes": func(temp string) *dedupe.Job {
			return &dedupe.Job{Input: input(text, 0), Exact: &dedupe.Exact{Memory: dedupe.MinExact, Temp: temp}, Out: broken{}}
		},
		"exact": func(temp string) *dedupe.Job {
			return &dedupe.Job{Input: input(text, 0), Exact: &dedupe.Exact{Memory: dedupe.MinExact, Temp: temp, Texts: true}, Out: broken{}}
		},
		"exact, at the end": func(temp string) *dedupe.Job {
			return &dedupe.Job{Input: input(text, 0), Exact: &dedupe.Exact{Memory: dedupe.MinExact, Temp: temp, Texts: true, Count: true}, Out: broken{}}
		},
	}
	for name, job := range jobs {
		temp := t.TempDir()
		if _, err := finish(t, t.Context(), job(temp)); !errors.Is(err, syscall.EPIPE) {
			t.Errorf("%s: %v, want EPIPE", name, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := finish(t, ctx, job(temp)); !errors.Is(err, context.Canceled) {
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
		Exact: &dedupe.Exact{Memory: dedupe.MinExact, Temp: temp, Texts: true, Count: true},
	}
	if _, err := finish(t, ctx, j); !errors.Is(err, context.Canceled) {
		t.Errorf("Run: %v", err)
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestFullDisk gives the temporary folder room for less and less.
func TestFullDisk(t *testing.T) {
	text := manyLines(60_000, 50_000, 5)
	for _, kind := range []dedupe.Exact{{}, {Texts: true}, {Texts: true, Count: true}} {
		for _, room := range []int{0, 1, 100_000, 500_000, 900_000} {
			full := dedupe.NewFullDisk(room)
			e := &dedupe.Exact{Memory: dedupe.MinExact, Texts: kind.Texts, Count: kind.Count}
			dedupe.SetDisk(e, full)
			var out bytes.Buffer
			_, err := finish(t, t.Context(), &dedupe.Job{Input: input(text, 0), Exact: e, Out: &out})
			if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "temporary folder") {
				t.Errorf("room for %d bytes: %v, want ENOSPC of the temporary folder", room, err)
			}
			if !strings.HasPrefix(want(text, same, false), out.String()) || kind.Count && out.Len() > 0 {
				t.Errorf("room for %d bytes: what was written is not the beginning of what is right", room)
			}
			if n := full.Open(); n > 0 || !full.Closed {
				t.Errorf("room for %d bytes: %d files open, folder removed: %v", room, n, full.Closed)
			}
		}
	}
}

// TestBrokenDisk cannot read what was spilled, or has no folder to spill to.
func TestBrokenDisk(t *testing.T) {
	text := manyLines(60_000, 50_000, 6)
	for _, kind := range []dedupe.Exact{{}, {Texts: true}, {Texts: true, Count: true}} {
		disk := dedupe.NewFullDisk(math.MaxInt)
		disk.Broken = syscall.EIO
		e := &dedupe.Exact{Memory: dedupe.MinExact, Texts: kind.Texts, Count: kind.Count}
		dedupe.SetDisk(e, disk)
		if _, err := finish(t, t.Context(), &dedupe.Job{Input: input(text, 0), Exact: e, Out: io.Discard}); !errors.Is(err, syscall.EIO) {
			t.Errorf("a disk that cannot be read: %v, want EIO", err)
		}
		if n := disk.Open(); n > 0 || !disk.Closed {
			t.Errorf("%d files open, folder removed: %v", n, disk.Closed)
		}
		e = &dedupe.Exact{Memory: dedupe.MinExact, Texts: kind.Texts, Count: kind.Count, Temp: filepath.Join(t.TempDir(), "nothing")}
		if _, err := finish(t, t.Context(), &dedupe.Job{Input: input(text, 0), Exact: e, Out: io.Discard}); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("a place that is not there: %v, want ErrNotExist", err)
		}
	}
}

// TestDiskBreaksAtTheEnd breaks the disk at each of the last reads, when all that
// was spilled is merged.
func TestDiskBreaksAtTheEnd(t *testing.T) {
	text := manyLines(12_000, 12_000, 7)
	try := func(broken error, from int) (int, error) {
		disk := dedupe.NewFullDisk(math.MaxInt)
		disk.Broken, disk.From = broken, from
		e := &dedupe.Exact{Memory: dedupe.MinExact, Texts: true}
		dedupe.SetDisk(e, disk)
		_, err := finish(t, t.Context(), &dedupe.Job{Input: input(text, 0), Exact: e, Out: io.Discard})
		return disk.Reads, err
	}
	reads, err := try(nil, 0)
	if reads == 0 || err != nil {
		t.Fatalf("%d reads, %v", reads, err)
	}
	for from := max(0, reads-40); from < reads; from++ {
		if _, err := try(syscall.EIO, from); !errors.Is(err, syscall.EIO) {
			t.Errorf("broken from read %d of %d on: %v, want EIO", from, reads, err)
		}
	}
	t.Logf("%d reads", reads)
}

// TestTooManyFiles cannot make a file, of the first that are spilled to or of those
// that a part is spilled to again.
func TestTooManyFiles(t *testing.T) {
	text := manyLines(120_000, 1_000_000, 8)
	try := func(most int) (int, error) {
		disk := dedupe.NewFullDisk(math.MaxInt)
		disk.Most = most
		e := &dedupe.Exact{Memory: dedupe.MinExact, Texts: true}
		dedupe.SetDisk(e, disk)
		_, err := finish(t, t.Context(), &dedupe.Job{Input: input(text, 0), Exact: e, Out: io.Discard})
		return disk.Files, err
	}
	files, err := try(0)
	if files < 100 || err != nil { // 16 parts and their runs at first
		t.Fatalf("%d files, %v", files, err)
	}
	for _, most := range []int{1, 10, 16, 17, 18, 20, 25, 30, files / 2, files - 1} {
		if _, err := try(most); !errors.Is(err, syscall.ENFILE) {
			t.Errorf("%d of %d files: %v, want ENFILE", most, files, err)
		}
	}
}

// TestExactKeepsToItsMemory adds up what an Exact takes.
func TestExactKeepsToItsMemory(t *testing.T) {
	for _, memory := range []int{dedupe.MinExact, 2*dedupe.MinExact + 1, 16 << 20, 64 << 20} {
		e := &dedupe.Exact{Memory: memory}
		if err := e.Open(); err != nil {
			t.Fatal(err)
		}
		if arena, buffers := dedupe.Taken(e); arena+buffers > memory || arena < memory/4 {
			t.Errorf("memory %d: %d for lines and %d for files", memory, arena, buffers)
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}
}
