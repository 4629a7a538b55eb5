// Package sizing is the arithmetic of filters: how many bits an array needs, how
// many of them a key sets, and what false positive rate to expect.
//
// It answers two kinds of questions, and the answers differ.
//
// [Solve] gives the textbook's figures: any two of keys, rate and bits give
// the rest. They are what other calculators show and what papers quote.
//
//	q, err := sizing.Solve(sizing.Params{N: 1_000_000, P: 0.01})
//	fmt.Println(q.M, q.K) // 9585059 7
//	s, err := sizing.Standard.Size(1_000_000, 0.01)
//	fmt.Println(s.Bits, s.K) // 9592957 7
//	fmt.Println(s.Rate(1_000_000)) // 0.009999997701850304
//
// [Layout.Size] and [Shape.Rate] give honest figures: the smallest array that
// keeps the rate, and the rate that an array has. The textbook takes k = 6.64
// for one million keys at 1%, where a filter must take 7, so its 9,585,059
// bits really have a rate of 1.0039%; 9,592,957 keep the promise.
// In small filters the textbook is wrong by more, since the share of set bits
// varies from filter to filter and an unlucky filter loses more than a lucky
// one gains: 3 to 5% at 30 keys. In the [Blocked] and [Split] layouts it does
// not hold at all, since some blocks get more keys than others; they are
// computed from exact forms of their own. The derivations are in docs/theory.md.
//
// The size of any other kind is what CountingSize, CuckooSize and so on return,
// a type of its own with the rate that it makes. Layouts are values, so that theirs
// is a method.
//
// [Advise] goes one step further: it takes what is known about a set of keys,
// ranks the kinds of filters that serve, compares their costs with those of a Go
// map, a sorted array and a Redis set, and warns where a plan is not a good one.
// [Fit] does the same for a size that is given.
//
// Errors wrap [bloomery.ErrParameter] or [bloomery.ErrTooLarge] and read
// "sizing: operation: cause". errors.Unwrap returns the cause alone.
//
// Everything here is a pure function of its arguments and safe for concurrent
// use.
package sizing

//go:generate go run plot.go
