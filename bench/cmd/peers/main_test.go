package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestMain lets the program start itself: the test binary is then the program.
func TestMain(m *testing.M) {
	if os.Getenv(childVariable) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

func TestDocument(t *testing.T) {
	out := filepath.Join(t.TempDir(), "benchmarks.md")
	var stdout strings.Builder
	times := filepath.Join(t.TempDir(), "peers.md")
	args := []string{"-quick", "-sizes", "1", "-rounds", "1", "-out", out, "-times", times}
	if err := run(t.Context(), args, &stdout); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(stdout.String(), "| ContainsHashes against blobloom, k = 8 |") {
		t.Errorf("standard output has no row for the first target:\n%s", stdout.String())
	}
	holds(t, times, "- Commit: ", "## Go\n", "### Hashes", "### 8-byte keys", "### 24-byte keys", "### Standard", "### Concurrent")
	holds(t, out,
		"- Commit: ", "- CPU: ", "- Go: go1.", "## What we aim at", "## How much faster", "## Size and error",
		"| batch lookups, k = 8, over the floor | hits |",
		"blobloom", "bits-and-blooms", "parquet-go", "arrow-go", "holiman", "ristretto", "BoomFilters")
}

// holds asks that a document has these texts and whole tables.
func holds(t *testing.T, file string, texts ...string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	doc := string(data)
	for _, want := range texts {
		if !strings.Contains(doc, want) {
			t.Errorf("%s lacks %q", file, want)
		}
	}
	wellFormed(t, doc)
}

// wellFormed checks that the rows of each table have as many cells as its
// head, and that no figure is missing.
func wellFormed(t *testing.T, doc string) {
	t.Helper()
	cells := 0
	for i, line := range strings.Split(doc, "\n") {
		if !strings.HasPrefix(line, "|") {
			cells = 0
			continue
		}
		n := strings.Count(line, "|")
		if cells != 0 && n != cells {
			t.Errorf("line %d has %d bars, its table %d: %s", i+1, n, cells, line)
		}
		cells = n
		if strings.Contains(line, "Inf") || strings.Contains(line, "NaN") {
			t.Errorf("line %d is no figure: %s", i+1, line)
		}
	}
}

func TestBadFlags(t *testing.T) {
	for _, args := range [][]string{{"-sizes", "3"}, {"-sizes", "x"}, {"-rounds", "0"}, {"-only", "("}} {
		if _, err := parse(args); err == nil {
			t.Errorf("parse(%q) gave no error", args)
		}
	}
}

// A target that names a loop which is not timed would never be measured.
func TestTargetsNameLoops(t *testing.T) {
	o, err := parse([]string{"-quick"})
	if err != nil {
		t.Fatal(err)
	}
	timed := map[comparison]bool{}
	for _, s := range sections {
		if !s.fits(1) {
			continue
		}
		for _, l := range s.loops(o, 1) {
			timed[comparison{section: s.name, ours: side{l.Who, l.Call}}] = true
		}
	}
	cs := append(comparisons(), costs()...)
	for _, x := range targets() {
		cs = append(cs, x.comparison)
	}
	for _, c := range cs {
		for _, of := range []side{c.ours, c.theirs} {
			if of.who != floor && !timed[comparison{section: c.section, ours: of}] {
				t.Errorf("%s: %s, %s is not timed", c.title, of.who, of.call)
			}
		}
	}
}
