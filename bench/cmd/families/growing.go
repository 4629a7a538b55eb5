package main

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/bloomery/bloomery/bench/internal/timing"
	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/quotient"
)

const (
	oursGrowing   = "quotient.Growing"
	rightQuotient = "quotient.Filter of the right size"

	growthMean  = "bits per key while growing, mean"
	growthWorst = "bits per key while growing, worst"
	growthRate  = "highest rate predicted, over that asked"

	growthMeasured = "highest rate measured, over that asked"
	growthTail     = "ms of thread CPU time per insert, p99.99"
)

// growing grows filters from 1,000 keys, at one rate.
func growing(p float64) func(context.Context, *bench) error {
	return func(_ context.Context, b *bench) error {
		if err := b.followGrowth(p); err != nil {
			return err
		}
		return contest(b, []contestant{
			{oursGrowing, func() (keyed, error) {
				g := quotient.NewGrowing(growFrom, p)
				return keyedMultiset(g.InsertKeys, g.Contains, g.ContainsKeys, func() uint64 { return g.Stats().Bits }), nil
			}},
			{rightQuotient, func() (keyed, error) {
				f := quotient.New(b.n, p)
				return keyedMultiset(f.InsertKeys, f.Contains, f.ContainsKeys, func() uint64 { return f.Stats().Bits }), nil
			}},
			{oursGrown, func() (keyed, error) {
				s := bloom.NewScalable(growFrom, p)
				add := func(keys [][]byte) (int, error) {
					for _, key := range keys {
						s.Add(key)
					}
					return len(keys), nil
				}
				return keyedMultiset(add, s.Contains, s.ContainsKeys, func() uint64 { return s.Stats().Bits }), nil
			}},
		})
	}
}

// keyedMultiset puts a filter behind the face of a contest.
func keyedMultiset(
	insert func([][]byte) (int, error), has func([]byte) bool, batch func([]bool, [][]byte), size func() uint64,
) keyed {
	return keyed{
		insert: func(keys [][]byte) error { _, err := insert(keys); return err },
		has:    each(has),
		batch:  batch,
		bits:   size,
	}
}

// growth grows a filter from 1,000 keys and looks at it on the way.
func growth(p float64) func(context.Context, *bench) error {
	return func(_ context.Context, b *bench) error { return b.followGrowth(p) }
}

// followGrowth looks at the memory over the last factor of four, at the rate
// whenever the keys have doubled, and at the time of single inserts over a factor
// of two, from a tenth of the keys on.
func (b *bench) followGrowth(p float64) error {
	g := quotient.NewGrowing(growFrom, p)
	others := hashesOf(absent, min(b.n, 1<<20))
	var sizes, times []float64
	sum, predicted, measured := 0.0, 0.0, 0.0
	doubled := growFrom
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for i := range b.n {
		h := timing.Scramble(present<<40 + uint64(i))
		timed := i >= b.n/10 && i < b.n/5
		var start time.Duration
		if timed {
			start = timing.Thread()
		}
		if err := g.InsertHash(h); err != nil {
			return err
		}
		if timed {
			times = append(times, (timing.Thread()-start).Seconds()*1000)
		}
		if i+1 == doubled || i+1 == b.n {
			doubled *= 2
			predicted = max(predicted, g.Stats().Predicted/p)
			measured = max(measured, errorOf(others, g.ContainsHashes)/100/p)
		}
		if i >= b.n/4 && i%1000 == 0 {
			sizes = append(sizes, float64(g.Stats().Bits)/float64(i+1))
			sum += sizes[len(sizes)-1]
		}
	}
	slices.Sort(times)
	b.note(oursGrowing, growthMean, sum/float64(len(sizes)))
	b.note(oursGrowing, growthWorst, slices.Max(sizes))
	b.note(oursGrowing, growthRate, predicted)
	b.note(oursGrowing, growthMeasured, measured)
	b.note(oursGrowing, growthTail, times[len(times)-1-len(times)/10_000])
	return nil
}

