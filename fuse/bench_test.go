package fuse_test

import (
	"fmt"
	"testing"

	"github.com/bloomery/bloomery/fuse"
)

// The benchmarks vary the size across the caches; the comparison with other
// libraries is in bench/.

var sizes = []int{10_000, 1_000_000, 10_000_000}

func BenchmarkContains(b *testing.B) {
	for _, n := range sizes {
		in, out := random(n, 1), random(1<<16, 2)
		for _, arity := range []int{3, 4} {
			f := built(b, fuse.Config[uint8]{Arity: arity}, in)
			dst := make([]bool, 4096)
			for hit, hs := range [][]uint64{out, in} {
				hs = hs[:min(len(hs), 1<<16)]
				b.Run(fmt.Sprintf("op=contains/arity=%d/n=%d/hit=%d", arity, n, hit), func(b *testing.B) {
					i := 0
					for b.Loop() {
						f.ContainsHash(hs[i])
						if i++; i == len(hs) {
							i = 0
						}
					}
				})
				b.Run(fmt.Sprintf("op=containsBatch/arity=%d/n=%d/hit=%d", arity, n, hit), func(b *testing.B) {
					i := 0
					for b.Loop() {
						f.ContainsHashes(dst, hs[i:i+4096])
						if i += 4096; i+4096 > len(hs) {
							i = 0
						}
					}
					b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/4096, "ns/key")
				})
			}
		}
	}
}

func BenchmarkBuild(b *testing.B) {
	for _, n := range sizes {
		hs, work := random(n, 1), make([]uint64, n)
		for _, arity := range []int{3, 4} {
			for _, workers := range []int{1, 2} {
				b.Run(fmt.Sprintf("arity=%d/n=%d/shards=%d", arity, n, workers), func(b *testing.B) {
					var builder fuse.Builder[uint8]
					b.ReportAllocs()
					var bits uint64
					for b.Loop() {
						copy(work, hs)
						f, err := builder.Build(b.Context(), fuse.Config[uint8]{Arity: arity, Shards: workers, Workers: workers}, work)
						if err != nil {
							b.Fatal(err)
						}
						bits = f.Stats().Bits
					}
					b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/key")
					b.ReportMetric(float64(bits)/float64(n), "bits/key")
				})
			}
		}
	}
}
