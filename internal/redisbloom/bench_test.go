package redisbloom_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/bloomery/bloomery/internal/redisbloom"
)

// benchBloom returns a full filter, digests of its items and of absent ones.
func benchBloom(b *testing.B, n int) (f *redisbloom.Bloom, in, out []redisbloom.Digest) {
	b.Helper()
	f = newBloom(b, redisbloom.BloomParams{ErrorRate: 0.01, Capacity: uint64(n), Expansion: 2})
	in, out = make([]redisbloom.Digest, n), make([]redisbloom.Digest, n)
	for i := range n {
		in[i] = redisbloom.BloomDigest(fmt.Appendf(nil, "key:%012d", i))
		out[i] = redisbloom.BloomDigest(fmt.Appendf(nil, "not:%012d", i))
		if _, err := f.AddDigest(in[i]); err != nil {
			b.Fatal(err)
		}
	}
	return f, in, out
}

func perKey(b *testing.B, keys int) {
	b.Helper()
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*keys), "ns/key")
	b.ReportAllocs()
}

func BenchmarkBloomDigest(b *testing.B) {
	for _, n := range []int{5, 16, 100} {
		b.Run(fmt.Sprintf("len=%d", n), func(b *testing.B) {
			key := make([]byte, n)
			var sum uint64
			for b.Loop() {
				d := redisbloom.BloomDigest(key)
				key[0]++
				sum += d.B
			}
			perKey(b, 1)
			_ = sum
		})
	}
}

func BenchmarkBloomContains(b *testing.B) {
	for _, n := range []int{1e2, 1e4, 1e6} {
		f, in, out := benchBloom(b, n)
		// Every second item is there, in no order that could be foretold.
		rng := rand.New(rand.NewPCG(1, 2))
		half := make([]redisbloom.Digest, n)
		for i := range half {
			if half[i] = in[i]; rng.IntN(2) == 0 {
				half[i] = out[i]
			}
		}
		for name, ds := range map[string][]redisbloom.Digest{"1": in, "0.5": half, "0": out} {
			b.Run(fmt.Sprintf("n=%.0e/hit=%s/batch=1", float64(n), name), func(b *testing.B) {
				i, hits := 0, 0
				for b.Loop() {
					if f.ContainsDigest(ds[i]) {
						hits++
					}
					if i++; i == len(ds) {
						i = 0
					}
				}
				perKey(b, 1)
			})
			b.Run(fmt.Sprintf("n=%.0e/hit=%s/batch=100", float64(n), name), func(b *testing.B) {
				dst := make([]bool, 100)
				i := 0
				for b.Loop() {
					f.ContainsDigests(dst, ds[i:i+100])
					if i += 100; i == len(ds) {
						i = 0
					}
				}
				perKey(b, 100)
			})
		}
	}
}

func BenchmarkBloomAdd(b *testing.B) {
	for _, n := range []int{1e4, 1e6} {
		_, in, _ := benchBloom(b, n)
		b.Run(fmt.Sprintf("n=%.0e/batch=100", float64(n)), func(b *testing.B) {
			dst := make([]bool, 100)
			var f *redisbloom.Bloom
			i := 0
			for b.Loop() {
				if i == 0 {
					f = newBloom(b, redisbloom.BloomParams{ErrorRate: 0.01, Capacity: uint64(n), Expansion: 2})
				}
				if _, err := f.AddDigests(dst, in[i:i+100], 0); err != nil {
					b.Fatal(err)
				}
				if i += 100; i == n {
					i = 0
				}
			}
			perKey(b, 100)
		})
	}
}

func BenchmarkBloomNew(b *testing.B) {
	for b.Loop() {
		newBloom(b, redisbloom.BloomParams{ErrorRate: 0.01, Capacity: 100, Expansion: 2})
	}
	b.ReportAllocs()
}

func BenchmarkCuckooContains(b *testing.B) {
	for _, filters := range []int{1, 32, 20000} {
		c := newCuckoo(b, redisbloom.CuckooParams{Capacity: 4, BucketSize: 2, MaxIterations: 1, Expansion: 1})
		h := redisbloom.CuckooDigest([]byte("hello"))
		for c.Filters() < filters {
			if err := c.InsertDigest(h); err != nil {
				b.Fatal(err)
			}
		}
		absent := redisbloom.CuckooDigest([]byte("absent"))
		b.Run(fmt.Sprintf("filters=%d/hit=0", filters), func(b *testing.B) {
			for b.Loop() {
				if c.ContainsDigest(absent) {
					b.Fatal("absent item found")
				}
			}
			b.ReportAllocs()
		})
	}
}

func BenchmarkCuckooInsert(b *testing.B) {
	const n = 1e5
	hs := make([]uint64, n)
	for i := range hs {
		hs[i] = redisbloom.CuckooDigest(item(i))
	}
	var c *redisbloom.Cuckoo
	i := 0
	for b.Loop() {
		if i == 0 {
			c = newCuckoo(b, redisbloom.CuckooParams{Capacity: n, BucketSize: 2, MaxIterations: 20, Expansion: 1})
		}
		if err := c.InsertDigest(hs[i]); err != nil {
			b.Fatal(err)
		}
		if i++; i == n {
			i = 0
		}
	}
	b.ReportAllocs()
}
