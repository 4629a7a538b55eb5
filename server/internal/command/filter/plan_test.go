package filter_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/bloomery/bloomery/codec"
)

// TestPlanNamesKindsOfTheServer asks that FILTER.PLAN recommends no kind that the
// server does not have, and names fuse filters by their width.
func TestPlanNamesKindsOfTheServer(t *testing.T) {
	var known []string
	for _, k := range codec.Kinds() {
		known = append(known, k.Name)
	}
	kind := regexp.MustCompile(`"(take|kind)" "([^"]*)"`)
	b := newBench(t, 0)
	for _, need := range []string{"", "adversary", "counts", "deletes", "expiry", "growth", "immutable", "parquet"} {
		line := "FILTER.PLAN 1000000 0.01"
		if need != "" {
			line += " NEEDS " + need
		}
		got := b.Line(line)
		rows := kind.FindAllStringSubmatch(got, -1)
		if len(rows) < 2 {
			t.Fatalf("%s = %s", line, got)
		}
		for _, row := range rows {
			switch name := row[2]; name {
			case "go map", "sorted array", "redis set": // exact
			default:
				if !slices.Contains(known, name) {
					t.Errorf("%s names %q", line, name)
				}
			}
		}
	}
	for rate, want := range map[string]string{"0.01": "fuse8", "0.0001": "fuse16", "0.000001": "fuse32"} {
		line := "FILTER.PLAN 1000000 " + rate + " NEEDS immutable"
		if got := b.Line(line); !regexp.MustCompile(fmt.Sprintf(`"kind" %q`, want)).MatchString(got) {
			t.Errorf("%s = %s, want %s", line, got, want)
		}
	}
}

// TestPlanOfFewKeys asks for plans of one key, which a map serves better, and of none.
func TestPlanOfFewKeys(t *testing.T) {
	b := newBench(t, 1<<30)
	if got := b.Line("FILTER.PLAN 1 0.01"); !strings.Contains(got, "So few keys fit into a map") {
		t.Errorf("FILTER.PLAN of one key = %s, want the warning that a map serves", got)
	}
	if got, want := b.Line("FILTER.PLAN 0 0.01"), "-ERR keys must be a whole number of at least 1 (1000, 1e6, 10M)"; got != want {
		t.Errorf("FILTER.PLAN of no keys = %s, want %s", got, want)
	}
}
