package main

import (
	"testing"

	"github.com/bloomery/bloomery/examples/internal/demo"
)

// No duplicate is missed and no message lost, in less than three bytes a message; the whole ring
// is found and nobody else.
func TestMessages(t *testing.T) {
	f, err := run(t.Context(), demo.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if f.duplicates.Yes != 0 || f.duplicates.All == 0 || f.fresh.Yes != 0 || f.fresh.All != f.senders*f.each {
		t.Errorf("%v duplicates were handed on, %v new messages were lost", f.duplicates, f.fresh)
	}
	if f.seenBytes > 3*f.fresh.All {
		t.Errorf("%d bytes for %d messages", f.seenBytes, f.fresh.All)
	}
	if f.ringFound != f.ring || f.others != 0 || f.recognised.Yes != f.texts {
		t.Errorf("%d of %d senders and %d others, %d of %d texts", f.ringFound, f.ring, f.others, f.recognised.Yes, f.texts)
	}
	f.Table().Documented(t)
}
