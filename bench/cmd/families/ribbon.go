package main

import (
	"context"
	"fmt"
	"math"

	"github.com/bloomery/bloomery/fuse"
	"github.com/bloomery/bloomery/ribbon"
)

const (
	ribbon64  = "ribbon.Filter, w = 64"
	ribbon128 = "ribbon.Filter, w = 128"
	onTwo     = "ns per key of a build on two cores, by the wall"
	onOne     = "ns per key of a build on one core, by the wall"
)

// ribbonWidths are the widths by name.
var ribbonWidths = []struct {
	who   string
	width int
}{{ribbon64, 64}, {ribbon128, 128}}

// ribbonRates are the rates whose space is told: powers of two, which need no
// mixing of columns, and two that do.
func ribbonRates() (names []string, rates []float64) {
	for r := 7; r <= 15; r++ {
		names, rates = append(names, fmt.Sprintf("p = 2^-%d", r)), append(rates, math.Ldexp(1, -r))
	}
	return append(names, "p = 1%", "p = 0.1%"), append(rates, 1e-2, 1e-3)
}

// ribbonBits measures the whole file over what information theory asks for.
func ribbonBits(ctx context.Context, b *bench) error {
	hs := hashesOf(present, b.n)
	names, rates := ribbonRates()
	for _, w := range ribbonWidths {
		for i, p := range rates {
			f, err := ribbon.Config{ErrorRate: p, Width: w.width}.Build(ctx, hs)
			if err != nil {
				return err
			}
			data, err := f.MarshalBinary()
			if err != nil {
				return err
			}
			b.note(w.who, names[i], 8*float64(len(data))/float64(b.n)/-math.Log2(p))
		}
	}
	return nil
}

// ribbonTimes times filters of the rate of 8-bit fingerprints beside a fuse
// filter, whose rate it is.
func ribbonTimes(ctx context.Context, b *bench) error {
	const p = 1.0 / 256
	hs, others := hashesOf(present, b.n), hashesOf(absent, min(b.n, someKeys))
	there := spread(hs)
	for _, w := range ribbonWidths {
		f, err := ribbon.Config{ErrorRate: p, Width: w.width}.Build(ctx, hs)
		if err != nil {
			return err
		}
		data, err := f.MarshalBinary()
		if err != nil {
			return err
		}
		b.static(w.who, len(data), hs, others, f.ContainsHashes)
		lookups(b, w.who, single, b.pass(), there, others, func(dst []bool, hs []uint64) {
			for i, h := range hs {
				dst[i] = f.ContainsHash(h)
			}
		})
		lookups(b, w.who, batch, b.pass(), there, others, f.ContainsHashes)
	}
	f, err := fuse.Build[uint8](hs)
	if err != nil {
		return err
	}
	lookups(b, oursFuse8, single, b.pass(), there, others, func(dst []bool, hs []uint64) {
		for i, h := range hs {
			dst[i] = f.ContainsHash(h)
		}
	})
	b.turns(b.rounds)
	for _, w := range ribbonWidths {
		for i, what := range []string{buildTime, onOne, onTwo} {
			workers := 1 + i/2
			l := build(b.n, func() {
				if _, err := (ribbon.Config{ErrorRate: p, Width: w.width, Workers: workers}).Build(ctx, hs); err != nil {
					panic(err)
				}
			})
			l.Parallel = what != buildTime
			b.time(w.who, what, l)
		}
	}
	b.turns(b.long())
	return nil
}

func ribbonExperiments() []experiment {
	return []experiment{
		{"ribbon-bits", 1_000_000, `Bits per key of the whole file over log2(1/p), which no filter can go below.`, ribbonBits},
		{"ribbon", 10_000_000, `Ribbon filters with the rate of 8-bit fingerprints beside a binary fuse filter, from 64-bit
			hashes.`, ribbonTimes},
	}
}

func ribbonAims() []aim {
	const space, times = "ribbon-bits/n=1000000", "ribbon/n=10000000"
	names, _ := ribbonRates()
	worst := func(who string) func(d document) float64 {
		return func(d document) (x float64) {
			for _, name := range names[:9] {
				x = max(x, d.get(at(space, who, name)))
			}
			return x
		}
	}
	all := []aim{
		atMost(1.005, ribbon64+", bits per key over log2(1/p), p = 2^-7 to 2^-15, the worst", worst(ribbon64)),
		atMost(1.002, ribbon128+", bits per key over log2(1/p), p = 2^-7 to 2^-15, the worst", worst(ribbon128)),
		atMost(1.016, ribbon64+", bits per key over log2(1/p), p = 1%", figureAt(at(space, ribbon64, "p = 1%"))),
		atMost(1.006, ribbon64+", bits per key over log2(1/p), p = 0.1%", figureAt(at(space, ribbon64, "p = 0.1%"))),
	}
	for _, keys := range []string{", hits", ", misses"} {
		all = append(all,
			atMost(5, ribbon64+" with 10 M keys, time of a lookup over fuse8"+keys,
				over(at(times, ribbon64, single+keys), at(times, oursFuse8, single+keys))),
			atMost(3, ribbon64+" with 10 M keys, time of a lookup in a batch over fuse8, single"+keys,
				over(at(times, ribbon64, batch+keys), at(times, oursFuse8, single+keys))))
	}
	return append(all,
		atMost(400, ribbon64+" with 10 M keys, ns per key of a build on one core", figureAt(at(times, ribbon64, buildTime))),
		atLeast(1.6, ribbon64+" with 10 M keys, times as fast a build on two cores",
			over(at(times, ribbon64, onOne), at(times, ribbon64, onTwo))))
}
