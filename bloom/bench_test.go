package bloom_test

import (
	"fmt"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/bloom"
)

// The benchmarks vary the size across the caches; the comparison with other
// libraries is in bench/.

var sizes = []int{100_000, 1_000_000, 10_000_000}

func BenchmarkFilter(b *testing.B) {
	for _, n := range sizes {
		f := bloom.New(n, 0.01)
		in, out := hashes(n, 1), hashes(1<<16, 2)
		f.AddHashes(nil, in)
		dst := make([]bool, 4096)
		b.Run(fmt.Sprintf("op=contains/n=%d/hit=1", n), func(b *testing.B) {
			i := 0
			for b.Loop() {
				f.ContainsHash(in[i])
				i = (i + 1) % 65536
			}
		})
		b.Run(fmt.Sprintf("op=contains/n=%d/hit=0", n), func(b *testing.B) {
			i := 0
			for b.Loop() {
				f.ContainsHash(out[i])
				i = (i + 1) % 65536
			}
		})
		b.Run(fmt.Sprintf("op=containsBatch/n=%d/hit=0", n), func(b *testing.B) {
			perKey(b, func(i int) { f.ContainsHashes(dst, out[i:i+4096]) })
		})
		b.Run(fmt.Sprintf("op=addBatch/n=%d", n), func(b *testing.B) {
			perKey(b, func(i int) { f.AddHashes(nil, in[i:i+4096]) })
		})
	}
}

func BenchmarkSplit(b *testing.B) {
	for _, n := range sizes {
		s := bloom.NewSplit(n, 0.01)
		in, out := hashes(n, 1), hashes(1<<16, 2)
		s.AddHashes(nil, in)
		dst := make([]bool, 4096)
		b.Run(fmt.Sprintf("op=contains/n=%d/hit=0", n), func(b *testing.B) {
			i := 0
			for b.Loop() {
				s.ContainsHash(out[i])
				i = (i + 1) % 65536
			}
		})
		b.Run(fmt.Sprintf("op=containsBatch/n=%d/hit=0", n), func(b *testing.B) {
			perKey(b, func(i int) { s.ContainsHashes(dst, out[i:i+4096]) })
		})
		b.Run(fmt.Sprintf("op=addBatch/n=%d", n), func(b *testing.B) {
			perKey(b, func(i int) { s.AddHashes(nil, in[i:i+4096]) })
		})
	}
}

func BenchmarkStandard(b *testing.B) {
	flat(b, func(n int) adder { return bloom.NewStandard(n, 0.01) })
}

func BenchmarkPartitioned(b *testing.B) {
	flat(b, func(n int) adder { return bloom.NewPartitioned(n, 0.01) })
}

type adder interface {
	bloomery.Hashed
	bloomery.Adder
}

// flat measures filters that have no batches of their own.
func flat(b *testing.B, fresh func(n int) adder) {
	b.Helper()
	for _, n := range sizes {
		f := fresh(n)
		in, out := hashes(n, 1), hashes(1<<16, 2)
		f.AddHashes(nil, in)
		b.Run(fmt.Sprintf("op=contains/n=%d/hit=1", n), func(b *testing.B) {
			i := 0
			for b.Loop() {
				f.ContainsHash(in[i])
				i = (i + 1) % 65536
			}
		})
		b.Run(fmt.Sprintf("op=contains/n=%d/hit=0", n), func(b *testing.B) {
			i := 0
			for b.Loop() {
				f.ContainsHash(out[i])
				i = (i + 1) % 65536
			}
		})
	}
}

// BenchmarkSliced asks 1024 filters for one key, together and in turn.
func BenchmarkSliced(b *testing.B) {
	const columns, p = 1024, 0.01
	for _, n := range []int{100, 1000, 10_000} {
		s := sliced(columns, n, p)
		filters, standards := make([]*bloom.Filter, columns), make([]*bloom.Standard, columns)
		for i := range columns {
			hs := hashes(n, uint64(i))
			filters[i], standards[i] = bloom.New(n, p), bloom.NewStandard(n, p)
			filters[i].AddHashes(nil, hs)
			standards[i].AddHashes(nil, hs)
			if c, err := s.AddColumn(); err != nil || s.ReplaceColumn(c, standards[i]) != nil {
				b.Fatal(err)
			}
		}
		queries, at := hashes(1<<12, 5000), 0
		next := func() uint64 { at++; return queries[at%len(queries)] }
		dst := make([]uint64, s.Words())
		b.Run(fmt.Sprintf("n=%d/impl=sliced", n), func(b *testing.B) {
			for b.Loop() {
				s.Which(dst, next())
			}
		})
		b.Run(fmt.Sprintf("n=%d/impl=filters", n), func(b *testing.B) {
			for b.Loop() {
				h := next()
				for _, f := range filters {
					f.ContainsHash(h)
				}
			}
		})
		b.Run(fmt.Sprintf("n=%d/impl=standards", n), func(b *testing.B) {
			for b.Loop() {
				h := next()
				for _, f := range standards {
					f.ContainsHash(h)
				}
			}
		})
	}
}

// BenchmarkScalable begins with 1,000 keys and grows to n.
func BenchmarkScalable(b *testing.B) {
	for _, n := range sizes {
		f := bloom.NewScalable(1000, 0.01)
		in, out := hashes(n, 1), hashes(1<<16, 2)
		f.AddHashes(nil, in)
		dst := make([]bool, 4096)
		for hit, hs := range [][]uint64{out, in} {
			b.Run(fmt.Sprintf("op=contains/n=%d/hit=%d", n, hit), func(b *testing.B) {
				i := 0
				for b.Loop() {
					f.ContainsHash(hs[i])
					i = (i + 1) % 65536
				}
				b.ReportMetric(float64(f.Stats().Bits)/float64(n), "bits/key")
			})
			b.Run(fmt.Sprintf("op=containsBatch/n=%d/hit=%d", n, hit), func(b *testing.B) {
				perKey(b, func(i int) { f.ContainsHashes(dst, hs[i:i+4096]) })
			})
		}
	}
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
