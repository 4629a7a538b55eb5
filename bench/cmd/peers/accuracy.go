package main

import (
	"github.com/bloomery/bloomery/bench/internal/library"
	"github.com/bloomery/bloomery/internal/measuring"
)

// rates are the error rates that size and error are told for.
var rates = []float64{1e-2, 1e-3, 1e-4}

// spend is what a library uses to keep a rate, and what it keeps.
type spend struct {
	bitsPerKey float64
	rate       measuring.Rate
}

// accuracy fills each library, as configured for each rate, with a million
// random keys and measures its error.
func accuracy(o options) map[string][]spend {
	n, queries := 1_000_000, uint64(20_000_000)
	if o.quick {
		n, queries = 10_000, 1_000_000
	}
	all := map[string][]spend{}
	for _, l := range library.All() {
		for _, p := range rates {
			if p < l.Lowest { // the filter that serves is in another row
				all[l.Name] = append(all[l.Name], spend{})
				continue
			}
			var bits func() uint64
			plan := measuring.Plan{Keys: measuring.KeyKinds()[0], N: n, Filters: 1, Queries: queries}
			rate := measuring.Run(plan, func() measuring.Subject {
				f, err := l.Make(int64(n), p)
				if err != nil {
					panic(err) // none of these parameters is bad
				}
				bits = f.Bits
				return f.Subject
			})
			all[l.Name] = append(all[l.Name], spend{float64(bits()) / float64(n), rate})
		}
	}
	return all
}
