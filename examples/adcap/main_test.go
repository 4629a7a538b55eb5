package main

import (
	"math"
	"strconv"
	"testing"

	"github.com/bloomery/bloomery/examples/internal/demo"
)

// No ad comes twice within 24 hours, few are wrongly hidden, and the window takes less than a
// fifth of the memory of a map.
func TestAdcap(t *testing.T) {
	f, err := run(t.Context(), demo.Options{})
	if err != nil {
		t.Fatal(err)
	}
	expected := rate * float64(f.newOffers())
	if f.repeated != 0 || float64(f.wrong) > expected+3*math.Sqrt(expected) {
		t.Errorf("%d repeated and %d wrongly hidden, want none and at most about %.0f", f.repeated, f.wrong, expected)
	}
	if f.known == 0 || f.late == 0 || f.shown == 0 || f.offers != f.shown+f.known+f.late+f.wrong {
		t.Errorf("figures %+v", f)
	}
	if strconv.IntSize == 64 && 5*f.window > f.exactMap { // maps are smaller on 32 bits
		t.Errorf("the window takes %d bytes, the map %d: want a fifth at most", f.window, f.exactMap)
	}
	f.Table().Documented(t)
}
