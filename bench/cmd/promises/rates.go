package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/bloomery/bloomery/bench/internal/library"
	"github.com/bloomery/bloomery/internal/measuring"
)

// row asks one library for one error rate.
type row struct {
	lib   library.Library
	asked float64
	keys  measuring.Keys
	n     int

	record
}

var (
	askedRates = []float64{1e-2, 1e-3, 1e-4, 1e-5, 1e-6}
	keyCounts  = []int{10, 1000, 1_000_000, 10_000_000}
)

// most are the keys that all kinds of keys are tried with; more only random
// ones.
const most = 1_000_000

// seed moves the numbers of all keys.
const seed = 1

// lowestLarge is the lowest rate that filters are asked for with more keys.
const lowestLarge = 1e-4

// unevenKeys are the keys in all filters of a row whose filters differ.
const unevenKeys = 16_000_000

// name is what -only looks at.
func (r row) name() string {
	return fmt.Sprintf("%s/rate=%g/%s/n=%d", r.lib.Name, r.asked, r.keys.Name, r.n)
}

// rows returns all rows of at most so many keys, nothing measured yet.
func rows(largest int) []row {
	var all []row
	for _, lib := range library.All() {
		for _, asked := range askedRates {
			for _, n := range keyCounts {
				for i, keys := range measuring.KeyKinds() {
					r := row{lib: lib, asked: asked, keys: keys, n: n}
					large := n > most
					skip := large && (!lib.Large || i > 0 || asked < lowestLarge)
					if n <= largest && n >= lib.Fewest && asked >= lib.Lowest && !skip {
						all = append(all, r)
					}
				}
			}
		}
	}
	return all
}

// wanted returns how many absent keys a row is to ask for.
func (r row) wanted(o options) uint64 {
	if r.lib.Ours && !o.quick {
		return uint64(o.ours / r.asked)
	}
	return uint64(min(o.peers/r.asked, o.most))
}

// missing returns the rows that o selects and that were not measured yet, or
// with fewer queries. The quick ones come first: if a run is interrupted, as
// much as possible is there.
func missing(o options, known records) []row {
	var all []row
	for _, r := range rows(o.largest) {
		old, ok := known.Get(r.name())
		if o.only.MatchString(r.name()) && (o.again || !ok || !old.enough(r.wanted(o))) {
			all = append(all, r)
		}
	}
	slices.SortStableFunc(all, func(a, b row) int { return cmp.Compare(a.wanted(o), b.wanted(o)) })
	return all
}

// measure measures the rows that are missing.
func measure(o options, known records) error {
	all := missing(o, known)
	var total float64
	for _, r := range all {
		total += float64(r.wanted(o))
	}
	progress("%d rows, %.3g queries", len(all), total)
	return each(o.workers, all, func(i int, r *row) error {
		start := time.Now()
		r.measure(o)
		progress("%d of %d: %s: %s (%v)", i+1, len(all), r.name(), r.verdict(), time.Since(start).Round(time.Second))
		return known.add(r.record)
	})
}

// measure fills the filters and asks them.
func (r *row) measure(o options) {
	r.record = record{Name: r.name(), Seed: seed}
	defer func() {
		if p := recover(); p != nil {
			r.Failure = short(fmt.Sprint("panic: ", p))
		}
	}()
	var bits func() uint64
	plan := measuring.Plan{Keys: r.keys, N: r.n, Queries: r.wanted(o), Seed: seed}
	if r.lib.Uneven && r.n >= 1_000_000 { // one filter would say nothing of the mean
		plan.Filters = max(2, unevenKeys/r.n)
	}
	rate := measuring.Run(plan, func() measuring.Subject {
		f, err := r.lib.Make(int64(r.n), r.asked)
		if err != nil {
			panic(err)
		}
		bits = f.Bits
		return f.Subject
	})
	r.Rate, r.BitsPerKey = &rate, float64(bits())/float64(r.n)
}

// kept reports whether the row holds: no key lost, and an error rate of at
// most three standard deviations above what was asked.
func (r row) kept() bool {
	return r.Failure == "" && r.Rate.Lost == 0 && r.Rate.Mean <= r.asked+3*r.Rate.Sigma
}

// ratio returns the measured rate over the one asked for, 0 if there is none.
func (r row) ratio() float64 {
	if r.Rate == nil {
		return 0
	}
	return r.Rate.Mean / r.asked
}

// effort returns the queries of a row over those that give one wrong answer.
func (r row) effort() float64 { return float64(r.queries()) * r.asked }

// verdict says in a word whether the promise was kept.
func (r row) verdict() string {
	switch {
	case r.Failure != "":
		return "**" + r.Failure + "**"
	case r.Rate.Lost > 0:
		return fmt.Sprintf("**broken, %d keys lost**", r.Rate.Lost)
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
