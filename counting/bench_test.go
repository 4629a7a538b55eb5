package counting_test

import (
	"fmt"
	"testing"

	"github.com/bloomery/bloomery/counting"
)

// The comparison with other libraries is in bench/.

var sizes = []int{100_000, 1_000_000, 10_000_000}

func BenchmarkFilter(b *testing.B) {
	for _, n := range sizes {
		f := counting.New(n, 0.01)
		in, out := hashes(n, 1), hashes(1<<16, 2)
		insert(b, f, in)
		dst := make([]bool, 4096)
		one := func(name string, run func(i int)) {
			b.Run(fmt.Sprintf("op=%s/n=%d", name, n), func(b *testing.B) {
				b.ReportAllocs()
				i := 0
				for b.Loop() {
					run(i)
					i = (i + 1) % 65536
				}
				b.ReportMetric(float64(f.Stats().Bits)/float64(n), "bits/key")
			})
		}
		one("contains/hit=1", func(i int) { f.ContainsHash(in[i]) })
		one("contains/hit=0", func(i int) { f.ContainsHash(out[i]) })
		one("count/hit=1", func(i int) { f.CountHash(in[i]) })
		one("insertAndDelete", func(i int) {
			_ = f.InsertHash(out[i]) // no counter of 4 bits fills up here
			f.DeleteHash(out[i])
		})
		b.Run(fmt.Sprintf("op=insert/n=%d", n), func(b *testing.B) {
			g, i := counting.New(n, 0.01), 0
			for b.Loop() {
				_ = g.InsertHash(in[i])
				if i++; i == n {
					b.StopTimer()
					g.Clear()
					i = 0
					b.StartTimer()
				}
			}
		})
		b.Run(fmt.Sprintf("op=containsBatch/n=%d/hit=0", n), func(b *testing.B) {
			perKey(b, func(i int) { f.ContainsHashes(dst, out[i:i+4096]) })
		})
	}
}

func BenchmarkSpectral(b *testing.B) {
	for _, n := range sizes[:2] {
		f := counting.NewSpectral(n, 0.01)
		in := hashes(n, 1)
		insert(b, f, in)
		for name, run := range map[string]func(h uint64){
			"insert":   func(h uint64) { _ = f.InsertHash(h) },
			"count":    func(h uint64) { f.CountHash(h) },
			"contains": func(h uint64) { f.ContainsHash(h) },
		} {
			each(b, fmt.Sprintf("op=%s/n=%d", name, n), in, run)
		}
	}
}

func BenchmarkStable(b *testing.B) {
	for _, n := range sizes[:2] {
		f := counting.NewStable(n, 0.01)
		in := hashes(n, 1)
		insert(b, f, in)
		each(b, fmt.Sprintf("op=insert/n=%d", n), in, func(h uint64) { _ = f.InsertHash(h) })
		each(b, fmt.Sprintf("op=contains/n=%d", n), in, func(h uint64) { f.ContainsHash(h) })
	}
}

// each runs one hash after the other.
func each(b *testing.B, name string, hs []uint64, run func(h uint64)) {
	b.Helper()
	b.Run(name, func(b *testing.B) {
		b.ReportAllocs()
		i := 0
		for b.Loop() {
			run(hs[i])
			if i++; i == len(hs) {
				i = 0
			}
		}
	})
}

// perKey runs batches of 4096 and reports the time per key.
func perKey(b *testing.B, run func(i int)) {
	b.Helper()
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		run(i)
		i = (i + 4096) % 61440
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/4096, "ns/key")
}
