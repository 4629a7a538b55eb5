package sizing_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/bloomery/bloomery/sizing"
)

// TestWindowOfManyWriters asks for the advice to requests that share a window.
func TestWindowOfManyWriters(t *testing.T) {
	a := mustAdvise(t, sizing.Needs{Keys: 1_000_000, Expiry: true, Writers: true})
	if text := a.String(); !strings.Contains(text, "Put a mutex around a window.") {
		t.Errorf("advice = %s", text)
	}
}

// TestHeadroomIsThatOfTheFirst checks the note on headroom: the kind that leads the
// table, with its own rate, and nothing of kinds that keep theirs.
func TestHeadroomIsThatOfTheFirst(t *testing.T) {
	const million = 1_000_000
	blocked := mustSize(sizing.Blocked, million, 0.01)
	for _, c := range []struct {
		needs sizing.Needs
		want  string
	}{
		{sizing.Needs{Keys: million}, fmt.Sprintf("the rate of a bloom filter is %.2g%% instead of 1%%", 100*blocked.Rate(1.5*million))},
		{sizing.Needs{Keys: million, ErrorRate: 1e-14}, "the rate of a standard filter is "},
		{sizing.Needs{Keys: million, ErrorRate: 0.3}, "instead of 30%"},
		{sizing.Needs{Keys: million, Deletes: true}, "a cuckoo filter refuses more"},
		{sizing.Needs{Keys: million, Expiry: true}, "the rate of a window filter is 1.4% instead of 1%"},
		{sizing.Needs{Keys: million, Memory: 1024}, "no filter of that size is of use"},
	} {
		var all []string
		for _, w := range mustAdvise(t, c.needs).Warnings {
			if w.Code == sizing.NoHeadroom || w.Code == sizing.NoMemory {
				all = append(all, w.String())
			}
		}
		if got := strings.Join(all, " "); !strings.Contains(got, c.want) || (got == "") != (c.want == "") || strings.Contains(got, "e+") {
			t.Errorf("%+v: %q, want %q", c.needs, got, c.want)
		}
	}
}

// TestWarningsOfEdges asks for the codes of needs at the edge of a warning.
func TestWarningsOfEdges(t *testing.T) {
	for _, c := range []struct {
		needs sizing.Needs
		with  sizing.Code
		not   sizing.Code
		text  string
	}{
		{needs: sizing.Needs{Keys: 1}, with: sizing.FewKeys, not: sizing.Unknown},
		{needs: sizing.Needs{}, with: sizing.Unknown, not: sizing.FewKeys},
		// What costs less than a lookup is not worth a filter, whatever its rate.
		{needs: sizing.Needs{Keys: 1e6, ErrorRate: 1e-5, FalsePositiveCost: 0.5}, with: sizing.Pointless, not: sizing.RateLow},
		{needs: sizing.Needs{Keys: 1e6, ErrorRate: 1e-12, FalsePositiveCost: 1000}, with: sizing.RateLow, not: sizing.Pointless},
		{needs: sizing.Needs{Keys: 1e6, ErrorRate: 1e-14}, with: sizing.NoHeadroom, not: sizing.Unknown, text: "instead of 1 in 10^14"},
	} {
		codes, text := map[sizing.Code]bool{}, ""
		for _, w := range mustAdvise(t, c.needs).Warnings {
			codes[w.Code] = true
			text += w.String()
		}
		if !codes[c.with] || codes[c.not] || !strings.Contains(text, c.text) {
			t.Errorf("%+v: %v, want %s and not %s: %s", c.needs, codes, c.with, c.not, text)
		}
	}
}
