// Package measuring measures the false positive rates of filters, ours and those
// of other libraries, with several kinds of keys.
package measuring

import "math"

// Batch is the number of keys that are asked at once.
const Batch = 256

// Absent is the number of the first key that is never added.
const Absent = 1 << 40

// Subject is one filter under measurement, ours or another library's.
type Subject struct {
	Add      func(keys [][]byte)
	Contains func(dst []bool, keys [][]byte)
}

// Rate is a measured error rate.
type Rate struct {
	Filters int
	Keys    uint64  // keys added, over all filters
	Lost    uint64  // keys that were added and then denied
	Queries uint64  // absent keys asked
	Wrong   uint64  // absent keys answered with yes
	Mean    float64 // Wrong over Queries
	Sigma   float64 // standard deviation of Mean, the spread between filters included
}

// Plan says how a rate is measured.
type Plan struct {
	Keys    Keys
	N       int    // keys in each filter
	Filters int    // fresh filters, 0 for as many as hold a Million keys
	Queries uint64 // absent keys asked, over all filters
	Seed    uint64 // moves the numbers of all keys
}

// Million is the number of keys that the filters of a measurement hold at
// least, all together: a rate is a mean over filters, and small ones differ.
const Million = 1_000_000

// Run fills fresh filters and asks them for absent keys. Each filter gets
// keys of its own.
func Run(p Plan, fresh func() Subject) Rate {
	filters := p.Filters
	if filters == 0 {
		filters = (Million + p.N - 1) / p.N
	}
	each := max(1, p.Queries/uint64(filters))
	base := p.Seed << 41
	var b block
	r := Each(filters, func(i uint64) (wrong, lost, asked uint64) {
		s := fresh()
		lost = fillAndCheck(s, &b, p.Keys, base+i*uint64(p.N), p.N)
		return ask(s, &b, p.Keys, base+Absent+i*each, each), lost, each
	})
	r.Keys = uint64(filters) * uint64(p.N)
	return r
}

// Each adds up what one reports of each filter: how many of the absent keys
// that were asked were answered with yes, and how many keys were lost.
func Each(filters int, one func(i uint64) (wrong, lost, asked uint64)) Rate {
	r := Rate{Filters: filters}
	var sum, squares float64
	for i := range uint64(filters) {
		wrong, lost, asked := one(i)
		r.Wrong += wrong
		r.Lost += lost
		r.Queries += asked
		x := float64(wrong) / float64(asked)
		sum += x
		squares += x * x
	}
	n := float64(filters)
	r.Mean = sum / n
	// The spread between filters shows in the spread of their rates; the
	// counting error is there even if a single filter shows no spread.
	between := 0.0
	if filters > 1 {
		between = max(0, squares/n-r.Mean*r.Mean) / (n - 1)
	}
	counting := r.Mean / float64(r.Queries)
	r.Sigma = math.Sqrt(max(between, counting))
	return r
}

// fillAndCheck adds n keys and returns how many of them are then denied.
func fillAndCheck(s Subject, b *block, keys Keys, first uint64, n int) (lost uint64) {
	for i := 0; i < n; i += Batch {
		s.Add(b.fill(keys, first+uint64(i), min(Batch, n-i)))
	}
	var dst [Batch]bool
	for i := 0; i < n; i += Batch {
		m := min(Batch, n-i)
		s.Contains(dst[:m], b.fill(keys, first+uint64(i), m))
		for _, yes := range dst[:m] {
			if !yes {
				lost++
			}
		}
	}
	return lost
}

// ask asks for n keys that were not added and counts the yeses.
func ask(s Subject, b *block, keys Keys, first, n uint64) (wrong uint64) {
	var dst [Batch]bool
	for i := uint64(0); i < n; i += Batch {
		m := int(min(Batch, n-i))
		s.Contains(dst[:m], b.fill(keys, first+i, m))
		for _, yes := range dst[:m] {
			if yes {
				wrong++
			}
		}
	}
	return wrong
}
