package main

import (
	"math"
	"testing"

	"github.com/bloomery/bloomery/examples/internal/demo"
)

// The figures that docs/applications.md has. Rates that were asked for are kept within 4 standard
// deviations: those of the questions, and of the fill, which varies more in small shards.
func TestLiterature(t *testing.T) {
	f, err := run(t.Context(), demo.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		what          string
		got, from, to float64
	}{
		{"ten times full", f.overfilled, 0.99, 1},
		{"twice full", f.doubled, 0.14, 0.17},
		{"four layers", f.layers, 0.70, 0.73},
		{"fill, standard", f.standardFill, 0.5, 0.54},
		{"fill, split", f.splitFill, 0.5, 0.56},
		{"ranges", f.ranges, 0.6, 0.68},
		{"plain, late", f.plainLate, 0.99, 1},
		{"top bits", f.byTopBits, 10 * rate, 1},
	} {
		if c.got < c.from || c.got > c.to {
			t.Errorf("%s: %g, want %g to %g", c.what, c.got, c.from, c.to)
		}
	}
	sigma := math.Sqrt(rate / (10 * keys))
	for what, got := range map[string]float64{
		"standard": f.standard, "split": f.split, "modulo": f.modulo, "routed": f.routed, "stable": f.stableLate, "plain, early": f.plainEarly,
	} {
		if got > rate+4*sigma+0.1*rate {
			t.Errorf("%s: %g, asked for %g", what, got, rate)
		}
	}
	if f.stableMissed != 0 {
		t.Errorf("%d repeated packets were passed on", f.stableMissed)
	}
	f.Table().Documented(t)
}
