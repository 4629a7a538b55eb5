package sizing_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/sizing"
)

// TestAdviseReports asks for filters that are told of their false positives: the best kind of the
// other needs with the memory of the reports, and a reason where there is none.
func TestAdviseReports(t *testing.T) {
	const million, reports = 1_000_000, 50_000
	for name, c := range map[string]struct {
		needs   sizing.Needs
		over    string
		refused string
	}{
		"nothing else":   {needs: sizing.Needs{Keys: million}, over: "bloom"},
		"deletes":        {needs: sizing.Needs{Keys: million, Capacity: 2 * million, Deletes: true}, over: "cuckoo"},
		"static":         {needs: sizing.Needs{Keys: million, Immutable: true}, over: "fuse"},
		"any number":     {needs: sizing.Needs{}, over: "growing"},
		"many sets":      {needs: sizing.Needs{Keys: million, Sets: 100}, over: "bloom"},
		"enough memory":  {needs: sizing.Needs{Keys: million, Memory: 3 << 20}, over: "bloom"},
		"too little":     {needs: sizing.Needs{Keys: million, Memory: 1_300_000}, refused: "with its reports it takes "},
		"no filter":      {needs: sizing.Needs{Keys: million, Memory: 10}, refused: "there is no filter"},
		"without errors": {needs: sizing.Needs{Keys: million, Universe: 100 * million, Immutable: true, FalsePositiveCost: math.Inf(1)}, refused: "there is no filter with false positives"},
		"values":         {needs: sizing.Needs{Keys: million, Immutable: true, ValueBits: 8}, refused: "the values of a map"},
	} {
		plain := mustAdvise(t, c.needs)
		c.needs.Reports = reports
		a := mustAdvise(t, c.needs)
		if c.refused != "" {
			at := slices.IndexFunc(a.Refused, func(r sizing.Refusal) bool { return r.Name == "corrected" })
			if at < 0 || !strings.HasPrefix(a.Refused[at].Reason, c.refused) || len(a.Kinds) != len(plain.Kinds) {
				t.Errorf("%s: refused %v", name, a.Refused)
			}
			continue
		}
		if len(a.Kinds) != len(plain.Kinds)+1 || a.Kinds[0].Name != "corrected" || a.Take() != "corrected" {
			t.Errorf("%s: take %s of %v", name, a.Take(), a.Kinds)
			continue
		}
		got, want := a.Kinds[0], plain.Kinds[slices.IndexFunc(plain.Kinds, func(k sizing.Choice) bool { return k.Name == c.over })]
		sets := max(c.needs.Sets, 1)
		if bytes := uint64(12 * reports * sets); c.needs.Keys > 0 && got.Bytes != want.Bytes+bytes || math.Abs(got.BitsPerKey-want.BitsPerKey-96.0*reports/million) > 1e-9 {
			t.Errorf("%s: %d bytes and %v bits per key over %d and %v", name, got.Bytes, got.BitsPerKey, want.Bytes, want.BitsPerKey)
		}
		if got.ErrorRate != want.ErrorRate || got.Lookup != want.Lookup+2*sets || (got.Insert == 0) != (want.Insert == 0) || !strings.HasPrefix(got.Reasons[0], c.over+" that is told") {
			t.Errorf("%s: %+v over %+v", name, got, want)
		}
	}
	if a := mustAdvise(t, sizing.Needs{Keys: million}); slices.ContainsFunc(a.Kinds, func(c sizing.Choice) bool { return c.Name == "corrected" }) {
		t.Error("a corrected filter is advised though nothing is reported")
	}
	if a := mustAdvise(t, sizing.Needs{Keys: 500, Reports: 2}); a.Take() != "go map" {
		t.Errorf("500 keys: %s", a.Take())
	}
	if _, err := sizing.Advise(sizing.Needs{Keys: 1, Reports: 1<<28 + 1}); !errors.Is(err, bloomery.ErrTooLarge) {
		t.Errorf("2^28 + 1 reports: %v", err)
	}
}
