package main

import (
	"context"

	boom "github.com/tylertreat/BoomFilters"
)

const boomCounting = "BoomFilters, 4 bits"

// countingFilters asks for 1%.
func countingFilters(_ context.Context, b *bench) error {
	const p = 0.01
	return contest(b, []contestant{
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
	return []experiment{{"counting", 1_000_000, `Counting filters that are asked for 1%. Keys of 8 bytes, hashing
		included.`, countingFilters}}
}
