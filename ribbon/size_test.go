package ribbon_test

import (
	"flag"
	"fmt"
	"math"
	"testing"

	"github.com/bloomery/bloomery/ribbon"
	"github.com/bloomery/bloomery/sizing"
)

// allSizes is for make soak.
var allSizes = flag.Bool("all-sizes", false, "build filters of all rates and widths")

// The whole file, header and checksums included, is held to a share of what
// any filter needs: log2(1/p) bits for each key. Between the powers of two the
// mixture of r and r+1 bits needs more: 1.0115 at 1%, 1.0010 at 0.1%.
func TestSizeAtAMillion(t *testing.T) {
	if testing.Short() {
		t.Skip("takes five seconds")
	}
	const n = 1_000_000
	hs := hashes(n, 1)
	for _, c := range []struct {
		width int
		p     float64
		most  float64
		// always is whether it is built without -all-sizes, too.
		always bool
	}{
		{64, 1. / (1 << 7), 1.005, false},
		{64, 1. / (1 << 8), 1.005, true},
		{64, 1. / (1 << 11), 1.005, false},
		{64, 1. / (1 << 15), 1.005, false},
		{64, 1e-2, 1.016, true},
		{64, 1e-3, 1.006, false},
		{128, 1. / (1 << 7), 1.002, true},
		{128, 1. / (1 << 15), 1.002, false},
		{128, 1e-2, 1.014, false},
		{128, 1e-3, 1.003, true},
	} {
		t.Run(fmt.Sprintf("width=%d/p=%.3g", c.width, c.p), func(t *testing.T) {
			if !c.always && !*allSizes {
				t.Skip("others are built with -all-sizes")
			}
			f := built(t, ribbon.Config{ErrorRate: c.p, Width: c.width}, hs)
			bits := float64(len(encoded(t, f))*8) / n
			if got := bits / math.Log2(1/c.p); got > c.most {
				t.Errorf("%.4f bits per key are %.5f times the least possible, want at most %v", bits, got, c.most)
			}
			if got := forgotten(f, hs[:10_000]); got > 0 {
				t.Errorf("%d keys forgotten", got)
			}
		})
	}
}

// Shards must not cost what layers save: a filter of two shards, of about the
// fewest keys that shards have by themselves, is as small.
func TestSizeInShards(t *testing.T) {
	if testing.Short() {
		t.Skip("takes three seconds")
	}
	const n = 4_300_000 // two shards of 2.15 million
	keys := hashes(n, 2)
	for width, most := range map[int]float64{64: 1.005, 128: 1.002} {
		if width == 128 && !*allSizes {
			continue
		}
		f := built(t, ribbon.Config{ErrorRate: 1. / (1 << 7), Width: width}, keys)
		if got := float64(len(encoded(t, f))*8) / n / 7; got > most {
			t.Errorf("width %d: %.5f times the least possible, want at most %v", width, got, most)
		}
	}
}

// The calculator knows what the builder does.
func TestSizePredicted(t *testing.T) {
	for _, width := range []int{64, 128} {
		for _, n := range []int{0, 1, 10, 100, 1000, 10_000, 50_000} {
			for _, p := range []float64{0.4, 1e-2, 1e-5} {
				f := built(t, ribbon.Config{ErrorRate: p, Width: width}, hashes(n, 3))
				shape, err := sizing.RibbonSize(p, width)
				if err != nil {
					t.Fatal(err)
				}
				got, want := float64(shape.Bits(uint64(n))), float64(f.Stats().Bits)
				// Small filters are padded to lines of 512 bits, and their tail
				// is a matter of luck.
				if limit := 0.003*want + 250*float64(shape.Columns) + 1024; math.Abs(got-want) > limit {
					t.Errorf("width %d, n = %d, p = %g: %.0f bits predicted, %.0f taken", width, n, p, got, want)
				}
			}
		}
	}
}
