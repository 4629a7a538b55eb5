package main

import (
	"context"
	"fmt"
	"iter"
	"math"
	"os"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/bloomery/bloomery/bench/internal/timing"
	"github.com/bloomery/bloomery/codec/file"
	"github.com/bloomery/bloomery/exact"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/ribbon"
)

const (
	exact128   = "exact.Filter"
	firstStage = "ribbon.Filter, 6 columns, w = 128"
	valueMap   = "ribbon.Map, 8 bits at 1/256"
	columns16  = "ribbon.Filter, 16 columns"

	overBound    = "bits over log2 C(N, n)"
	wrongAnswers = "errors over the whole universe"
	wrongValues  = "wrong values of present keys"
	peakMiB      = "MiB of memory that a build takes at most, of which 64 are allowed"

	// mozillaShare is 11.7 million of 816 million.
	mozillaShare = 11.7 / 816
)

// log2Choose returns the binary logarithm of the number of sets of k out of n.
func log2Choose(n, k float64) float64 {
	a, _ := math.Lgamma(n + 1)
	b, _ := math.Lgamma(k + 1)
	c, _ := math.Lgamma(n - k + 1)
	return (a - b - c) / math.Ln2
}

// exactErrors asks a filter for all keys: the first n are in.
func exactErrors(f *exact.Filter, n, all int) (wrong int) {
	for i := range all {
		if f.ContainsHash(hashOf(i)) != (i < n) {
			wrong++
		}
	}
	return wrong
}

// hashOf is the hash of key i of a universe.
func hashOf(i int) uint64 { return hashing.Seeded(present).HashUint64(uint64(i)) }

// universeOf returns the keys from one number to another.
func universeOf(from, to int) exact.Source {
	return func(hashing.Hasher) iter.Seq2[int, uint64] {
		return func(yield func(int, uint64) bool) {
			for i := from; i < to; i++ {
				if !yield(0, hashOf(i)) {
					return
				}
			}
		}
	}
}

// exactBits measures the array over what information theory asks for, and asks for
// all keys.
func exactBits(ctx context.Context, b *bench) error {
	for _, percent := range []int{1, 10} {
		n := b.n * percent / 100
		hs := make([]uint64, b.n)
		for i := range hs {
			hs[i] = hashOf(i)
		}
		f, err := exact.Config{}.Build(ctx, hs[:n], hs[n:])
		if err != nil {
			return err
		}
		who := fmt.Sprintf("%s, %d%% in", exact128, percent)
		b.note(who, overBound, float64(f.Stats().Bits)/log2Choose(float64(b.n), float64(n)))
		b.note(who, wrongAnswers, float64(exactErrors(f, n, b.n)))
	}
	return nil
}

// exactMozilla builds a universe of the share of Mozilla's from streams in 64 MiB, and
// times its lookups beside those of its first stage.
func exactMozilla(ctx context.Context, b *bench) error {
	n := int(mozillaShare * float64(b.n))
	scratch, err := file.NewScratch("")
	if err != nil {
		return err
	}
	defer scratch.Close() //nolint:errcheck // it is of no use any more
	debug.FreeOSMemory()
	before := resident("VmRSS")
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) // the peak from here on; where that fails it is higher
	f, err := exact.Config{Scratch: scratch, Memory: 64 << 20}.BuildFrom(ctx, universeOf(0, n), universeOf(n, b.n))
	if err != nil {
		return err
	}
	b.note(exact128, peakMiB, (resident("VmHWM")-before)/(1<<20))
	b.note(exact128, overBound, float64(f.Stats().Bits)/log2Choose(float64(b.n), float64(n)))
	b.note(exact128, wrongAnswers, float64(exactErrors(f, n, b.n)))
	in, out := make([]uint64, n), make([]uint64, min(b.n-n, someKeys))
	for i := range in {
		in[i] = hashOf(i)
	}
	for i := range out {
		out[i] = hashOf(n + i)
	}
	first, err := ribbon.Config{ErrorRate: 1.0 / 64, Width: 128}.Build(ctx, in)
	if err != nil {
		return err
	}
	there := spread(in)
	lookups(b, exact128, single, timing.Batch, there, out, each(f.ContainsHash))
	lookups(b, firstStage, single, timing.Batch, there, out, each(first.ContainsHash))
	lookups(b, exact128, batch, timing.Batch, there, out, f.ContainsHashes)
	lookups(b, firstStage, batch, timing.Batch, there, out, first.ContainsHashes)
	b.turns(100 * b.rounds) // short passes, and many: a tenth is at stake
	return nil
}

