package main

import (
	"context"
	"fmt"
	"io"
	"math"

	"github.com/bloomery/bloomery/cuckoo"
	"github.com/bloomery/bloomery/quotient"
)

const (
	oursQuotient = "quotient.Filter"
	sameRate     = "cuckoo.Filter of the same rate"
)

// quotientSizes are numbers of keys from 10^5 to 10^7, powers of two and the
// numbers after them among these: sizes that are rounded show there.
var quotientSizes = []int{
	100_000, 131_072, 131_073, 200_000, 300_000, 500_000, 700_000, 1_000_000, 1_048_576, 1_048_577,
	1_500_000, 2_000_000, 3_000_000, 4_194_305, 5_000_000, 7_000_000, 8_388_609, 10_000_000,
}

var quotientRates = []float64{1e-2, 1e-3, 1e-4}

func quotientSpace(p float64) string {
	return fmt.Sprintf("bits at p = %g over (log2(1/p) + 2.125)/0.95", p)
}

// quotientBits measures the whole file for many numbers of keys.
func quotientBits(_ context.Context, b *bench) error {
	for _, n := range quotientSizes {
		for _, p := range quotientRates {
			f, err := quotient.Config{Capacity: n, ErrorRate: p}.New()
			if err != nil {
				return err
			}
			bytes, err := f.WriteTo(io.Discard)
			if err != nil {
				return err
			}
			b.note(fmt.Sprintf("%d keys", n), quotientSpace(p), 8*float64(bytes)/float64(n)/((-math.Log2(p)+2.125)/0.95))
		}
	}
	return nil
}

// quotientTimes fills a quotient and a cuckoo filter of one rate.
func quotientTimes(_ context.Context, b *bench) error {
	const p = 0.01
	return contest(b, []contestant{
		{oursQuotient, func() (keyed, error) {
			f, err := quotient.Config{Capacity: b.n, ErrorRate: p}.New()
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
		{sameRate, func() (keyed, error) {
			f, err := cuckoo.Config{Capacity: b.n, ErrorRate: p}.New()
			if err != nil {
				return keyed{}, err
			}
			return keyedCuckoo(f), nil
		}},
	})
}

func quotientExperiments() []experiment {
	return []experiment{
		{"quotient-bits", 10_000_000, `Bits per key of the whole file over the aim's formula, by capacity.`, quotientBits},
		{"quotient", 1_000_000, `Filters for 1%, filled to their capacity.`, quotientTimes},
	}
}

func quotientAims() []aim {
	const space, times = "quotient-bits/n=10000000", "quotient/n=1000000"
	all := []aim{atMost(1.08, "quotient.Filter, 10^5 to 10^7 keys, bits per key over (log2(1/p) + 2.125)/0.95, the worst",
		func(d document) (worst float64) {
			for _, f := range d.records[space].Figures {
				worst = max(worst, f.Value)
			}
			return worst
		})}
	for _, what := range []string{single + ", hits", single + ", misses", insert} {
		all = append(all, atMost(2, "quotient.Filter with 1 M keys over cuckoo.Filter, "+what,
			over(at(times, oursQuotient, what), at(times, sameRate, what))))
	}
	return all
}
