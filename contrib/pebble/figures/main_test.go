package main

import (
	"testing"

	pebblefilter "github.com/bloomery/bloomery/contrib/pebble"
)

// The rates that the documents promise, for keys of every form. At 1%, 200,000 absent keys
// differ by 0.022% (one sigma), at 0.39% by 0.014%.
func TestRates(t *testing.T) {
	const n, probes = 50_000, 200_000
	for _, f := range forms {
		for _, c := range []struct {
			config      pebblefilter.Config
			most, sigma float64
		}{
			{pebblefilter.Config{Kind: pebblefilter.Blocked, BitsPerKey: 10}, 0.01, 0.00022},
			{pebblefilter.Config{Kind: pebblefilter.Fuse8}, 0.0045, 0.00014},
			{pebblefilter.Config{Kind: pebblefilter.Ribbon, ErrorRate: 0.01}, 0.01, 0.00022},
		} {
			p, err := c.config.New()
			if err != nil {
				t.Fatal(err)
			}
			if got := rate(p, build(p, f, n), f, n, probes); got > c.most+3*c.sigma {
				t.Errorf("%v, %s: %.3f%%, want at most %.2f%% + 3 sigma", c.config.Kind, f.name, 100*got, 100*c.most)
			}
		}
	}
}

// A ribbon filter with the rate of the built-in filter takes at most three quarters of its
// bytes.
func TestRibbonIsSmaller(t *testing.T) {
	const n, probes = 50_000, 200_000
	f := forms[0]
	own := build(builtIn, f, n)
	p, err := pebblefilter.Config{Kind: pebblefilter.Ribbon, ErrorRate: rate(builtIn, own, f, n, probes)}.New()
	if err != nil {
		t.Fatal(err)
	}
	if filter := build(p, f, n); len(filter)*4 > len(own)*3 {
		t.Errorf("ribbon takes %d bytes, the built-in filter %d: want at most three quarters", len(filter), len(own))
	}
}

// The whole program on little: its figures are for machines that do nothing else.
func TestRun(t *testing.T) {
	if err := run(t.Output(), 2000, 5000, 3, ""); err != nil {
		t.Fatal(err)
	}
}
