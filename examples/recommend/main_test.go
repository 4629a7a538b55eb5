package main

import (
	"math"
	"testing"

	"github.com/bloomery/bloomery/examples/internal/demo"
)

// No item comes twice, few are hidden wrongly, and a user costs less than a third of what
// sets of items take.
func TestRecommend(t *testing.T) {
	f, err := run(t.Context(), demo.Options{})
	if err != nil {
		t.Fatal(err)
	}
	fresh := float64(f.users * items)
	expected := rate * fresh
	if f.repeated != 0 || float64(f.wrong) > expected+5*math.Sqrt(expected) {
		t.Errorf("%d items came twice, %d of %.0f were hidden, want none and at most %.0f", f.repeated, f.wrong, fresh, expected)
	}
	if f.shown+f.wrong != int(fresh) || f.offers != f.users*visits*offered {
		t.Errorf("figures %+v", f)
	}
	if f.bytes > 500*f.users || 3*f.bytes > f.sets {
		t.Errorf("a user takes %d bytes, sets %d", f.bytes/f.users, f.sets/f.users)
	}
	f.Table().Documented(t)
}
