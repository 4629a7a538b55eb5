package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestProgram(t *testing.T) {
	name := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(name, []byte("a\nb\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	u, err := program{args: []string{"cat"}, stdin: name}.run(t.Context())
	if err != nil || u.lines != 2 || u.wall <= 0 || u.peak <= 0 {
		t.Errorf("cat: %+v, %v", u, err)
	}
	if _, err := (program{args: []string{"false"}}).run(t.Context()); err == nil {
		t.Error("a program that fails is no error")
	}
	if ms, err := (program{args: []string{"cat"}}).firstByte(t.Context()); err != nil || ms <= 0 {
		t.Errorf("cat: %v ms, %v", ms, err)
	}
}

// TestPage holds the page to runs that meet some targets and miss others.
func TestPage(t *testing.T) {
	b := bench{dir: "/dir", text: "/text", first: []float64{9, 1, 2}}
	b.tasks = b.define()
	for i := range b.tasks {
		for j := range b.tasks[i].ways {
			b.tasks[i].ways[j].runs = []usage{{wall: 1 + 10*float64(j), cpu: 1, peak: 10 + 100*float64(j), lines: 7}}
		}
	}
	if err := b.agree(); err != nil {
		t.Error(err)
	}
	page := b.page(t.Context(), "- CPU: some\n", 1).String()
	for _, want := range []string{
		"| dedupe: times as fast as `LC_ALL=C sort -u` | 31.0 | at least 3 | met |\n",
		"| dedupe with a rate: `sort -u` takes this many times the memory | 1.5 | at least 15 | **missed** |\n",
		"| from the start to the first output on a pipe, ms | 2.0 | at most 15 | met |\n",
		"bloomery dedupe --max-memory 80M --rate 1e-6 FILE\nLC_ALL=C sort -u FILE\nmawk '!seen[$0]++' FILE\n",
		"bloomery check ours.bf < FILE\n", "- CPU: some\n",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %q:\n%s", want, page)
		}
	}
	part := bench{dir: b.dir, text: b.text, tasks: b.tasks[:1], first: b.first, shared: true}
	if page := part.page(t.Context(), "", 1).String(); !strings.Contains(page, "mawk, CPU time | 1.0 | at least 12 | **missed**") || strings.Contains(page, "DCSO's") {
		t.Errorf("the page of one task by CPU time:\n%s", page)
	}
	b.tasks[0].ways[1].runs[0].lines = 8
	if err := b.agree(); err == nil {
		t.Error("ways that disagree are no error")
	}
}
