package main

import (
	"bytes"
	"fmt"
	"math"

	"github.com/bloomery/bloomery/bench/internal/library"
	"github.com/bloomery/bloomery/internal/measuring"
)

// input is something that a library should refuse.
type input struct {
	name string
	file bool // whether it is a damaged file; else it is a bad parameter
	fits func(library.Library) bool
	give func(library.Library) outcome
}

// inputs returns all bad parameters and all kinds of damage.
func inputs() []input {
	var all []input
	for _, n := range []struct {
		name string
		n    int64
	}{{"n = 0", 0}, {"n = -1", -1}, {"n = 2^40", 1 << 40}} {
		all = append(all, parameter(n.name, n.n, 0.01))
	}
	for _, p := range []float64{0, 1, 2, -1, math.NaN(), 1e-300} {
		all = append(all, parameter(fmt.Sprintf("p = %g", p), 1000, p))
	}
	return append(all,
		damage("empty", func(library.Library, []byte) []byte { return nil }),
		damage("half", func(_ library.Library, data []byte) []byte { return data[:len(data)/2] }),
		damage("one byte short", func(_ library.Library, data []byte) []byte { return data[:len(data)-1] }),
		flips(),
		damage("16 bytes behind the end", func(_ library.Library, data []byte) []byte {
			return append(bytes.Clone(data), "trailing garbage"...)
		}),
		hostile(),
	)
}

// inputNamed returns the input with this name.
func inputNamed(name string) input {
	for _, in := range inputs() {
		if in.name == name {
			return in
		}
	}
	panic("no input is called " + name)
}

// parameter asks for a filter that cannot be had.
func parameter(name string, n int64, p float64) input {
	bad := n < 1 || !(p > 0 && p < 1)
	return input{
		name: name,
		// A library without error rates can only be given a bad n, and one
		// without a number of keys only a bad rate.
		fits: func(lib library.Library) bool { return (!lib.NoRate || p == 0.01) && (!lib.NoCapacity || n == members) },
		give: func(lib library.Library) outcome {
			f, err := lib.Make(n, p)
			if err != nil {
				return outcome{refused, short(err.Error()), true}
			}
			lost, rate := use(f)
			o := outcome{Kind: accepted, Text: fmt.Sprintf("error rate %.3g", rate)}
			if lost > 0 {
				o.Text = fmt.Sprintf("%d of 1,000 keys lost", lost)
			}
			// What is hard but has a meaning may be had for a price.
			o.Good = !bad && lost == 0 && rate <= p
			return o
		},
	}
}

// members is the number of keys that every filter here holds.
const members = 1000

// use adds 1,000 keys and returns how many of them are lost, and the error rate.
func use(f library.Filter) (lost uint64, rate float64) {
	plan := measuring.Plan{Keys: measuring.KeyKinds()[0], N: members, Filters: 1, Queries: 100_000}
	r := measuring.Run(plan, func() measuring.Subject { return f.Subject })
	return r.Lost, r.Mean
}
