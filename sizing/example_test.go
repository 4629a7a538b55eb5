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

func ExampleAdvise() {
	a, err := sizing.Advise(sizing.Needs{
		Keys:      1_000_000,
		Capacity:  1_500_000,
		KeyBytes:  24,
		ErrorRate: 0.01,
	})
	if err != nil {
		panic(err)
	}
	fmt.Println("take", a.Take())
	for _, c := range a.Kinds[:2] {
		fmt.Printf("%s: %d bytes, %d memory accesses, %.2f%%\n", c.Make, c.Bytes, c.Lookup, 100*c.ErrorRate)
	}
	for _, c := range a.Exact {
		fmt.Printf("%s: %d bytes\n", c.Name, c.Bytes)
	}
	// Output:
	// take bloom
	// bloom.New: 1862528 bytes, 1 memory accesses, 0.17%
	// quotient.New: 1726169 bytes, 4 memory accesses, 0.66%
	// go map: 79698003 bytes
	// sorted array: 28000000 bytes
	// redis set: 72388608 bytes
}

func ExampleAdvise_warnings() {
	a, err := sizing.Advise(sizing.Needs{Keys: 500, FalsePositiveCost: 100, ErrorRate: 0.05})
	if err != nil {
		panic(err)
	}
	for _, w := range a.Warnings {
		fmt.Printf("%s: %s\n", w.Code, w)
	}
	// Output:
	// small: So few keys fit into a map of 34.48 KiB, which is exact and can delete and list them. Use that.
	// headroom: The capacity is the number of keys expected. With 50% more keys the rate of a bloom filter is 12% instead of 5%. Set the capacity to the largest number that may come, or use a filter that grows.
	// costly: False positives cost 5 times what the lookups do. A rate of 0.1% is worth its memory: a factor of ten costs about 5 bits per key.
}

func ExampleAdvise_refused() {
	a, err := sizing.Advise(sizing.Needs{Keys: 1_000_000, Growth: true, ErrorRate: 0.01})
	if err != nil {
		panic(err)
	}
	fmt.Println("take", a.Kinds[0].Make)
	for _, r := range a.Refused[:2] {
		fmt.Printf("not %s: %s\n", r.Name, r.Reason)
	}
	// Output:
	// take bloom.NewScalable
	// not bloom: it cannot grow past its capacity
	// not split: it cannot grow past its capacity
}
