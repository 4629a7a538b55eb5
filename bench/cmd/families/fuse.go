package main

import (
	"context"
	"slices"

	"github.com/FastFilter/xorfilter"

	"github.com/bloomery/bloomery/fuse"
)

const (
	oursFuse8   = "fuse.Filter[uint8]"
	oursFuse8x4 = "fuse.Filter[uint8], 4-wise"
	xorFuse8    = "xorfilter BinaryFuse8"
	buildTime   = "ns per key of a build"
)

// fuseFilters builds filters of 8-bit fingerprints from hashes. Builders are
// used again, so that no build pays for the first touch of its memory.
func fuseFilters(ctx context.Context, b *bench) error {
	hs, others := hashesOf(present, b.n), hashesOf(absent, min(b.n, someKeys))
	there := spread(hs)
	for _, c := range []struct {
		who   string
		arity int
	}{{oursFuse8, 3}, {oursFuse8x4, 4}} {
		f, err := fuse.Config[uint8]{Arity: c.arity}.Build(ctx, hs)
		if err != nil {
			return err
		}
		data, err := f.MarshalBinary()
		if err != nil {
			return err
		}
		b.static(c.who, len(data), hs, others, f.ContainsHashes)
		lookups(b, c.who, single, b.pass(), there, others, func(dst []bool, hs []uint64) {
			for i, h := range hs {
				dst[i] = f.ContainsHash(h)
			}
		})
		lookups(b, c.who, batch, b.pass(), there, others, f.ContainsHashes)
	}
	builder := xorfilter.MakeBinaryFuseBuilder[uint8](b.n)
	theirs := slices.Clone(hs) // it may put its keys into another order
	f, err := xorfilter.BuildBinaryFuse[uint8](&builder, theirs)
	if err != nil {
		return err
	}
	b.static(xorFuse8, len(f.Fingerprints), hs, others, each(f.Contains))
	lookups(b, xorFuse8, single, b.pass(), there, others, func(dst []bool, hs []uint64) {
		for i, h := range hs {
			dst[i] = f.Contains(h)
		}
	})
	b.turns(b.rounds)
	return b.fuseBuilds(ctx, hs, theirs, &builder)
}

// fuseBuilds times builds on one core.
func (b *bench) fuseBuilds(ctx context.Context, hs, theirs []uint64, builder *xorfilter.BinaryFuseBuilder) error {
	var ours fuse.Builder[uint8]
	for _, c := range []struct {
		who   string
		arity int
	}{{oursFuse8, 3}, {oursFuse8x4, 4}} {
		config := fuse.Config[uint8]{Arity: c.arity, Workers: 1}
		if _, err := ours.Build(ctx, config, hs); err != nil {
			return err
		}
		b.time(c.who, buildTime, build(b.n, func() {
			if _, err := ours.Build(ctx, config, hs); err != nil {
				panic(err)
			}
		}))
	}
	b.time(xorFuse8, buildTime, build(b.n, func() {
		if _, err := xorfilter.BuildBinaryFuse[uint8](builder, theirs); err != nil {
			panic(err)
		}
	}))
	b.turns(b.long())
	return nil
}

// static notes what is to be said of a filter that was built: its size and
// whether it does what it should.
func (b *bench) static(who string, bytes int, hs, others []uint64, has func(dst []bool, hs []uint64)) {
	b.note(who, bits, 8*float64(bytes)/float64(b.n))
	b.note(who, keysLost, float64(lost(hs, has)))
	b.note(who, rate, errorOf(others, has))
}

func fuseExperiments() []experiment {
	var all []experiment
	for _, n := range []int{1_000_000, 10_000_000, 100_000_000} {
		all = append(all, experiment{"fuse", n, `Built from 64-bit hashes on one core by a builder that was used
			before. Ours is counted as the whole file, the peer as its fingerprints.`, fuseFilters})
	}
	return all
}

func fuseAims() []aim {
	var all []aim
	for _, n := range []string{"1000000", "10000000", "100000000"} {
		name := "fuse/n=" + n
		for _, keys := range []string{", hits", ", misses"} {
			all = append(all,
				atLeast(1, "fuse8 with "+n+" keys, lookups, times as fast as BinaryFuse8"+keys,
					over(at(name, xorFuse8, single+keys), at(name, oursFuse8, single+keys))),
				atLeast(1.8, "fuse8 with "+n+" keys, batches of lookups, times as fast as BinaryFuse8"+keys,
					over(at(name, xorFuse8, single+keys), at(name, oursFuse8, batch+keys))))
		}
		all = append(all,
			atLeast(1.1, "fuse8 with "+n+" keys, build on one core, times as fast as BinaryFuse8",
				over(at(name, xorFuse8, buildTime), at(name, oursFuse8, buildTime))),
			atMost(1, "fuse8 with "+n+" keys, bits per key over BinaryFuse8",
				over(at(name, oursFuse8, bits), at(name, xorFuse8, bits))),
			atMost(1.08*8, "fuse8, 4-wise, with "+n+" keys, bits per key", figureAt(at(name, oursFuse8x4, bits))))
	}
	return all
}
