package redisbloom_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/bloomery/bloomery/internal/redisbloom"
)

// half returns a filter of n items, which has room for many more, and
// digests every second of which is in it.
func half(tb testing.TB, n int, bucket uint16) (*redisbloom.Cuckoo, []uint64) {
	tb.Helper()
	c, err := redisbloom.NewCuckoo(redisbloom.CuckooParams{Capacity: uint64(16 * n), BucketSize: bucket, MaxIterations: 20})
	if err != nil {
		tb.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(15, 16))
	hs := make([]uint64, 2*n)
	for i := range hs {
		if hs[i] = rng.Uint64(); i%2 == 0 {
			if err := c.InsertDigest(hs[i]); err != nil {
				tb.Fatal(err)
			}
		}
	}
	return c, hs
}

// TestCuckooBatches asks that a batch answers what its digests do one by one, for
// every bucket size that is compared in its own way, and with several sub-filters.
func TestCuckooBatches(t *testing.T) {
	for _, bucket := range []uint16{1, 2, 3, 4} {
		for _, n := range []int{50, 500, 20_000} {
			c, hs := half(t, n, bucket)
			dst := make([]bool, len(hs))
			c.ContainsDigests(dst, hs)
			misses := 0
			for i, h := range hs {
				if want := c.ContainsDigest(h); dst[i] != want || i%2 == 0 && !want {
					t.Fatalf("buckets of %d, %d items: digest %d is %t, alone %t", bucket, n, i, dst[i], want)
				}
				if !dst[i] {
					misses++
				}
			}
			if misses < n/2 {
				t.Errorf("buckets of %d, %d items: %d of as many others are not there", bucket, n, misses)
			}
		}
	}
	c := newCuckoo(t, redisbloom.CuckooParams{Capacity: 16, BucketSize: 2, MaxIterations: 5, Expansion: 1})
	_, hs := half(t, 100, 2)
	for _, h := range hs[:50] {
		if err := c.InsertDigest(h); err != nil {
			t.Fatal(err)
		}
	}
	dst := make([]bool, len(hs))
	c.ContainsDigests(dst, hs)
	for i, h := range hs {
		if dst[i] != c.ContainsDigest(h) || i < 50 && !dst[i] {
			t.Fatalf("%d sub-filters: digest %d is %t", c.Filters(), i, dst[i])
		}
	}
}

// BenchmarkCuckooBatches compares a batch of 64 with as many single questions,
// half of whose items are there.
func BenchmarkCuckooBatches(b *testing.B) {
	for _, n := range []int{50_000, 4_000_000} {
		c, hs := half(b, n, 2)
		dst := make([]bool, 64)
		b.Run(fmt.Sprint("batch/", n), func(b *testing.B) {
			at := 0
			for range b.N {
				c.ContainsDigests(dst, hs[at:at+64])
				if at += 64; at+64 > len(hs) {
					at = 0
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/64, "ns/item")
		})
		b.Run(fmt.Sprint("single/", n), func(b *testing.B) {
			at := 0
			for range b.N {
				for i, h := range hs[at : at+64] {
					dst[i] = c.ContainsDigest(h)
				}
				if at += 64; at+64 > len(hs) {
					at = 0
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/64, "ns/item")
		})
	}
}
