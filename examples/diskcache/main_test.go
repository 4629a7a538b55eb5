package main

import (
	"math"
	"testing"

	"github.com/bloomery/bloomery/examples/internal/demo"
)

// Every object is found with one disk lookup, and hardly an absent one costs any.
func TestDiskcache(t *testing.T) {
	f, err := run(t.Context(), demo.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if f.missed != 0 || f.present == 0 {
		t.Errorf("%d of %d objects were not found", f.missed, f.present)
	}
	if f.byMap != f.present+f.vain {
		t.Errorf("%d disk lookups with the map for %d objects that are there and %d that are not", f.byMap, f.present, f.vain)
	}
	if f.saved(f.byMap) < 0.9 || f.byMap >= f.byFilters {
		t.Errorf("the map saves %.1f%% of the lookups, filters %.1f%%, want 90%% and more than filters", 100*f.saved(f.byMap), 100*f.saved(f.byFilters))
	}
	// Of the absent objects some were evicted since the map was built. An object is asked for
	// several times, and is mistaken each time.
	evicted := float64(f.queries) * 2 / 5 / churn
	expected := rate*(float64(f.absent)-evicted) + evicted
	each := 1 + float64(f.queries)/float64(f.objects)
	if got := float64(f.vain); math.Abs(got-expected) > 5*math.Sqrt(expected*each) {
		t.Errorf("%.0f absent objects were sent to a disk, want about %.0f", got, expected)
	}
	f.Table().Documented(t)
}
