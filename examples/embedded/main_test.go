package main

import (
	"strings"
	"testing"
)

// TestRun asks that visitors are counted once, and that the two servers have nothing
// in common.
func TestRun(t *testing.T) {
	for range 2 { // nothing stays behind that would be in the way
		var out strings.Builder
		if err := run(t.Context(), &out); err != nil {
			t.Fatal(err)
		}
		want := "alice is new here\nbob is new here\nalice was here before\nits API lists the filter: true\nthe other server answers :0\n"
		if out.String() != want {
			t.Errorf("got\n%swant\n%s", &out, want)
		}
	}
}
