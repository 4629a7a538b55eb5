package main

import (
	"strings"
	"testing"
)

// Filters save at least 95% of the blocks that absent keys cost, and every present key is
// found: lookUp returns an error else.
func TestFiltersSaveReads(t *testing.T) {
	rows, err := run(false, 50_000, 10_000)
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != 5 || rows[0].name != "none" || rows[0].bytes != 0 || rows[0].absent < 1000 {
		t.Fatalf("rows %+v, want five that begin with none", rows)
	}
	for _, r := range rows[1:] {
		if r.saved < 0.95 || r.bytes == 0 {
			t.Errorf("%s: %.2f%% saved with %d bytes, want at least 95%%", r.name, 100*r.saved, r.bytes)
		}
	}
	var out strings.Builder
	if err := table(&out, rows); err != nil || strings.Count(out.String(), "\n") != 6 {
		t.Errorf("%v, table:\n%s", err, out.String())
	}
}