func growingExperiments() []experiment {
	var all []experiment
	for _, p := range []float64{1e-2, 1e-3} {
		all = append(all, experiment{fmt.Sprintf("growing-%g", p), 10_000_000, `Filters that were made for 1,000
			keys and got ten million, beside one of the right size.`, growing(p)})
	}
	for _, p := range []float64{1e-2, 1e-3} {
		all = append(all, experiment{fmt.Sprintf("growth-%g", p), 100_000_000, `One filter that was made for 1,000
			keys and got a hundred million: its rates whenever the keys had doubled, its size over the last factor
			of four, and its single inserts from 10 M to 20 M keys.`, growth(p)})
	}
	return append(all, experiment{"fold", 100_000, `Filters made foldable for 0.1%, folded: the rate
		measured over that of an array of the smaller size.`, fold})
}

// fold measures the rate of folded filters.
func fold(_ context.Context, b *bench) error {
	c := bloom.Config{Capacity: b.n, ErrorRate: 1e-3, Foldable: true}
	f, err := c.New()
	if err != nil {
		return err
	}
	s, err := c.NewStandard()
	if err != nil {
		return err
	}
	keys, others := keysOf(present, b.n), keysOf(absent, 20*b.n)
	f.AddKeys(nil, keys)
	s.AddKeys(nil, keys)
	for _, by := range []int{2, 4, 8} {
		small, err := f.Fold(by)
		if err != nil {
			return err
		}
		flat, err := s.Fold(by)
		if err != nil {
			return err
		}
		b.note("bloom.Filter", foldRate(by), errorOf(others, small.ContainsKeys)/100/small.Shape().Rate(float64(b.n)))
		b.note("bloom.Standard", foldRate(by), errorOf(others, flat.ContainsKeys)/100/flat.Shape().Rate(float64(b.n)))
	}
	return nil
}

func foldRate(by int) string { return fmt.Sprintf("rate over that predicted, folded by %d", by) }

func growingAims() []aim {
	var all []aim
	for _, c := range []struct{ p, mean, worst float64 }{{1e-2, 19, 22}, {1e-3, 23, 26}} {
		from := fmt.Sprintf("growing-%g/n=10000000", c.p)
		name := fmt.Sprintf("Growing from 1,000 to 10 M keys at %g, ", c.p)
		large := fmt.Sprintf("growth-%g/n=100000000", c.p)
		largeName := fmt.Sprintf("Growing from 1,000 to 100 M keys at %g, ", c.p)
		for _, a := range []struct{ from, name string }{{from, name}, {large, largeName}} {
			for _, t := range []struct {
				what string
				most float64
			}{{growthRate, 1}, {growthMeasured, 1}, {growthMean, c.mean}, {growthWorst, c.worst}} {
				all = append(all, atMost(t.most, a.name+t.what, figureAt(at(a.from, oursGrowing, t.what))))
			}
		}
		all = append(all, atMost(1, largeName+growthTail, figureAt(at(large, oursGrowing, growthTail))))
		for _, t := range []struct {
			than, what string
			most       float64
		}{
			{rightQuotient, single + ", misses", 1.2}, {rightQuotient, single + ", hits", 1.5}, {rightQuotient, insert, 4},
			{oursGrown, single + ", misses", 0.2}, {oursGrown, single + ", hits", 0.9},
		} {
			all = append(all, atMost(t.most, name+"time over "+t.than+", "+t.what, over(at(from, oursGrowing, t.what), at(from, t.than, t.what))))
		}
	}
	for _, by := range []int{2, 4, 8} {
		for _, who := range []string{"bloom.Filter", "bloom.Standard"} {
			all = append(all, atMost(1.1, who+", "+foldRate(by), figureAt(at("fold/n=100000", who, foldRate(by)))))
		}
	}
	return all
}
