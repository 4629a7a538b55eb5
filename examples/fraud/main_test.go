package main

import (
	"math"
	"testing"

	"github.com/bloomery/bloomery/examples/internal/demo"
)

// The sketches flag what exact maps flag, but for the rates that they were given.
func TestFraud(t *testing.T) {
	f, err := run(t.Context(), demo.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if f.flagged < 1000 {
		t.Fatalf("%d payments should be flagged: too few to compare", f.flagged)
	}
	expected := pairRate * float64(f.flagged)
	if float64(f.missed) > expected+5*math.Sqrt(expected) {
		t.Errorf("%d of %d flags are missing, want about %.0f", f.missed, f.flagged, expected)
	}
	if f.wrong > f.flagged/100 {
		t.Errorf("%d flags are wrong beside %d right ones, want 1%% at most", f.wrong, f.flagged)
	}
	f.Table().Documented(t)
}
