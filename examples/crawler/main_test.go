package main

import (
	"testing"

	"github.com/bloomery/bloomery/examples/internal/demo"
)

// A link costs two hundredths of a network call at most, few pages are skipped, and pages are
// visited again a week later.
func TestCrawler(t *testing.T) {
	f, err := run(t.Context(), demo.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if 50*f.calls() > f.links {
		t.Errorf("%d network calls for %d links", f.calls(), f.links)
	}
	if f.skipped > 20 { // about 5 are expected
		t.Errorf("%d of %d pages skipped", f.skipped, f.visited)
	}
	if f.visits <= f.visited || f.known == 0 || f.links != f.local+f.visits+f.known+f.lost {
		t.Errorf("figures %+v", f)
	}
	f.Table().Documented(t)
}
