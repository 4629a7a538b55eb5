package main

import (
	"context"

	boom "github.com/tylertreat/BoomFilters"

	"github.com/bloomery/bloomery/counting"
)

const (
	oursCounting = "counting.Filter"
	boomCounting = "BoomFilters, 4 bits"
)

// countingFilters asks for 1%.
func countingFilters(_ context.Context, b *bench) error {
	const p = 0.01
	return contest(b, []contestant{
		{oursCounting, func() (keyed, error) {
			f, err := counting.Config{Capacity: b.n, ErrorRate: p}.New()
			if err != nil {
				return keyed{}, err
			}
			return keyed{
				insert: func(keys [][]byte) error {
					for _, key := range keys {
						if err := f.Insert(key); err != nil {
							return err
						}
					}
					return nil
				},
				has: func(dst []bool, keys [][]byte) {
					for i, key := range keys {
						dst[i] = f.Contains(key)
					}
				},
				batch: f.ContainsKeys,
				bits:  func() uint64 { return 8 * f.Stats().Bytes },
			}, nil
		}},
		{boomCounting, func() (keyed, error) {
			f := boom.NewDefaultCountingBloomFilter(uint(b.n), p)
			return keyed{
				insert: func(keys [][]byte) error {
					for _, key := range keys {
						f.Add(key)
					}
					return nil
				},
				has: func(dst []bool, keys [][]byte) {
					for i, key := range keys {
						dst[i] = f.Test(key)
					}
				},
				bits: func() uint64 { return 4 * uint64(f.Capacity()) },
			}, nil
		}},
	})
}

func countingExperiments() []experiment {
	return []experiment{{"counting", 1_000_000, `Counting filters that are asked for 1%.`, countingFilters}}
}

func countingAims() []aim {
	const name = "counting/n=1000000"
	all := []aim{atLeast(4, "counting.Filter, inserts, times as fast as BoomFilters",
		over(at(name, boomCounting, insert), at(name, oursCounting, insert)))}
	for _, keys := range []string{", hits", ", misses"} {
		all = append(all,
			atLeast(4, "counting.Filter, lookups, times as fast as BoomFilters"+keys,
				over(at(name, boomCounting, single+keys), at(name, oursCounting, single+keys))),
			atLeast(4, "counting.Filter, batches of lookups, times as fast as BoomFilters"+keys,
				over(at(name, boomCounting, single+keys), at(name, oursCounting, batch+keys))))
	}
	return all
}
