package main

import (
	"math"
	"testing"

	"github.com/bloomery/bloomery/examples/internal/demo"
)

// The wallet gets all of its payments either way, in a small part of the chain; a node that
// sees two filters of BIP 37 knows its addresses, unless it keeps its noise.
func TestSPV(t *testing.T) {
	f, err := run(t.Context(), demo.Options{})
	if err != nil {
		t.Fatal(err)
	}
	one, two, twoNoisy := len(f.sent[0].matching), both(f.sent[0], f.sent[1]), both(f.sent[2], f.sent[3])
	if f.missed != 0 || f.payments == 0 {
		t.Errorf("%d of %d payments were not found", f.missed, f.payments)
	}
	if 20*(f.sent[0].bytes+f.sent[0].got) > f.all || 2*(f.filters+f.fetched) > f.all {
		t.Errorf("BIP 37 took %d bytes, BIP 158 %d, of %d", f.sent[0].bytes+f.sent[0].got, f.filters+f.fetched, f.all)
	}
	// The fill of so small a filter varies: its rate by a factor of exp(0.5) a standard deviation.
	if others := rate * 100_000 * math.Exp(3*0.5); float64(one) > own+others || one < 2*own {
		t.Errorf("%d addresses match one filter, want about %.0f", one, own+rate*100_000)
	}
	if two > own+5 || twoNoisy < own+dummies {
		t.Errorf("%d addresses match two filters, want hardly more than %d; %d match with noise, want %d", two, own, twoNoisy, own+dummies)
	}
	if f.fetches.Yes > 5 || f.fetches.All == 0 || len(f.inBlocks) < 10*own {
		t.Errorf("%v blocks were fetched in vain; %d addresses are in them", f.fetches, len(f.inBlocks))
	}
	f.Table().Documented(t)
}
