package main

import (
	"math"
	"testing"

	"github.com/bloomery/bloomery/examples/internal/demo"
)

// No answer is wrong, a name takes less than a byte, the database is hardly asked for free
// names, and every leaked password is refused. Rates are held to 4 standard deviations.
func TestUsernames(t *testing.T) {
	f, err := run(t.Context(), demo.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if f.mistakes != 0 || f.found != f.weak || f.weak == 0 {
		t.Errorf("%d wrong answers, %d of %d leaked passwords found", f.mistakes, f.found, f.weak)
	}
	within := func(what string, got, of int, rate float64) {
		mean := rate * float64(of)
		if float64(got) > mean+4*math.Sqrt(mean) {
			t.Errorf("%s: %d of %d, want about %.0f", what, got, of, mean)
		}
	}
	within("free names asked", f.askedFree, f.free, 2*nameRate) // today's filter has a rate, too
	within("good passwords refused", f.refused, f.good, passwordRate)
	if f.nameBytes > f.names {
		t.Errorf("%d bytes for %d names", f.nameBytes, f.names)
	}
	f.Table().Documented(t)
}
