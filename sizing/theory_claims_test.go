package sizing_test

import (
	"fmt"
	"io"
	"math"

	"github.com/bloomery/bloomery/sizing"
)

// together returns the expected fill of two filters of 1,000,000 keys each, of
// their union and of their intersection, when they share so many keys.
func together(s sizing.Shape, shared float64) (one, union, both float64) {
	one, union = s.Fill(1e6), s.Fill(2e6-shared)
	return one, union, one + one - union
}

func tableUnion(w io.Writer) {
	s := mustSize(sizing.Standard, 1_000_000, 0.01)
	fmt.Fprintln(w, " shared keys   union: fill      rate   intersection: fill      rate   built afresh")
	for _, shared := range []float64{0, 1e5, 5e5, 1e6} {
		_, union, both := together(s, shared)
		fmt.Fprintf(w, "%12.0f  %11.2f%%  %7.3f%%  %17.2f%%  %7.4f%%  %12.2g%%\n", shared,
			100*union, 100*s.Rate(2e6-shared), 100*both, 100*math.Pow(both, float64(s.K)), 100*s.Rate(shared))
	}
}

func tableJaccard(w io.Writer) {
	s := mustSize(sizing.Standard, 1_000_000, 0.01)
	fmt.Fprintln(w, " shared keys   true Jaccard   from counts   from bits")
	for _, shared := range []float64{0, 1e5, 5e5, 1e6} {
		one, union, both := together(s, shared)
		keys := s.Count(union)
		fromCounts := (2*s.Count(one) - keys) / keys
		fmt.Fprintf(w, "%12.0f  %13.4f  %12.4f  %10.4f\n", shared, shared/(2e6-shared), math.Abs(fromCounts), both/union)
	}
}

func tableOverfilled(w io.Writer) {
	const n = 1_000_000
	a, b := mustSize(sizing.Standard, n, 0.01), mustSize(sizing.Blocked, n, 0.01)
	fmt.Fprintln(w, "times full    fill   standard    blocked")
	for _, load := range []float64{0.5, 1, 2, 5, 10} {
		fmt.Fprintf(w, "%10.4g  %5.1f%%  %8.2f%%  %8.2f%%\n", load,
			100*a.Fill(load*n), 100*a.Rate(load*n), 100*b.Rate(load*n))
	}
}

func tableTenBillion(w io.Writer) {
	const n = 10_000_000_000
	fmt.Fprintln(w, "           bits per key   gigabytes        rate")
	for _, l := range []sizing.Layout{sizing.Standard, sizing.Blocked, sizing.Split} {
		s := mustSize(l, n, 0.01)
		fmt.Fprintf(w, "%-9s  %12.3f  %10.2f  %9.4f%%\n", l, float64(s.Bits)/n, float64(s.Bits)/8e9, 100*s.Rate(n))
	}
	q := mustSolve(sizing.Params{N: n, M: 8_000_000_000})
	fmt.Fprintf(w, "in 1 GB    %12.3f  %10.2f  %9.4f%%\n", float64(q.M)/n, float64(q.M)/8e9, 100*q.P)
}

func tableMoreHashes(w io.Writer) {
	bits := mustSize(sizing.Standard, 1_000_000, 0.01).Bits
	fmt.Fprintln(w, " k    1,000,000 keys    3,000,000    10,000,000")
	for _, k := range []int{1, 2, 3, 7, 14} {
		s := standard(bits, k)
		fmt.Fprintf(w, "%2d  %15.2f%%  %10.2f%%  %11.2f%%\n", k, 100*s.Rate(1e6), 100*s.Rate(3e6), 100*s.Rate(1e7))
	}
}
