package main

import (
	"math"
	"testing"

	"github.com/bloomery/bloomery/examples/internal/demo"
)

// What is listed is blocked, what is allowed never is, and of other addresses no more than the
// rate of all filters together.
func TestBlocklist(t *testing.T) {
	f, err := run(t.Context(), demo.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if f.missed != 0 || f.allowedBlocked != 0 || f.blocked == 0 || f.spared == 0 {
		t.Errorf("%d of %d listed addresses passed, %d of %d allowed ones were blocked", f.missed, f.blocked, f.allowedBlocked, f.spared)
	}
	expected := rate * float64(f.others)
	if float64(f.wrong) > expected+5*math.Sqrt(expected) {
		t.Errorf("%d of %d other addresses were blocked, want about %.0f", f.wrong, f.others, expected)
	}
	if expected = rate * float64(f.blocked); float64(f.otherPrefix) > expected+5*math.Sqrt(expected) {
		t.Errorf("%d addresses were blocked for a prefix that is not listed, want about %.0f", f.otherPrefix, expected)
	}
	if 4*f.filters > f.exactSet {
		t.Errorf("the filters take %d bytes, a set %d: want a quarter at most", f.filters, f.exactSet)
	}
	f.Table().Documented(t)
}
