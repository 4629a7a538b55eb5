package main

import (
	"fmt"
	"math"
	"strconv"

	"github.com/bloomery/bloomery/bench/internal/report"
	"github.com/bloomery/bloomery/sizing"
)

const layersText = `Computed, not measured: the bits of a Scalable at 1% over those of one Filter of the right size, by
	first capacity and growth, when ten million keys are in, and over all sizes from the first capacity to ten million
	(each tenth power of ten counts once), the mean and the worst. The layouts are "now" (blocked lines down to 1e-6,
	then standard), "small" (standard below 1e-3) and "standard".`

// layouts choose the layout of a layer by its rate.
var layouts = []struct {
	name   string
	choose func(p float64) sizing.Layout
}{
	{"now", func(p float64) sizing.Layout { return below(p, sizing.MinBlockedRate) }},
	{"small", func(p float64) sizing.Layout { return below(p, 1e-3) }},
	{"standard", func(float64) sizing.Layout { return sizing.Standard }},
}

func below(p, limit float64) sizing.Layout {
	if p < limit {
		return sizing.Standard
	}
	return sizing.Blocked
}

// grownBits returns the bits and the layers of a Scalable with n keys.
func grownBits(first, growth, n float64, choose func(p float64) sizing.Layout) (bits float64, layers int) {
	for room := 0.0; room < n; first *= growth {
		layers++
		p := growRate * sizing.LayerShare(layers)
		s, err := choose(p).Size(uint64(first), p)
		if err != nil {
			return math.NaN(), layers
		}
		bits += float64(s.Bits)
		room += first
	}
	return bits, layers
}

// layersTable has a row for each first capacity and growth.
func layersTable() *report.Table {
	const n = 1e7
	t := &report.Table{Head: []string{"first", "growth", "layers"}}
	for _, l := range layouts {
		t.Head = append(t.Head, l.name+", 10 M", "mean", "worst")
	}
	for _, first := range []float64{1e3, 1e4, 1e5, 1e6} {
		for _, growth := range []float64{2, 3, 4, 8, 10} {
			_, layers := grownBits(first, growth, n, layouts[0].choose)
			row := []string{fmt.Sprintf("%.0f", first), fmt.Sprintf("%.0f", growth), strconv.Itoa(layers)}
			for _, l := range layouts {
				last, mean, worst := ratios(first, growth, n, l.choose)
				row = append(row, fmt.Sprintf("%.2f", last), fmt.Sprintf("%.2f", mean), fmt.Sprintf("%.2f", worst))
			}
			t.Row(row...)
		}
	}
	return t
}

// ratios returns the bits over those of one Filter: with n keys, the mean over
// sizes up to n, and the worst.
func ratios(first, growth, n float64, choose func(p float64) sizing.Layout) (last, mean, worst float64) {
	steps := 0.0
	for size := first; size <= n*1.001; size *= math.Pow(10, 0.1) {
		bits, _ := grownBits(first, growth, size, choose)
		one, err := sizing.Blocked.Size(uint64(size), growRate)
		if err != nil {
			return math.NaN(), math.NaN(), math.NaN()
		}
		last = bits / float64(one.Bits)
		mean += last
		worst = max(worst, last)
		steps++
	}
	return last, mean / steps, worst
}
