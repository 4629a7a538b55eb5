package main

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// twoRows and oneCase are cheap.
const (
	twoRows = `^bloom\.Filter/rate=0.01/(random|user)/n=1000$`
	oneCase = `^bloom\.Filter/n = 0$`
)

// again runs the program on a results file and returns its lines, and the
// document behind all rows.
func again(t *testing.T, file string, args ...string) (lines []string, doc string) {
	t.Helper()
	var out strings.Builder
	if err := run(t.Context(), append([]string{"-results", file, "-workers", "1"}, args...), &out); err != nil {
		t.Fatal(err)
	}
	lines = readLines(t, file)
	var rows strings.Builder
	if err := run(t.Context(), []string{"-results", file, "-only", "^$", "-rows"}, &rows); err != nil {
		t.Fatal(err)
	}
	if now := readLines(t, file); !slices.Equal(now, lines) {
		t.Errorf("-rows changed the results to %q", now)
	}
	return lines, rows.String() + out.String()
}

func readLines(t *testing.T, file string) []string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return slices.Collect(strings.Lines(string(data)))
}

// A run that is interrupted goes on where it was, in whatever order its parts
// were run, and the document has all of it.
func TestGoesOn(t *testing.T) {
	file := filepath.Join(t.TempDir(), "promises.jsonl")
	first, doc := again(t, file, "-queries", "100", "-only", twoRows)
	if len(first) != 2 || strings.Contains(doc, "| bloom.Filter | error") {
		t.Fatalf("%d lines of two rows; document:\n%s", len(first), doc)
	}
	// The crash: the end of a line is missing.
	whole := strings.Join(first, "")
	if err := os.WriteFile(file, []byte(whole+`{"name":"bloom.Fil`), 0o644); err != nil {
		t.Fatal(err)
	}
	both, doc := again(t, file, "-queries", "100", "-only", twoRows+"|"+oneCase)
	if len(both) != 3 {
		t.Fatalf("%d lines, want two rows and a case:\n%s", len(both), both)
	}
	for _, line := range first {
		if !slices.Contains(both, line) {
			t.Errorf("measured again: %s", line)
		}
	}
	for _, want := range []string{"| 0.01 | random | 1000 | 1e+04 |", "| bloom.Filter | error |", "rows and cases are not measured yet"} {
		if !strings.Contains(doc, want) {
			t.Errorf("the document lacks %q:\n%s", want, doc)
		}
	}
}

// More queries replace fewer, fewer do not replace more, -again replaces all
// that is selected and nothing else.
func TestReplaces(t *testing.T) {
	file := filepath.Join(t.TempDir(), "promises.jsonl")
	again(t, file, "-queries", "100", "-only", twoRows)
	more, doc := again(t, file, "-queries", "200", "-only", `^bloom\.Filter/rate=0.01/random/n=1000$`)
	if len(more) != 2 || !strings.Contains(doc, "| 0.01 | random | 1000 | 2e+04 |") || !strings.Contains(doc, "| 0.01 | user | 1000 | 1e+04 |") {
		t.Fatalf("%d lines, want 2; document:\n%s", len(more), doc)
	}
	if same, _ := again(t, file, "-queries", "50", "-only", twoRows); !slices.Equal(same, more) {
		t.Errorf("with fewer queries:\n%s\nwant\n%s", same, more)
	}
	forced, _ := again(t, file, "-queries", "50", "-again", "-only", `^bloom\.Filter/rate=0.01/user/n=1000$`)
	if forced[0] != more[0] || forced[1] == more[1] {
		t.Errorf("with -again:\n%s\nwant only the second line of\n%s to differ", forced, more)
	}
}

// A file that is damaged in the middle is not overwritten.
func TestDamagedResults(t *testing.T) {
	file := filepath.Join(t.TempDir(), "promises.jsonl")
	text := "{\"name\":\"a\"}\nnonsense\n{\"name\":\"b\"}\n"
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	err := run(t.Context(), []string{"-results", file, "-only", "^$"}, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "promises.jsonl:2:") {
		t.Errorf("run = %v, want an error that names line 2", err)
	}
	if got := strings.Join(readLines(t, file), ""); got != text {
		t.Errorf("the file is now %q, want it as it was", got)
	}
}

// The results have every row and case of the plan, and ours keep their word in
// all of them.
func TestResultsAreComplete(t *testing.T) {
	known, err := open(t.Context(), "../../results/promises.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	d := gather(known)
	if d.missing > 0 {
		t.Errorf("%d rows and cases are not measured", d.missing)
	}
	if broken := d.broken(); len(broken) > 0 {
		t.Errorf("broken: %q", broken)
	}
}
