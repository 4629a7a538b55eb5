package main

import (
	"fmt"
	"math"
	"time"

	"github.com/bloomery/bloomery/bench/internal/library"
	"github.com/bloomery/bloomery/filtertest"
)

// row asks one library for one error rate.
type row struct {
	lib   library.Library
	asked float64
	keys  filtertest.Keys
	n     int

	got        filtertest.Rate
	bitsPerKey float64
	failure    string // a panic or an error where a filter was due
}

var (
	askedRates = []float64{1e-2, 1e-3, 1e-4, 1e-5, 1e-6}
	keyCounts  = []int{10, 1000, 1_000_000, 10_000_000}
)

// most are the keys that all kinds of keys are tried with; more only random
// ones.
const most = 1_000_000

// lowestLarge is the lowest rate that peers are asked for with more keys.
const lowestLarge = 1e-4

// name is what -only looks at.
func (r row) name() string {
	return fmt.Sprintf("%s/rate=%g/%s/n=%d", r.lib.Name, r.asked, r.keys.Name, r.n)
}

// rows returns the rows that o selects, nothing measured yet.
func rows(o options) []row {
	var all []row
	for _, lib := range library.All() {
		for _, asked := range askedRates {
			for _, n := range keyCounts {
				for i, keys := range filtertest.KeyKinds() {
					r := row{lib: lib, asked: asked, keys: keys, n: n}
					large := n > most && (i > 0 || !lib.Ours && asked < lowestLarge)
					if n <= o.largest && !large && asked >= lib.Lowest && o.only.MatchString(r.name()) {
						all = append(all, r)
					}
				}
			}
		}
	}
	return all
}

// queries returns how many absent keys a row asks for.
func (r row) queries(o options) uint64 {
	if r.lib.Ours && !o.quick {
		return uint64(o.ours / r.asked)
	}
	return uint64(min(o.peers/r.asked, o.most))
}

// measure measures all rows.
func measure(o options) []row {
	all := rows(o)
	var total float64
	for _, r := range all {
		total += float64(r.queries(o))
	}
	progress("%d rows, %.3g queries", len(all), total)
	each(o.workers, all, func(i int, r *row) {
		start := time.Now()
		r.measure(o)
		progress("%d of %d: %s: %s (%v)", i+1, len(all), r.name(), r.verdict(), time.Since(start).Round(time.Second))
	})
	return all
}

// measure fills the filters and asks them.
func (r *row) measure(o options) {
	defer func() {
		if p := recover(); p != nil {
			r.failure = fmt.Sprint("panic: ", p)
		}
	}()
	plan := filtertest.Plan{Keys: r.keys, N: r.n, Queries: r.queries(o), Seed: 1}
	r.got = filtertest.Measure(plan, func() filtertest.Subject {
		f, err := r.lib.Make(int64(r.n), r.asked)
		if err != nil {
			panic(err)
		}
		r.bitsPerKey = float64(f.Bits) / float64(r.n)
		return f.Subject
	})
}

// kept reports whether the row holds: no key lost, and an error rate of at
// most three standard deviations above what was asked.
func (r row) kept() bool {
	return r.failure == "" && r.got.Lost == 0 && r.got.Mean <= r.asked+3*r.got.Sigma
}

func (r row) ratio() float64 { return r.got.Mean / r.asked }

// verdict says in a word whether the promise was kept.
func (r row) verdict() string {
	switch {
	case r.failure != "":
		return "**" + r.failure + "**"
	case r.got.Lost > 0:
		return fmt.Sprintf("**broken, %d keys lost**", r.got.Lost)
	case r.kept():
		return "kept"
	case r.lib.NoRate:
		return fmt.Sprintf("not promised, %s times", round(r.ratio()))
	}
	return fmt.Sprintf("**broken, %s times**", round(r.ratio()))
}

// round returns x with three digits.
func round(x float64) string {
	if x >= 100 {
		return fmt.Sprintf("%.0f", math.Round(x))
	}
	return fmt.Sprintf("%.3g", x)
}
