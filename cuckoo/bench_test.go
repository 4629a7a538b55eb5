package cuckoo_test

import (
	"fmt"
	"testing"

	"github.com/bloomery/bloomery/cuckoo"
)

// The benchmarks vary the size across the caches and the width across the ways
// of reading a bucket: whole bytes, half bytes, two words. The comparison with
// other libraries is in bench/.

func BenchmarkFilter(b *testing.B) {
	for _, n := range []int{100_000, 1_000_000, 10_000_000} {
		for _, width := range []int{8, 13, 16, 32} {
			benchmark(b, n, width)
		}
	}
}

func benchmark(b *testing.B, n, width int) {
	b.Helper()
	name := fmt.Sprintf("n=%d/width=%d", n, width)
	fresh := func() *cuckoo.Filter {
		f, err := cuckoo.Config{Buckets: uint64(n)*100/95/4 + 1, Width: width}.New()
		if err != nil {
			b.Fatal(err)
		}
		return f
	}
	in, out := hashes(n, 1), hashes(1<<16, 2)
	f := fresh()
	b.Run("op=insert/load=0.95/"+name, func(b *testing.B) {
		for b.Loop() {
			f = fresh()
			for _, h := range in {
				if err := f.InsertHash(h); err != nil {
					b.Fatal(err)
				}
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/key")
		b.ReportMetric(float64(f.Stats().Bits)/float64(n), "bits/key")
	})
	dst := make([]bool, 4096)
	for hit, hs := range [][]uint64{out, in} {
		b.Run(fmt.Sprintf("op=contains/hit=%d/", hit)+name, func(b *testing.B) {
			i := 0
			for b.Loop() {
				f.ContainsHash(hs[i])
				i = (i + 1) % 65536
			}
		})
		b.Run(fmt.Sprintf("op=containsBatch/hit=%d/", hit)+name, func(b *testing.B) {
			i := 0
			for b.Loop() {
				f.ContainsHashes(dst, hs[i:i+4096])
				i = (i + 4096) % 61440
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/4096, "ns/key")
		})
	}
	b.Run("op=delete/"+name, func(b *testing.B) {
		i := 0
		for b.Loop() {
			f.DeleteHash(in[i])
			if err := f.InsertHash(in[i]); err != nil {
				b.Fatal(err)
			}
			i = (i + 1) % 65536
		}
	})
}
