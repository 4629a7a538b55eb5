package sizing_test

import (
	"fmt"
	"io"
	"math"
	"math/big"
	"math/rand/v2"

	"github.com/bloomery/bloomery/sizing"
)

// mustSize is Size for arguments that are literals of a table.
func mustSize(l sizing.Layout, n uint64, p float64) sizing.Shape {
	s, err := l.Size(n, p)
	if err != nil {
		panic(err)
	}
	return s
}

// mustSolve is Solve for arguments that are literals of a table.
func mustSolve(q sizing.Params) sizing.Params {
	r, err := sizing.Solve(q)
	if err != nil {
		panic(err)
	}
	return r
}

// standard returns the shape of the textbook layout.
func standard(bits uint64, k int) sizing.Shape {
	return sizing.Shape{Layout: sizing.Standard, Bits: bits, K: k}
}

func tableBestK(w io.Writer) {
	fmt.Fprintln(w, " k     fill      rate")
	for k := 1; k <= 10; k++ {
		s := standard(10_000_000, k)
		fmt.Fprintf(w, "%2d  %6.2f%%  %7.4f%%\n", k, 100*s.Fill(1e6), 100*s.Rate(1e6))
	}
}

func tableFillPower(w io.Writer) {
	fmt.Fprintln(w, "fill       k = 3       k = 5       k = 7      k = 10")
	for fill := 10; fill <= 90; fill += 20 {
		fmt.Fprintf(w, "%3d%%", fill)
		for _, k := range []int{3, 5, 7, 10} {
			fmt.Fprintf(w, "  %9.3g%%", 100*math.Pow(float64(fill)/100, float64(k)))
		}
		fmt.Fprintln(w)
	}
}

func tableTextbook(w io.Writer) {
	fmt.Fprintln(w, "  asked   textbook bits   k   its rate    honest bits   k   its rate")
	for _, p := range []float64{0.05, 0.01, 0.0001} {
		q := mustSolve(sizing.Params{N: 1_000_000, P: p})
		s := mustSize(sizing.Standard, 1_000_000, p)
		fmt.Fprintf(w, "%6.4g%%  %14d  %2d  %8.5g%%  %13d  %2d  %8.5g%%\n", 100*p,
			q.M, q.K, 100*standard(q.M, q.K).Rate(1e6), s.Bits, s.K, 100*s.Rate(1e6))
	}
}

func tableVariance(w io.Writer) {
	fmt.Fprintln(w, "     keys    bits   k   classic       true   classic is low by")
	for _, n := range []uint64{30, 1000} {
		for _, p := range []float64{0.01, 0.0001} {
			q := mustSolve(sizing.Params{N: n, P: p})
			classic := mustSolve(sizing.Params{N: n, M: q.M, K: q.K}).P
			rate := standard(q.M, q.K).Rate(float64(n))
			fmt.Fprintf(w, "%9d  %6d  %2d  %7.5f%%  %8.5f%%  %16.2f%%\n", n, q.M, q.K, 100*classic, 100*rate, 100*(1-classic/rate))
		}
	}
}

func tableBlocked(w io.Writer) {
	const blocks = 1 << 20
	fmt.Fprintln(w, "bits/key   k   classic formula   true rate   ratio")
	for _, perKey := range []float64{8, 10, 16, 24, 32} {
		n := blocks * sizing.BlockBits / perKey
		k, rate := bestBlocked(blocks, n)
		classic := math.Pow(-math.Expm1(-float64(k)/perKey), float64(k))
		fmt.Fprintf(w, "%8.0f  %2d  %15.3g%%  %9.3g%%  %6.2f\n", perKey, k, 100*classic, 100*rate, rate/classic)
	}
}

func tableBitsPerKey(w io.Writer) {
	const n = 1_000_000
	fmt.Fprintln(w, "   rate   log2(1/p)   standard   k   ratio    blocked   k   ratio      split   k   ratio")
	for _, p := range []float64{0.05, 0.01, 0.001, 1e-4, 1e-6} {
		bound := -math.Log2(p)
		fmt.Fprintf(w, "%6.4g%%  %10.2f", 100*p, bound)
		for _, l := range []sizing.Layout{sizing.Standard, sizing.Blocked, sizing.Split} {
			s := mustSize(l, n, p)
			perKey := float64(s.Bits) / n
			fmt.Fprintf(w, "  %9.2f  %2d  %6.2f", perKey, s.K, perKey/bound)
		}
		fmt.Fprintln(w)
	}
}

// tableDoubleHashing takes double hashing as it is mostly written, and then as
// kindly as possible: a prime number of bits and no step of 0.
func tableDoubleHashing(w io.Writer) {
	rng := rand.New(rand.NewPCG(7, 7))
	fmt.Fprintln(w, "keys   asked   bits   k   independent     double   times   prime bits     double   times")
	for _, c := range []struct {
		n uint64
		p float64
	}{{10, 0.01}, {10, 0.001}, {10, 0.0001}, {30, 0.0001}, {100, 0.0001}} {
		q := mustSolve(sizing.Params{N: c.n, P: c.p})
		plain := standard(q.M, q.K)
		kind := plain
		for !big.NewInt(int64(kind.Bits)).ProbablyPrime(0) {
			kind.Bits++
		}
		n := float64(c.n)
		a, b := doubleHashed(rng, plain, int(c.n), 0), doubleHashed(rng, kind, int(c.n), 1)
		fmt.Fprintf(w, "%4d  %5.4g%%  %5d  %2d  %11.4f%%  %8.4f%%  %6.1f  %11d  %8.4f%%  %6.1f\n", c.n, 100*c.p,
			plain.Bits, plain.K, 100*plain.Rate(n), 100*a, a/plain.Rate(n), kind.Bits, 100*b, b/kind.Rate(n))
	}
}

// doubleHashed returns the mean rate of filters whose keys have the positions
// a, a+b, a+2b, ... modulo m, with b from least on. It asks every filter for
// every pattern there is, so that only the choice of the keys is random.
func doubleHashed(rng *rand.Rand, s sizing.Shape, n, least int) float64 {
	m, found, asked := int(s.Bits), 0, 0
	for asked < 6_000_000 {
		set := make([]bool, m)
		for range n {
			a, b := rng.IntN(m), least+rng.IntN(m-least)
			for range s.K {
				set[a] = true
				a = (a + b) % m
			}
		}
		for start := range m {
			for b := least; b < m; b++ {
				asked++
				if allSet(set, start, b, s.K) {
					found++
				}
			}
		}
	}
	return float64(found) / float64(asked)
}

func allSet(set []bool, a, b, k int) bool {
	for range k {
		if !set[a] {
			return false
		}
		if a += b; a >= len(set) {
			a -= len(set)
		}
	}
	return true
}
