package main

import (
	"math"
	"slices"
	"testing"

	"github.com/bloomery/bloomery/examples/internal/demo"
)

// All unsafe pages are found, no clean one is blocked, few calls leave the machine, and an update
// is a small part of the whole. The rate is held to 4 standard deviations.
func TestSafeBrowsing(t *testing.T) {
	f, err := run(t.Context(), demo.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if f.found.All == 0 || f.found.Yes != f.found.All || f.blocked.Yes != 0 {
		t.Errorf("%v unsafe pages found, %v clean ones blocked", f.found, f.blocked)
	}
	if mean := rate * float64(f.wrong.All); float64(f.wrong.Yes) > mean+4*math.Sqrt(mean) {
		t.Errorf("%v lookups were false positives, want about %.0f", f.wrong, mean)
	}
	if f.wrong.Yes*100 > f.blocked.All {
		t.Errorf("%d calls for %d clean pages, want at most one in a hundred", f.wrong.Yes, f.blocked.All)
	}
	if 8*f.update/days > f.whole || f.update == 0 {
		t.Errorf("%d bytes of updates, %d for the whole", f.update, f.whole)
	}
	f.Table().Documented(t)
}

func TestExpressions(t *testing.T) {
	for address, want := range map[string][]string{
		"http://Shop.Example./":                                {"shop.example/"},
		"http://user@a.b.example:80/x/../y/%2541.html?q=1#top": {"a.b.example/y/A.html?q=1", "a.b.example/y/A.html", "a.b.example/y/", "a.b.example/", "b.example/y/A.html?q=1", "b.example/y/A.html", "b.example/y/", "b.example/"},
		"http://1.2.3.4//a//":                                  {"1.2.3.4/a/", "1.2.3.4/"},
		"http://shop.exa\tmple/f":                              {"shop.example/f", "shop.example/"},
	} {
		if got, err := expressions(address); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v; want %q", address, got, err, want)
		}
	}
	for _, address := range []string{"/relative", "http://%zz/", ""} {
		if got, err := expressions(address); err == nil {
			t.Errorf("%q: %q, want an error", address, got)
		}
	}
}
