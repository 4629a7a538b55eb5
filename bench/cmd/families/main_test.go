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

// A short run of everything that needs no fetched data reaches every aim but
// those, and a second one finds all of it in the results.
func TestDocument(t *testing.T) {
	dir := t.TempDir()
	out, file := filepath.Join(dir, "families.md"), filepath.Join(dir, "families.jsonl")
	args := []string{"-quick", "-rounds", "1", "-out", out, "-results", file, "-only", offline()}
	var stdout strings.Builder
	if err := run(t.Context(), args, &stdout); err != nil {
		t.Fatal(err)
	}
	first, doc := read(t, file), read(t, out)
	wellFormed(t, doc)
	for _, a := range aims() {
		if !strings.Contains(a.title, "Spectral") && !strings.Contains(stdout.String(), "| "+a.title+" | ") {
			t.Errorf("nothing is said on %q", a.title)
		}
	}
	if err := run(t.Context(), args, &stdout); err != nil {
		t.Fatal(err)
	}
	if read(t, file) != first {
		t.Error("a second run measured again")
	}
}

// offline matches the experiments that fetch nothing.
func offline() string {
	var names []string
	for _, e := range experiments() {
		if e.family != "spectral" {
			names = append(names, e.name())
		}
	}
	return "^(" + strings.Join(names, "|") + ")$"
}

func read(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
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
	for _, args := range [][]string{{"-rounds", "0"}, {"-only", "("}, {"-largest", "x"}} {
		if _, err := parse(args); err == nil {
			t.Errorf("parse(%q) gave no error", args)
		}
	}
}
