package main

import (
	"math"
	"testing"

	"github.com/bloomery/bloomery/examples/internal/demo"
)

// The door saves at least three quarters of the writes and hits more often; digests save fetches
// of the origin, keep their rate though objects leave, and patches are shorter than digests.
func TestCDN(t *testing.T) {
	f, err := run(t.Context(), demo.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if f.door.hits <= f.plain.hits || 4*f.door.writes > f.plain.writes {
		t.Errorf("with a door %d hits and %d writes, without %d and %d", f.door.hits, f.door.writes, f.plain.hits, f.plain.writes)
	}
	d := f.digests
	if d.fetches >= f.door.fetches || d.neighbours < d.inVain || d.hits != f.door.hits || d.writes != f.door.writes {
		t.Errorf("with digests %+v, without %+v", *d, *f.door)
	}
	if 2*d.exchanged > d.whole || d.exchanged == 0 || 50*d.exchanged > (f.requests-d.hits)*(caches-1)*question {
		t.Errorf("%d bytes exchanged, %d if whole", d.exchanged, d.whole)
	}
	if mean := rate * float64(d.absent.All); float64(d.absent.Yes) > mean+4*math.Sqrt(mean) || d.absent.Yes == 0 {
		t.Errorf("%v questions to digests were false positives, want about %.0f", d.absent, mean)
	}
	if d.changed == 0 {
		t.Error("no changed object was dropped")
	}
	f.Table().Documented(t)
}
