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
	if f.missed != 0 || f.lost != 0 || f.repeated == 0 || f.dropped != f.repeated || f.sent+f.dropped != f.messages {
		t.Errorf("figures %+v", f)
	}
	if f.seenBytes > 3*f.sent {
		t.Errorf("%d bytes for %d messages", f.seenBytes, f.sent)
	}
	if f.ringFound != f.ring || f.others != 0 || f.textsFound != f.texts {
		t.Errorf("%d of %d senders and %d others, %d of %d texts", f.ringFound, f.ring, f.others, f.textsFound, f.texts)
	}
	f.Table().Documented(t)
}
