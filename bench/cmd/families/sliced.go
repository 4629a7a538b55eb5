package main

import (
	"context"

	"github.com/bloomery/bloomery/bench/internal/timing"
	"github.com/bloomery/bloomery/bloom"
)

const (
	oursSliced = "bloom.Sliced"
	inTurn     = "bloom.Standard, asked in turn"
	allColumns = "ns per key for all filters"
)

// sliced asks 1,024 filters of n keys each for a key.
func sliced(_ context.Context, b *bench) error {
	const p = 0.01
	columns := bloom.MaxColumns
	s, err := bloom.Config{Columns: columns, Capacity: b.n, ErrorRate: p}.NewSliced()
	if err != nil {
		return err
	}
	filters := make([]*bloom.Standard, columns)
	for i := range filters {
		filters[i] = bloom.NewStandard(b.n, p)
		filters[i].AddHashes(nil, hashesOf(uint64(present+2*i), b.n))
		column, err := s.AddColumn()
		if err != nil {
			return err
		}
		if err := s.ReplaceColumn(column, filters[i]); err != nil {
			return err
		}
	}
	hs, which := hashesOf(absent, 1<<12), make([]uint64, s.Words())
	b.time(oursSliced, allColumns, timing.Over(hs, len(hs), func(dst []bool, hs []uint64) {
		for i, h := range hs {
			s.Which(which, h)
			dst[i] = which[0] != 0
		}
	}))
	b.time(inTurn, allColumns, timing.Over(hs, len(hs)/8, func(dst []bool, hs []uint64) {
		for i, h := range hs {
			yes := 0
			for _, f := range filters {
				if f.ContainsHash(h) {
					yes++
				}
			}
			dst[i] = yes > 0
		}
	}))
	b.turns(b.rounds)
	return nil
}

func slicedExperiments() []experiment {
	return []experiment{{"sliced", 10_000, `One key against 1,024 filters of 10,000 keys each at 1%; it is in none.`, sliced}}
}

func slicedAims() []aim {
	const name = "sliced/n=10000"
	return []aim{atLeast(20, "Sliced, one key against 1,024 filters, times as fast as in turn",
		over(at(name, inTurn, allColumns), at(name, oursSliced, allColumns)))}
}
