package main

import (
	"context"
	"sync"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/bench/internal/timing"
	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/compose"
	"github.com/bloomery/bloomery/cuckoo"
)

const (
	oursWindow  = "compose.Window, 6 generations"
	sixInTurn   = "six bloom.Filters, asked in turn"
	oursStriped = "compose.Striped over cuckoo.Filter"

	oneWriter  = "ns per insert, 1 goroutine"
	twoWriters = "ns per insert, 2 goroutines"

	gigabytes = "GB per second of CPU time"

	// windowKeys makes a Window of 256 MiB.
	windowKeys = 65_000_000
)

// window looks for keys in six generations and in six filters of the same size.
func window(_ context.Context, b *bench) error {
	w, err := compose.WindowConfig{Capacity: b.scale(windowKeys), ErrorRate: 0.01, Generations: 5, Burst: 2}.New()
	if err != nil {
		return err
	}
	shape := w.Shape().Shape
	var apart []*bloom.Filter
	for range 6 {
		f, err := bloom.Config{Bits: shape.Bits, Hashes: shape.K}.New()
		if err != nil {
			return err
		}
		apart = append(apart, f)
	}
	hs := hashesOf(present, b.n)
	for i := range apart {
		part := hs[i*b.n/6 : (i+1)*b.n/6]
		w.Advance(uint64(i))
		w.AddHashes(nil, part)
		apart[i].AddHashes(nil, part)
	}
	b.note(oursWindow, "MiB", float64(w.Stats().Bytes)/(1<<20))
	others := hashesOf(absent, b.n)
	lookups(b, oursWindow, batch, b.pass(), hs, others, w.ContainsHashes)
	one := make([]bool, timing.Batch)
	lookups(b, sixInTurn, batch, b.pass(), hs, others, func(dst []bool, hs []uint64) {
		apart[0].ContainsHashes(dst, hs)
		for _, f := range apart[1:] {
			f.ContainsHashes(one, hs)
			for i, yes := range one[:len(hs)] {
				dst[i] = dst[i] || yes
			}
		}
	})
	b.turns(b.rounds)
	return nil
}

// striped inserts from one and from two goroutines.
func striped(_ context.Context, b *bench) error {
	hs := hashesOf(present, b.n)
	for _, c := range []struct {
		what       string
		goroutines int
	}{{oneWriter, 1}, {twoWriters, 2}} {
		l := build(b.n, func() {
			s, err := compose.StripedConfig{
				Capacity: b.n,
				Make:     func(n int) (bloomery.Hashed, error) { return cuckoo.Config{Capacity: n, ErrorRate: 0.01}.New() },
			}.New()
			if err != nil {
				panic(err)
			}
			var wg sync.WaitGroup
			for g := range c.goroutines {
				part := hs[g*b.n/c.goroutines : (g+1)*b.n/c.goroutines]
				wg.Go(func() {
					for _, h := range part {
						if err := s.InsertHash(h); err != nil {
							panic(err)
						}
					}
				})
			}
			wg.Wait()
		})
		b.time(oursStriped, c.what+", CPU time", l)
		l.Parallel = true
		b.time(oursStriped, c.what, l)
	}
	b.turns(b.long())
	return nil
}

// seal encrypts and decrypts n bytes.
func seal(_ context.Context, b *bench) error {
	data := make([]byte, b.n)
	for i := range data {
		data[i] = byte(timing.Scramble(uint64(i)))
	}
	key := [32]byte{1, 2, 3}
	sealed, err := codec.Seal(nil, data, key)
	if err != nil {
		return err
	}
	dst := make([]byte, 0, len(sealed))
	pass := func(do func() ([]byte, error)) timing.Loop {
		return timing.Loop{Keys: b.n, Pass: func(int) {
			if _, err := do(); err != nil {
				panic(err) // it went well a moment ago
			}
		}}
	}
	times := timing.Interleave([]timing.Loop{
		pass(func() ([]byte, error) { return codec.Seal(dst, data, key) }),
		pass(func() ([]byte, error) { return codec.Unseal(dst, sealed, key) }),
	}, b.rounds, true, timing.CPU)
	b.note("codec.Seal", gigabytes, 1/times[0])
	b.note("codec.Unseal", gigabytes, 1/times[1])
	return nil
}

const smallStriped = `Inserts into 64 stripes with a lock each. A million keys fit into the caches of one core: two
	cores then gain nothing, since they pass every line to each other.`

func composeExperiments() []experiment {
	return []experiment{
		{"window", 4_000_000, `A Window of 256 MiB with six generations that lie interleaved, beside six filters of the same
			size. Hashes, in batches.`, window},
		{"striped", 1_000_000, smallStriped, striped},
		{"striped", 10_000_000, `The same with a table that is larger than the caches of one core.`, striped},
		{"seal", 64 << 20, "Encrypting and decrypting 64 MiB in memory, on one core.", seal},
	}
}

func composeAims() []aim {
	var all []aim
	for _, what := range []string{batch + ", hits", batch + ", misses"} {
		all = append(all, atMost(0.6, "Window of 6 generations, 256 MiB, time over "+sixInTurn+", "+what,
			over(at("window/n=4000000", oursWindow, what), at("window/n=4000000", sixInTurn, what))))
	}
	for _, who := range []string{"codec.Seal", "codec.Unseal"} {
		all = append(all, atLeast(1, who+", "+gigabytes, figureAt(at("seal/n=67108864", who, gigabytes))))
	}
	all = append(all, atMost(1.33, "Striped cuckoo, 10 M keys, CPU time of 2 goroutines over 1",
		over(at("striped/n=10000000", oursStriped, twoWriters+", CPU time"), at("striped/n=10000000", oursStriped, oneWriter+", CPU time"))))
	return append(all, atLeast(1.5, "Striped cuckoo, 10 M keys, 2 goroutines over 1",
		over(at("striped/n=10000000", oursStriped, oneWriter), at("striped/n=10000000", oursStriped, twoWriters))))
}
