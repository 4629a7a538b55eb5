package bloom_test

import (
	"flag"
	"math"
	"testing"
	"time"

	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/sizing"
)

var literature = flag.Bool("literature", false, "run the sizes of the literature in full, up to a billion keys in 1.2 GB, not a thousandth of them")

// TestLiterature makes filters of the sizes that texts name, and holds the rate of each to the one
// that is predicted within 3 standard deviations: those of the questions.
func TestLiterature(t *testing.T) {
	positives := 10_000. // that are expected, so that a standard deviation is 1% of the rate
	if !*literature {
		positives = 100
	}
	for _, c := range []struct {
		n int
		p float64
	}{{1_000_000_000, 0.01}, {500_000, 0.001}, {10_000_000, 0.01}, {100_000_000, 0.001}, {50_000_000, 0.0001}} {
		if !*literature {
			c.n /= 1000
		}
		f := bloom.New(c.n, c.p)
		start := time.Now()
		const batch = 4096
		hashes := make([]uint64, batch)
		fill := func(from, n int) []uint64 {
			for i := range n {
				hashes[i] = hashing.Hasher{}.HashUint64(uint64(from + i))
			}
			return hashes[:n]
		}
		for i := 0; i < c.n; i += batch {
			f.AddHashes(nil, fill(i, min(batch, c.n-i)))
		}
		added := time.Since(start)
		found := make([]bool, batch)
		asked, yes := 0, 0
		start = time.Now()
		for asked < max(10*batch, int(positives/c.p)) {
			f.ContainsHashes(found, fill(c.n+asked, batch))
			asked += batch
			for _, ok := range found {
				if ok {
					yes++
				}
			}
		}
		took := time.Since(start)
		rate, predicted := float64(yes)/float64(asked), f.Shape().Rate(float64(c.n))
		sigma := math.Sqrt(predicted * (1 - predicted) / float64(asked))
		advice, err := sizing.Advise(sizing.Needs{Keys: uint64(c.n), ErrorRate: c.p})
		if err != nil {
			t.Fatal(err)
		}
		exact := advice.Exact[0]
		t.Logf("%d keys at %g%%: %d bytes; rate %.4f%%, predicted %.4f%%, %.1f σ; adds %v, %d lookups %v; a %s of 16-byte keys takes %d bytes: %.1f%% saved",
			c.n, 100*c.p, f.Stats().Bytes, 100*rate, 100*predicted, (rate-predicted)/sigma, added.Round(time.Millisecond), asked, took.Round(time.Millisecond),
			exact.Name, exact.Bytes, 100*(1-float64(f.Stats().Bytes)/float64(exact.Bytes)))
		if math.Abs(rate-predicted) > 3*sigma || predicted > c.p {
			t.Errorf("%d keys at %g: rate %g, predicted %g, %.1f σ", c.n, c.p, rate, predicted, (rate-predicted)/sigma)
		}
	}
}
