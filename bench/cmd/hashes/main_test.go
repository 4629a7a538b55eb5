package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bloomery/bloomery/hashing/named"
)

// Every hash has its row, and the default is what the others are compared with.
func TestRun(t *testing.T) {
	doc := filepath.Join(t.TempDir(), "security.md")
	marks := "before\n<!-- generated: " + mark + " -->\nold\n<!-- end of generated -->\nafter\n"
	if err := os.WriteFile(doc, []byte(marks), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := run(doc, 1); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(doc)
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	want := []string{"before\n", "after\n", "| XXH3, the default | 1.0 | 1.0 | 1.0 | 0 | no |", "| SipHash-2-4, `hashing.Keyed` | ",
		"| XXH3, the default | 1.0 | 1.0 | 1.0 | 1.0 |", "256 MiB, batches"}
	for _, h := range named.All() {
		if h.Digests {
			continue // its keys are none of those that are measured
		}
		want = append(want, "| "+h.Name+" | ")
	}
	for _, w := range want {
		if !strings.Contains(text, w) {
			t.Errorf("the document does not have %q:\n%s", w, text)
		}
	}
	if strings.Contains(text, "old") {
		t.Error("the old table is still there")
	}
}
