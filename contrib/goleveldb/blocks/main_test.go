package main

import (
	"strings"
	"testing"
)

// Filters save at least 95% of what absent keys cost, and every present key is found: lookUp
// returns an error else.
func TestFiltersSaveReads(t *testing.T) {
	rows, err := run("", 30_000, 10_000)
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != 3 || rows[0].filter != "none" || rows[0].absent == 0 {
		t.Fatalf("rows %+v, want three that begin with none", rows)
	}
	for _, r := range rows[1:] {
		if r.saved < 0.95 {
			t.Errorf("%s: %.2f%% saved, want at least 95%%", r.filter, 100*r.saved)
		}
	}
	var out strings.Builder
	if err := table(&out, rows); err != nil || strings.Count(out.String(), "\n") != 4 {
		t.Errorf("%v, table:\n%s", err, out.String())
	}
}
