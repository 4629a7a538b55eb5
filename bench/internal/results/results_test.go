package results_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/bloomery/bloomery/bench/internal/results"
)

type record struct {
	Name  string
	Value int
}

func open(t *testing.T, path string) *results.File[record] {
	t.Helper()
	f, err := results.Open(path, func(r record) string { return r.Name })
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func contents(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// A line is in the file as soon as it is added; Tidy leaves the last of each
// name, and a later Open finds it.
func TestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "results.jsonl")
	f := open(t, path)
	want := ""
	for _, step := range []struct {
		add  record
		line string
	}{
		{record{"b", 1}, `{"Name":"b","Value":1}`},
		{record{"a", 2}, `{"Name":"a","Value":2}`},
		{record{"b", 3}, `{"Name":"b","Value":3}`},
	} {
		if err := f.Add(step.add); err != nil {
			t.Fatal(err)
		}
		want += step.line + "\n"
		if got := contents(t, path); got != want {
			t.Fatalf("the file is %q, want %q", got, want)
		}
	}
	if err := f.Tidy(); err != nil {
		t.Fatal(err)
	}
	want = `{"Name":"a","Value":2}` + "\n" + `{"Name":"b","Value":3}` + "\n"
	if got := contents(t, path); got != want {
		t.Errorf("Tidy left %q, want %q", got, want)
	}
	if got, ok := open(t, path).Get("b"); !ok || got.Value != 3 {
		t.Errorf("Get(b) = %v, %v, want 3", got, ok)
	}
}

// What a crash left of a line is cut off before the next is added.
func TestTornLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "results.jsonl")
	whole := `{"Name":"a","Value":2}` + "\n"
	if err := os.WriteFile(path, []byte(whole+`{"Name":"b",`), 0o644); err != nil {
		t.Fatal(err)
	}
	f := open(t, path)
	if _, ok := f.Get("b"); ok {
		t.Error("half a line was read")
	}
	if err := f.Add(record{"c", 4}); err != nil {
		t.Fatal(err)
	}
	if got, want := contents(t, path), whole+`{"Name":"c","Value":4}`+"\n"; got != want {
		t.Errorf("the file is %q, want %q", got, want)
	}
}
