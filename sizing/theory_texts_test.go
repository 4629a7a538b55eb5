package sizing_test

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"

	"github.com/bloomery/bloomery/sizing"
)

// tableHalfFull has the fill of filters that hold as many keys as they were made
// for, and what they are at half fill.
func tableHalfFull(w io.Writer) {
	const n = 1_000_000
	fmt.Fprintln(w, "layout     asked   k   fill at capacity   half full at   rate when half full   times asked")
	for _, l := range []sizing.Layout{sizing.Standard, sizing.Blocked, sizing.Split} {
		for _, p := range []float64{0.01, 0.0001} {
			s := mustSize(l, n, p)
			keys := s.Count(0.5)
			fmt.Fprintf(w, "%-8s  %5.4g%%  %2d  %16.1f%%  %12.0f%%  %19.4f%%  %12.2f\n",
				l, 100*p, s.K, 100*s.Fill(n), 100*keys/n, 100*s.Rate(keys), s.Rate(keys)/p)
		}
	}
}

// tableTightening compares rules for the rates of layers that double, from 1,000
// keys on, at 1% in all.
func tableTightening(w io.Writer) {
	const p, layers = 0.01, 14
	rules := []struct {
		name string
		rate func(i float64) float64
	}{
		{"LayerShare", func(i float64) float64 { return p * sizing.LayerShare(1+int(i)) }},
		{"p/40", func(float64) float64 { return p / 40 }},
		{"p(1-r)r^i", func(i float64) float64 { return p / 2 * math.Pow(0.5, i) }},
		{"p r^i", func(i float64) float64 { return p * math.Pow(0.5, i) }},
		{"p r^2i", func(i float64) float64 { return p * math.Pow(0.5, 2*i) }},
	}
	fmt.Fprintln(w, "rule, r = 1/2   sum of rates   rate of layer 14   its bits/key   bits/key in all")
	for _, r := range rules {
		var sum, bits, keys, last float64
		for i := range layers {
			n := uint64(1000) << i
			s := mustSize(sizing.Standard, n, r.rate(float64(i)))
			sum += r.rate(float64(i))
			bits, keys = bits+float64(s.Bits), keys+float64(n)
			last = float64(s.Bits) / float64(n)
		}
		fmt.Fprintf(w, "%-13s  %12.3f%%  %16.2g%%  %13.2f  %16.2f\n", r.name, 100*sum, 100*r.rate(layers-1), last, bits/keys)
	}
}

// tableCounters deletes keys that were inserted a hundred times from counters of
// 4 bits that go down from their highest value, and from counters that stay.
func tableCounters(w io.Writer) {
	const keys, hot, times, highest = 1000, 100, 100, 15
	s := mustSize(sizing.Standard, keys+hot, 0.01)
	random := rand.New(rand.NewPCG(1, 2))
	positions := make([][]uint64, keys+hot)
	for i := range positions {
		for range s.K {
			positions[i] = append(positions[i], random.Uint64N(s.Bits))
		}
	}
	lost := func(deletes int, sticky bool) (ofHot, ofOthers int) {
		counters := make([]int, s.Bits)
		for i, at := range positions {
			copies := 1
			if i < hot {
				copies = times
			}
			for _, x := range at {
				counters[x] = min(counters[x]+copies, highest)
			}
		}
		for _, at := range positions[:hot] {
			for _, x := range at {
				if !sticky || counters[x] < highest {
					counters[x] = max(counters[x]-deletes, 0)
				}
			}
		}
		for i, at := range positions {
			for _, x := range at {
				if counters[x] > 0 {
					continue
				}
				if i < hot {
					ofHot++
				} else {
					ofOthers++
				}
				break
			}
		}
		return ofHot, ofOthers
	}
	fmt.Fprintln(w, "deleted   still in   counters go down: lost of 100, of 1,000 others   counters stay: lost")
	for _, deletes := range []int{14, 15, 50} {
		h, o := lost(deletes, false)
		sh, so := lost(deletes, true)
		fmt.Fprintf(w, "%7d  %9d  %30d  %16d  %20d\n", deletes, times-deletes, h, o, sh+so)
	}
}

// tableSkipped counts the new keys that a filter of a million keys takes for
// known ones while it is filled.
func tableSkipped(w io.Writer) {
	const n, steps = 1_000_000, 20_000
	fmt.Fprintln(w, "asked   new keys    duplicates missed   new keys skipped      share   rate at the end")
	for _, p := range []float64{0.01, 0.001} {
		s := mustSize(sizing.Blocked, n, p)
		for _, load := range []float64{1, 2} {
			sum := 0.0
			for i := range steps {
				sum += s.Rate((float64(i) + 0.5) / steps * load * n)
			}
			share := sum / steps
			fmt.Fprintf(w, "%4.3g%%  %9.0f  %19d  %17.0f  %8.4f%%  %15.3f%%\n", 100*p, load*n, 0, share*load*n, 100*share, 100*s.Rate(load*n))
		}
	}
}

// tableWallet counts what is left when filters of the same 100 keys with other
// seeds are compared.
func tableWallet(w io.Writer) {
	const keys, universe, p = 100, 100_000_000, 0.001
	fmt.Fprintln(w, "filters seen   false positives left   a match is real with probability")
	for seen := 1; seen <= 3; seen++ {
		wrong := (universe - keys) * math.Pow(p, float64(seen))
		left := fmt.Sprintf("%.0f", wrong)
		if wrong < 1 {
			left = fmt.Sprintf("%.1g", wrong)
		}
		fmt.Fprintf(w, "%12d  %21s  %33.4g%%\n", seen, left, 100*keys/(keys+wrong))
	}
}

// tableSaved has the share of lookups that a filter saves.
func tableSaved(w io.Writer) {
	fmt.Fprintln(w, "queries for absent keys   at 1%   at 0.1%   at 0.01%")
	for _, absent := range []float64{0.05, 0.5, 0.99, 1} {
		fmt.Fprintf(w, "%22.0f%%", 100*absent)
		for _, p := range []float64{0.01, 0.001, 0.0001} {
			fmt.Fprintf(w, "  %7.2f%%", 100*absent*(1-p))
		}
		fmt.Fprintln(w)
	}
}

// tableUnequal compares two blocks of 512 bits with as many keys, and with some
// more in one and fewer in the other.
func tableUnequal(w io.Writer) {
	const bits, k = 512, 6
	rate := func(keys float64) float64 { return math.Pow(1-math.Exp(-k*keys/bits), k) }
	fmt.Fprintln(w, "keys in two blocks   rate of the first   of the second     mean   over 50 and 50")
	for _, d := range []float64{0, 10, 20} {
		a, b := rate(50-d), rate(50+d)
		mean := (a + b) / 2
		fmt.Fprintf(w, "%8.0f and %-6.0f  %18.3f%%  %13.3f%%  %6.3f%%  %14.2f\n", 50-d, 50+d, 100*a, 100*b, 100*mean, mean/rate(50))
	}
}
