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
		{sizing.Needs{Keys: million, Expiry: true}, ""},
		{sizing.Needs{Keys: million, Memory: 1024}, "no filter of that size is of use"},
	} {
		var all []string
		for _, w := range mustAdvise(t, c.needs).Warnings {
			if w.Code == sizing.NoHeadroom || w.Code == sizing.NoRoom {
				all = append(all, w.String())
			}
		}
		if got := strings.Join(all, " "); !strings.Contains(got, c.want) || (got == "") != (c.want == "") || strings.Contains(got, "e+") {
			t.Errorf("%+v: %q, want %q", c.needs, got, c.want)
		}
	}
}