// resident returns a figure of the memory of this process in bytes, 0 where it is not
// told.
func resident(name string) float64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			kib, _ := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "kB")), 64)
			return kib * 1024
		}
	}
	return 0
}

// mapTimes measures a map of 8-bit values beside a filter of as many columns.
func mapTimes(ctx context.Context, b *bench) error {
	hs, others := hashesOf(present, b.n), hashesOf(absent, min(b.n, someKeys))
	values := make([]uint32, len(hs))
	for i, h := range hs {
		values[i] = uint32(h * 0x9e3779b97f4a7c15 >> 56)
	}
	m, err := ribbon.Config{ErrorRate: 1.0 / 256, ValueBits: 8, Width: 128}.BuildMap(ctx, hs, values)
	if err != nil {
		return err
	}
	f, err := ribbon.Config{ErrorRate: 1.0 / 65536, Width: 128}.Build(ctx, hs)
	if err != nil {
		return err
	}
	b.note(valueMap, bits, float64(m.Stats().Bits)/float64(b.n))
	b.note(columns16, bits, float64(f.Stats().Bits)/float64(b.n))
	wrong := 0
	for i, h := range hs {
		if v, ok := m.GetHash(h); !ok || v != values[i] {
			wrong++
		}
	}
	b.note(valueMap, wrongValues, float64(wrong))
	there, got := spread(hs), make([]uint32, timing.Batch)
	lookups(b, valueMap, single, timing.Batch, there, others, each(func(h uint64) bool {
		_, ok := m.GetHash(h)
		return ok
	}))
	lookups(b, columns16, single, timing.Batch, there, others, each(f.ContainsHash))
	lookups(b, valueMap, batch, timing.Batch, there, others, func(dst []bool, hs []uint64) { m.GetHashes(got[:len(hs)], dst, hs) })
	lookups(b, columns16, batch, timing.Batch, there, others, f.ContainsHashes)
	b.turns(100 * b.rounds) // short passes, and many: a tenth is at stake
	return nil
}

func exactExperiments() []experiment {
	return []experiment{
		{"exact", 10_000_000, `Filters without errors on a known universe: bits of the array over the least that any such
			structure needs.`, exactBits},
		{"exact-mozilla", 40_800_000, `The share of revoked certificates that Mozilla publishes, at a twentieth of the size, built
			from streams.`, exactMozilla},
		{"map", 10_000_000, `A map of 8-bit values at 1/256 beside a filter of 16 columns, both with rows of 128.`, mapTimes},
	}
}

func exactAims() []aim {
	const space, mozilla, values = "exact/n=10000000", "exact-mozilla/n=40800000", "map/n=10000000"
	all := []aim{
		atMost(1.065, exact128+", 1% of 10 M keys in, "+overBound, figureAt(at(space, exact128+", 1% in", overBound))),
		atMost(1.10, exact128+", 10% of 10 M keys in, "+overBound, figureAt(at(space, exact128+", 10% in", overBound))),
		atMost(1.08, exact128+", 0.585 M of 40.8 M keys in, "+overBound, figureAt(at(mozilla, exact128, overBound))),
		atMost(16.1, valueMap+" with 10 M keys, "+bits, figureAt(at(values, valueMap, bits))),
	}
	for _, keys := range []string{", hits", ", misses"} {
		all = append(all,
			atMost(1.8, exact128+", time of a lookup over its first stage"+keys, over(at(mozilla, exact128, single+keys), at(mozilla, firstStage, single+keys))),
			atMost(1.1, valueMap+" with 10 M keys, time of a lookup over a filter of 16 columns"+keys,
				over(at(values, valueMap, single+keys), at(values, columns16, single+keys))))
	}
	return all
}
