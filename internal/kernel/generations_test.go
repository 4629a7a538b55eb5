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
	r := rand.New(rand.NewPCG(1, 2))
	for _, ways := range []int{1, 2, 3, 7, 8, 13, MaxWays} {
		for k := 1; k <= MaxK; k++ {
			const blocks = 37
			a := newArena(blocks*ways, k&7)
			g := NewGenerations(a.blocks, ways)
			apart := make([][]Block, ways)
			for i := range apart {
				apart[i] = make([]Block, blocks)
			}
			asked := make([]uint64, 0, 600)
			for _, h := range hashes(r, 300+k) {
				way := r.IntN(ways)
				if got, want := g.Set(k, way, h), goSet(apart[way], k, h); got != want {
					t.Fatalf("%d ways, k %d: Set = %v, want %v", ways, k, got, want)
				}
				asked = append(asked, h, r.Uint64())
			}
			g.Clear(ways / 2)
			clear(apart[ways/2])
			dst := make([]bool, len(asked)+1)
			dst[len(asked)] = true
			g.FindAll(dst, k, asked)
			for i, h := range asked {
				var want uint64
				for way := range apart {
					if goHas(apart[way], k, h) {
						want |= 1 << way
					}
				}
				if got := g.Find(k, h); got != want || dst[i] != (want != 0) {
					t.Fatalf("%d ways, k %d: Find = %b, FindAll %v, want %b", ways, k, got, dst[i], want)
				}
			}
			if !dst[len(asked)] || !a.intact(k&7) {
				t.Fatalf("%d ways, k %d: something was written outside of the array or of dst", ways, k)
			}
			for way := range apart {
				for b := range apart[way] {
					if *g.Line(way, uint64(b)) != apart[way][b] {
						t.Fatalf("%d ways, k %d: block %d of filter %d differs", ways, k, b, way)
					}
				}
			}
		}
	}
}

func TestGenerationsPanics(t *testing.T) {
	blocks := make([]Block, 6)
	g := NewGenerations(blocks, 3)
	for name, f := range map[string]func(){
		"no ways":    func() { NewGenerations(blocks, 0) },
		"many ways":  func() { NewGenerations(make([]Block, 65), 65) },
		"no blocks":  func() { NewGenerations(nil, 3) },
		"uneven":     func() { NewGenerations(blocks, 4) },
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
