package ribbon_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/bloomery/bloomery/ribbon"
)

func BenchmarkContains(b *testing.B) {
	const batch = 4096
	for _, n := range []int{1_000_000, 10_000_000} {
		for _, width := range []int{64, 128} {
			hs := hashes(n, 1)
			f := built(b, ribbon.Config{ErrorRate: 1. / 256, Width: width}, hs)
			for hit, asked := range [][]uint64{hashes(1<<19, 2), hs[:1<<19]} {
				name := fmt.Sprintf("n=%.0e/width=%d/hit=%d", float64(n), width, hit)
				b.Run(name+"/call=single", func(b *testing.B) {
					b.ReportAllocs()
					i, yes := 0, 0
					for b.Loop() {
						if f.ContainsHash(asked[i&(len(asked)-1)]) {
							yes++
						}
						i++
					}
					_ = yes
				})
				b.Run(name+"/call=batch", func(b *testing.B) {
					b.ReportAllocs()
					dst := make([]bool, batch)
					i := 0
					for b.Loop() {
						f.ContainsHashes(dst, asked[i:i+batch])
						i = (i + batch) & (len(asked) - 1)
					}
					b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/batch, "ns/key")
				})
			}
		}
	}
}

func BenchmarkBuild(b *testing.B) {
	for _, n := range []int{1_000_000, 10_000_000} {
		for _, width := range []int{64, 128} {
			for _, workers := range []int{1, 2} {
				hs := hashes(n, 1)
				b.Run(fmt.Sprintf("n=%.0e/width=%d/workers=%d", float64(n), width, workers), func(b *testing.B) {
					c := ribbon.Config{ErrorRate: 1. / 256, Width: width, Workers: workers}
					var bits uint64
					for b.Loop() {
						f, err := c.Build(context.Background(), hs)
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

// BenchmarkMap compares a map of 8-bit values at 1/256 with a filter of as many
// columns.
func BenchmarkMap(b *testing.B) {
	const n, asked = 10_000_000, 1 << 19
	hs := hashes(n, 1)
	m := mapped(b, ribbon.Config{ErrorRate: 1. / 256, ValueBits: 8}, hs)
	f := built(b, ribbon.Config{ErrorRate: 1. / 65536}, hs)
	values, ok := make([]uint32, 4096), make([]bool, 4096)
	for hit, keys := range [][]uint64{hashes(asked, 2), hs[:asked]} {
		single := func(ask func(h uint64)) func(b *testing.B) {
			return func(b *testing.B) {
				for i := 0; b.Loop(); i++ {
					ask(keys[i&(asked-1)])
				}
			}
		}
		batch := func(ask func(hs []uint64)) func(b *testing.B) {
			return func(b *testing.B) {
				for i := 0; b.Loop(); i += len(ok) {
					ask(keys[i&(asked-1):][:len(ok)])
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(ok)), "ns/key")
			}
		}
		name := fmt.Sprintf("hit=%d/call=", hit)
		b.Run("map/"+name+"single", single(func(h uint64) { m.GetHash(h) }))
		b.Run("ribbon/"+name+"single", single(func(h uint64) { f.ContainsHash(h) }))
		b.Run("map/"+name+"batch", batch(func(hs []uint64) { m.GetHashes(values, ok, hs) }))
		b.Run("ribbon/"+name+"batch", batch(func(hs []uint64) { f.ContainsHashes(ok, hs) }))
	}
	b.ReportMetric(float64(m.Stats().Bits)/n, "bits/key")
}
