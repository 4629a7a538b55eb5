package main

import (
	"context"

	"github.com/FastFilter/xorfilter"
)

const (
	xorFuse8  = "xorfilter BinaryFuse8"
	buildTime = "ns per key of a build"
)

// fuseFilters builds filters of 8-bit fingerprints from hashes. Builders are
// used again, so that no build pays for the first touch of its memory.
func fuseFilters(_ context.Context, b *bench) error {
	hs, others := hashesOf(present, b.n), hashesOf(absent, min(b.n, someKeys))
	there := spread(hs)
	builder := xorfilter.MakeBinaryFuseBuilder[uint8](b.n)
	// The peer may put its keys into another order.
	theirs := append([]uint64(nil), hs...)
	f, err := xorfilter.BuildBinaryFuse[uint8](&builder, theirs)
	if err != nil {
		return err
	}
	has := each(f.Contains)
	b.note(xorFuse8, bits, 8*float64(len(f.Fingerprints))/float64(b.n))
	b.note(xorFuse8, "keys lost", float64(lost(hs, has)))
	b.note(xorFuse8, rate, errorOf(others, has))
	lookups(b, xorFuse8, single, b.pass(), there, others, func(dst []bool, hs []uint64) {
		for i, h := range hs {
			dst[i] = f.Contains(h)
		}
	})
	b.turns(b.rounds)
	b.time(xorFuse8, buildTime, build(b.n, func() {
		if _, err := xorfilter.BuildBinaryFuse[uint8](&builder, theirs); err != nil {
			panic(err)
		}
	}))
	b.turns(b.long())
	return nil
}

func fuseExperiments() []experiment {
	var all []experiment
	for _, n := range []int{1_000_000, 10_000_000, 100_000_000} {
		all = append(all, experiment{"fuse", n, `Static filters from 64-bit hashes, built on one core by a builder that
			was used before.`, fuseFilters})
	}
	return all
}
