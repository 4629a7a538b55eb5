package main

import (
	"bytes"
	"strings"
	"testing"
)

// TestTables makes small tables: they have all rows.
func TestTables(t *testing.T) {
	var out bytes.Buffer
	if err := builders(&out, 20_000); err != nil {
		t.Fatal(err)
	}
	if err := distances(&out, 1<<20); err != nil {
		t.Fatal(err)
	}
	if err := digests(&out, 20_000); err != nil {
		t.Fatal(err)
	}
	for _, row := range []string{"| 1000 |", "| bloom (1 MiB) | 1 | ", "| ribbon (", "| as text |", "| as digests |"} {
		if !strings.Contains(out.String(), row) {
			t.Errorf("no %q in\n%s", row, out.String())
		}
	}
}
