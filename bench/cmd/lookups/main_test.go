package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRun(t *testing.T) {
	doc, plot := filepath.Join(t.TempDir(), "static.md"), filepath.Join(t.TempDir(), "lookups.svg")
	if err := os.WriteFile(doc, []byte("before\n<!-- generated: "+mark+" -->\nold\n<!-- end of generated -->\nafter\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := run(2000, 1, doc, plot); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(doc)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"before\n", "after\n", "| bloom |", "| fuse |", "| ribbon |", "| quotient |", "CPU"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the document has no %q:\n%s", want, text)
		}
	}
	drawing, err := os.ReadFile(plot)
	if err != nil || !strings.Contains(string(drawing), ">fuse</text>") {
		t.Errorf("the plot does not have all kinds (%v)", err)
	}
	if err := run(2000, 1, plot, ""); err == nil {
		t.Error("a document without marks was accepted")
	}
}
