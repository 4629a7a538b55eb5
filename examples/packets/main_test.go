package main

import (
	"math"
	"testing"

	"github.com/bloomery/bloomery/examples/internal/demo"
)

// No duplicate within the horizon passes, the rate is kept although a hundred times as many
// packets come as it is made for, and a plain filter drops nearly everything in the end.
func TestPackets(t *testing.T) {
	f, err := run(t.Context(), demo.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if f.missed != 0 || f.within == 0 || f.older == 0 {
		t.Errorf("%d of %d duplicates within the horizon passed, %d older ones came", f.missed, f.within, f.older)
	}
	expected := rate * float64(f.distinct)
	if f.wrong == 0 || float64(f.wrong) > expected+3*math.Sqrt(expected) {
		t.Errorf("%d of %d new packets were dropped, want some, and at most about %.0f", f.wrong, f.distinct, expected)
	}
	if f.plainLast*100 < f.last*99 {
		t.Errorf("a plain filter drops %d of the last %d new packets, want nearly all", f.plainLast, f.last)
	}
	f.Table().Documented(t)
}
