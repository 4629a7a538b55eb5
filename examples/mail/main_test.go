package main

import (
	"math"
	"testing"

	"github.com/bloomery/bloomery/examples/internal/demo"
)

// Most thorough checks are saved, nobody known or listed is mistaken, and hardly a
// stranger passes unchecked.
func TestMail(t *testing.T) {
	f, err := run(t.Context(), demo.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if f.missed != 0 || f.saved() < 0.85 {
		t.Errorf("%d messages were mistaken, want none; %.1f%% of the checks were saved, want 85%%", f.missed, 100*f.saved())
	}
	expected := knownRate * float64(f.strangers)
	if float64(f.unchecked) > expected+5*math.Sqrt(expected) {
		t.Errorf("%d strangers were not checked, want about %.0f", f.unchecked, expected)
	}
	// A domain that is mistaken is so with every message of its senders: what varies is the
	// number of domains.
	each := float64(f.messages) / float64(f.senders/colleagues)
	expected = listedRate * float64(f.messages-f.verdicts[refuse])
	if float64(f.vain) > expected+5*math.Sqrt(expected*each) {
		t.Errorf("%d lookups in vain, want about %.0f", f.vain, expected)
	}
	f.Table().Documented(t)
}
