package quotient_test

import (
	"fmt"
	"testing"

	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/quotient"
)

// hashes returns n hashes; different seeds give different ones.
func hashes(n int, seed uint64) []uint64 {
	hs := make([]uint64, n)
	h := hashing.Seeded(seed)
	for i := range hs {
		hs[i] = h.HashUint64(uint64(i))
	}
	return hs
}

// filled returns a filter for these keys at rate p that holds them.
func filled(tb testing.TB, hs []uint64, p float64) *quotient.Filter {
	tb.Helper()
	f := quotient.New(len(hs), p)
	for _, h := range hs {
		if err := f.InsertHash(h); err != nil {
			tb.Fatal(err)
		}
	}
	return f
}

// Filters are full to their capacity, 95% of the slots. An insert is the mean
// of all from the first to the last one.
func BenchmarkFilter(b *testing.B) {
	for _, n := range []int{100_000, 1_000_000, 10_000_000} {
		for _, p := range []float64{1e-2, 1e-3, 1e-4} {
			in, out := hashes(n, 1), hashes(1<<16, 2)
			b.Run(fmt.Sprintf("op=insert/n=%d/p=%g", n, p), func(b *testing.B) {
				for b.Loop() {
					filled(b, in, p)
				}
				perKey(b, n)
			})
			f := filled(b, in, p)
			b.Run(fmt.Sprintf("op=contains/n=%d/p=%g/hit=0", n, p), func(b *testing.B) {
				for i := 0; b.Loop(); i = (i + 1) % len(out) {
					f.ContainsHash(out[i])
				}
				b.ReportMetric(float64(f.Stats().Bits)/float64(n), "bits/key")
			})
			b.Run(fmt.Sprintf("op=contains/n=%d/p=%g/hit=1", n, p), func(b *testing.B) {
				for i := 0; b.Loop(); i = (i + 1) % len(out) {
					f.ContainsHash(in[i])
				}
			})
			dst := make([]bool, len(out))
			b.Run(fmt.Sprintf("op=containsBatch/n=%d/p=%g/hit=0", n, p), func(b *testing.B) {
				for b.Loop() {
					f.ContainsHashes(dst, out)
				}
				perKey(b, len(out))
			})
			b.Run(fmt.Sprintf("op=containsBatch/n=%d/p=%g/hit=1", n, p), func(b *testing.B) {
				for b.Loop() {
					f.ContainsHashes(dst, in[:len(out)])
				}
				perKey(b, len(out))
			})
			b.Run(fmt.Sprintf("op=deleteInsert/n=%d/p=%g", n, p), func(b *testing.B) {
				for i := 0; b.Loop(); i = (i + 1) % n {
					if !f.DeleteHash(in[i]) || f.InsertHash(in[i]) != nil {
						b.Fatal("a key is lost")
					}
				}
			})
		}
	}
}

// perKey reports the time for one of n keys.
func perKey(b *testing.B, n int) {
	b.Helper()
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/key")
}
