package kernel

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

func benchmark(b *testing.B, f func(blocks []Block, k int, hs []uint64, dst []bool)) {
	b.Helper()
	for _, k := range []int{6, 8, 12} {
		for _, mib := range []int{1, 64} {
			for _, tier := range tiers() {
				b.Run(fmt.Sprintf("k=%d/mib=%d/impl=%s", k, mib, tier), func(b *testing.B) {
					use(b, tier)
					r := rand.New(rand.NewPCG(6, 6))
					blocks := make([]Block, mib<<20/64)
					for i := range blocks {
						for j := range blocks[i] {
							blocks[i][j] = r.Uint64()
						}
					}
					hs := make([]uint64, 1<<16)
					for i := range hs {
						hs[i] = r.Uint64()
					}
					dst := make([]bool, len(hs))
					b.ReportAllocs()
					for b.Loop() {
						f(blocks, k, hs, dst)
					}
					keys := float64(b.N) * float64(len(hs))
					b.ReportMetric(float64(b.Elapsed().Nanoseconds())/keys, "ns/key")
				})
			}
		}
	}
}

func BenchmarkHas(b *testing.B) {
	benchmark(b, func(blocks []Block, k int, hs []uint64, dst []bool) {
		for i, h := range hs {
			dst[i] = Has(blocks, k, h)
		}
	})
}

func BenchmarkSet(b *testing.B) {
	benchmark(b, func(blocks []Block, k int, hs []uint64, dst []bool) {
		for i, h := range hs {
			dst[i] = Set(blocks, k, h)
		}
	})
}

func BenchmarkHasAll(b *testing.B) {
	benchmark(b, func(blocks []Block, k int, hs []uint64, dst []bool) { HasAll(dst, blocks, k, hs) })
}

func BenchmarkSetAll(b *testing.B) {
	benchmark(b, func(blocks []Block, k int, hs []uint64, dst []bool) { SetAll(nil, blocks, k, hs) })
}

func BenchmarkSetAllFresh(b *testing.B) {
	benchmark(b, func(blocks []Block, k int, hs []uint64, dst []bool) { SetAll(dst, blocks, k, hs) })
}
