package sizing_test

import (
	"fmt"

	"github.com/bloomery/bloomery/sizing"
)

func ExampleSolve() {
	q, err := sizing.Solve(sizing.Params{N: 1_000_000, P: 0.01})
	if err != nil {
		panic(err)
	}
	fmt.Printf("%d bits, k = %d\n", q.M, q.K)

	// The rate that these two figures make.
	q, err = sizing.Solve(sizing.Params{N: q.N, M: q.M, K: q.K})
	if err != nil {
		panic(err)
	}
	fmt.Printf("%.4f%%\n", 100*q.P)
	// Output:
	// 9585059 bits, k = 7
	// 1.0039%
}

func ExampleSolve_underDetermined() {
	_, err := sizing.Solve(sizing.Params{P: 0.01, K: 7})
	fmt.Println(err)
	// Output:
	// sizing: solve: bad parameter: under-determined: two of n, p and m must be known
}

func ExampleLayout_Size() {
	for _, layout := range []sizing.Layout{sizing.Standard, sizing.Blocked} {
		s, err := layout.Size(1_000_000, 0.01)
		if err != nil {
			panic(err)
		}
		fmt.Printf("%s: %d bits, k = %d, rate %.4f%%\n", layout, s.Bits, s.K, 100*s.Rate(1_000_000))
	}
	// Output:
	// standard: 9592957 bits, k = 7, rate 1.0000%
	// blocked: 9933824 bits, k = 6, rate 0.9998%
}

func ExampleShape_Count() {
	s := sizing.Shape{Layout: sizing.Standard, Bits: 9_592_957, K: 7}
	fmt.Printf("half full: %.0f keys\n", s.Count(0.5))
	fmt.Printf("their error rate: %.2f%%\n", 100*s.Rate(s.Count(0.5)))
	// Output:
	// half full: 949904 keys
	// their error rate: 0.78%
}
