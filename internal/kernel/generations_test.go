package kernel

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// Every filter of a Generations answers as a filter of its own.
func TestGenerationsAgree(t *testing.T) {
	for _, tier := range tiers() {
		t.Run(tier, func(t *testing.T) {
			use(t, tier)
			generationsAgree(t)
		})
	}
}

func generationsAgree(t *testing.T) {
	t.Helper()
	for _, ways := range []int{1, 2, 3, 6, 7, 8, 13, MaxWays} {
		for k := 1; k <= MaxK; k++ {
			blocked := generationsCase{ways: ways, k: k, shift: k & 7}
			a := newArena(blocks37*ways, blocked.shift)
			blocked.array, blocked.intact = NewGenerations(a.blocks, ways), a.intact
			blocked.apart = apartBlocked(ways, k)
			blocked.check(t)
		}
		split := generationsCase{ways: ways, k: SplitK, shift: 0}
		words := make([]uint64, 4*blocks37*ways)
		split.array, split.intact = NewSplitGenerations(SplitBlocks(words), ways), func(int) bool { return true }
		split.apart = apartSplit(ways)
		split.check(t)
	}
}

// blocks37 is a number of blocks that no power of two divides.
const blocks37 = 37

// one is a filter by itself.
type one struct {
	set   func(h uint64) bool
	has   func(h uint64) bool
	clear func()
	ones  func(i uint64) uint64
}

func apartBlocked(ways, k int) []one {
	all := make([]one, ways)
	for i := range all {
		blocks := make([]Block, blocks37)
		all[i] = one{
			func(h uint64) bool { return goSet(blocks, k, h) },
			func(h uint64) bool { return goHas(blocks, k, h) },
			func() { clear(blocks) },
			func(i uint64) uint64 { return ones(blocks[i][:]) },
		}
	}
	return all
}

func apartSplit(ways int) []one {
	all := make([]one, ways)
	for i := range all {
		blocks := make([]SplitBlock, blocks37)
		all[i] = one{
			func(h uint64) bool { return goSetSplit(blocks, h) },
			func(h uint64) bool { return goHasSplit(blocks, h) },
			func() { clear(blocks) },
			func(i uint64) uint64 { return ones(blocks[i][:]) },
		}
	}
	return all
}

// generationsCase is a Generations and the same filters apart.
type generationsCase struct {
	ways, k, shift int
	array          Generations
	intact         func(shift int) bool
	apart          []one
}

func (c generationsCase) check(t *testing.T) {
	t.Helper()
	g, ways, k := c.array, c.ways, c.k
	r := rand.New(rand.NewPCG(uint64(ways), uint64(k)))
	asked := make([]uint64, 0, 600)
	for _, h := range hashes(r, 300+k) {
		way := r.IntN(ways)
		if got, want := g.Set(k, way, h), c.apart[way].set(h); got != want {
			t.Fatalf("%d ways, k %d: Set = %v, want %v", ways, k, got, want)
		}
		asked = append(asked, h, r.Uint64())
	}
	g.Clear(ways / 2)
	c.apart[ways/2].clear()
	dst := make([]bool, len(asked)+1)
	dst[len(asked)] = true
	g.FindAll(dst, k, asked)
	for i, h := range asked {
		var want uint64
		for way := range c.apart {
			if c.apart[way].has(h) {
				want |= 1 << way
			}
		}
		if got := g.Find(k, h); got != want || dst[i] != (want != 0) {
			t.Fatalf("%d ways, k %d: Find = %b, FindAll %v, want %b", ways, k, got, dst[i], want)
		}
	}
	if !dst[len(asked)] || !c.intact(c.shift) {
		t.Fatalf("%d ways, k %d: something was written outside of the array or of dst", ways, k)
	}
	for way := range c.apart {
		for b := range uint64(blocks37) {
			if got, want := g.Ones(way, b), c.apart[way].ones(b); got != want {
				t.Fatalf("%d ways, k %d: block %d of filter %d has %d bits set, want %d", ways, k, b, way, got, want)
			}
		}
	}
}

func TestGenerationsPanics(t *testing.T) {
	blocks := make([]Block, 6)
	g := NewGenerations(blocks, 3)
	g.FindAll(make([]bool, 2), 5, make([]uint64, 2)) // as long as it must be
	halves := NewSplitGenerations(make([]SplitBlock, 6), 3)
	for name, f := range map[string]func(){
		"no ways":    func() { NewGenerations(blocks, 0) },
		"many ways":  func() { NewGenerations(make([]Block, 65), 65) },
		"no blocks":  func() { NewGenerations(nil, 3) },
		"uneven":     func() { NewGenerations(blocks, 4) },
		"no halves":  func() { NewSplitGenerations(nil, 3) },
		"odd halves": func() { NewSplitGenerations(make([]SplitBlock, 7), 3) },
		"half way":   func() { halves.Set(0, 3, 1) },
		"k 0":        func() { g.Find(0, 1) },
		"k 17":       func() { g.FindAll(nil, 17, nil) },
		"short dst":  func() { g.FindAll(make([]bool, 1), 5, make([]uint64, 2)) },
		"no way":     func() { g.Set(5, 3, 1) },
		"way below":  func() { g.Set(5, -1, 1) },
		"set with k": func() { g.Set(0, 0, 1) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			f()
		}()
	}
}

// BenchmarkGenerations compares one array of several generations with as many
// filters that are asked in turn, 256 MiB in all.
func BenchmarkGenerations(b *testing.B) {
	for _, size := range []int{1 << 20, 16 << 20, 256 << 20} {
		for _, k := range []int{6, 9} {
			benchGenerations(b, size, 6, k)
		}
	}
}

func benchGenerations(b *testing.B, size, ways, k int) {
	blocks := uint64(size / 64 / ways)
	g := NewGenerations(make([]Block, int(blocks)*ways), ways)
	apart := make([][]Block, ways)
	r := rand.New(rand.NewPCG(1, 2))
	fill := func(w []uint64) {
		for i := range w {
			w[i] = r.Uint64()
		}
	}
	fill(Words(g.blocks))
	for i := range apart {
		apart[i] = make([]Block, blocks)
		fill(Words(apart[i]))
	}
	hs := make([]uint64, 1<<16)
	fill(hs)
	dst, one := make([]bool, len(hs)), make([]bool, len(hs))
	name := fmt.Sprintf("size=%dMiB/k=%d", size>>20, k)
	b.Run(name+"/impl=interleaved", func(b *testing.B) {
		for b.Loop() {
			g.FindAll(dst, k, hs)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(hs)), "ns/key")
	})
	halves := NewSplitGenerations(SplitBlocks(Words(g.blocks)), ways)
	b.Run(name+"/impl=interleaved-split", func(b *testing.B) {
		for b.Loop() {
			halves.FindAll(dst, k, hs)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(hs)), "ns/key")
	})
	b.Run(name+"/impl=in-turn", func(b *testing.B) {
		for b.Loop() {
			HasAll(dst, apart[0], k, hs)
			for _, f := range apart[1:] {
				HasAll(one, f, k, hs)
				for i, v := range one {
					dst[i] = dst[i] || v
				}
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(hs)), "ns/key")
	})
}
