package health_test

import (
	"encoding"
	"flag"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/server/internal/health"
)

// alarms is how many times as much is simulated.
var alarms = flag.Int("alarms", 1, "how many times as many filters and windows the tests of false alarms simulate")

// random returns a source of numbers for a test.
func random(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 17)) }

// rarely checks that something surprised by s digits in no more than 10^-s of all
// cases, within six standard deviations, for every whole s up to the limit.
func rarely(t *testing.T, what string, by []float64, limit float64) {
	t.Helper()
	for s := 1.0; s <= limit; s++ {
		over := 0
		for _, v := range by {
			if v >= s {
				over++
			}
		}
		if expected := math.Pow(10, -s) * float64(len(by)); float64(over) > expected+6*math.Sqrt(expected) {
			t.Errorf("%s: %d of %d surprise by %.0f digits, want %.3g at most", what, over, len(by), s, expected)
		}
	}
}

// TestWindowsRarelySurprise has rates that are exactly at the limit: no window is
// further over it than chance allows. The alarm takes two in a row, see docs/health.md.
func TestWindowsRarelySurprise(t *testing.T) {
	r := random(1)
	windows := 20_000 * *alarms
	for _, limit := range []float64{0.3, 0.01, 1e-3, 1e-5} {
		n := min(int(math.Ceil(health.WindowYes/limit)), health.WindowMost)
		by := make([]float64, windows)
		for i := range by {
			by[i] = health.Surprise(binomial(r, n, limit), n, limit)
		}
		rarely(t, "windows", by, health.SixSigmas)
	}
}

// binomial returns how many of n answers are positive, by the gaps between them.
func binomial(r *rand.Rand, n int, p float64) (yes int) {
	for at := 0.0; ; yes++ {
		if at += 1 + math.Floor(math.Log(1-r.Float64())/math.Log1p(-p)); at > float64(n) {
			return yes
		}
	}
}

// TestSkewRarelySurprises fills blocked filters with random keys and looks at them ten
// times: the skew of random keys is as rare as it claims.
func TestSkewRarelySurprises(t *testing.T) {
	r := random(2)
	for _, keys := range []int{100, 1000, 20_000} {
		filters := 400_000 / keys * *alarms
		f, g := bloom.New(keys, 0.01), bloom.NewSplit(keys, 0.01)
		var by []float64
		for range filters {
			f.Clear()
			g.Clear()
			for range 10 {
				for range keys / 10 {
					h := r.Uint64()
					f.AddHash(h)
					g.AddHash(h)
				}
				by = append(by, f.Stats().Skew, g.Stats().Skew)
			}
		}
		rarely(t, "skew", by, health.AimedSkew)
	}
}

// TestNoAlarmOnRandomLoad fills small filters with random keys up to their capacity
// while a Keeper measures them for an hour: none has an anomaly.
func TestNoAlarmOnRandomLoad(t *testing.T) {
	s := newSource()
	flat := bloom.NewStandard(500, 0.05)
	const each = 200
	var list []*filter
	for range each * *alarms {
		list = append(list, s.add(sized.Clone()), s.add(flat.Clone()))
	}
	k := s.keeper()
	const rounds = 5
	for round := range rounds {
		for i, f := range list {
			f.fill(int(f.hashed.Stats().Capacity)/rounds, uint64(round*len(list)+i))
		}
		s.run(k, 10*time.Minute)
		k.Reports(func(id uint64, r *health.Report) {
			if r.Anomaly != 0 {
				t.Errorf("filter %d in round %d: %v, %d of %d items, skew %v, rate %v of %v", id, round, r.Anomaly, r.Items, r.Capacity, r.Skew, r.Probed, r.Asked)
			}
		})
	}
	t.Logf("%d filters, %d probes, %d positive, %d evaluations", len(list), k.Totals().Probes, k.Totals().Positives, k.Totals().Evaluations)
}

// TestLuck fills filters of every kind with random keys, as many as they are made for:
// the logarithms of their rates spread no more than the limit assumes, and the rate of
// none is over it.
func TestLuck(t *testing.T) {
	if testing.Short() {
		t.Skip("statistics are done once, without -short")
	}
	r := random(3)
	for _, kind := range codec.Kinds() {
		if kind.New == nil || kind.Features.Forget || kind.Features.Expire || kind.Features.Grow {
			continue
		}
		for _, c := range []struct {
			keys int
			p    float64
		}{{200, 0.1}, {500, 0.01}, {500, 0.001}} {
			f, err := kind.New(c.keys, c.p, hashing.Hasher{})
			if err != nil {
				t.Fatal(err)
			}
			empty, err := f.(encoding.BinaryMarshaler).MarshalBinary()
			if err != nil {
				t.Fatal(err)
			}
			limit := health.RateLimit(health.Look{Stats: f.Stats()})
			sigma := math.Log(limit/1.02/c.p) / 6
			runs := 20 * *alarms
			var sum, squares, most float64
			for range runs {
				if f, err = codec.Open(empty); err != nil {
					t.Fatal(err)
				}
				fillHashed(f, c.keys, r)
				rate := rateOf(f, int(300/c.p), r)
				log := math.Log(max(rate, c.p/1000))
				sum, squares, most = sum+log, squares+log*log, max(most, rate)
			}
			n := float64(runs)
			// The variance of 300 positive answers is not that of the filter.
			spread := math.Sqrt(max(squares/n-sum/n*sum/n-1.0/300, 0))
			t.Logf("%-12s %d keys at %-5g: spread %.3f of %.3f, at most %.2f of the limit", kind.Name, c.keys, c.p, spread, sigma, most/limit)
			if most > limit || spread > sigma*(1+3/math.Sqrt(2*n)) {
				t.Errorf("%s of %d keys at %v: a spread of %.3f, want %.3f; at most %.2f of the limit", kind.Name, c.keys, c.p, spread, sigma, most/limit)
			}
		}
	}
}

// rateOf returns the share of n random digests that a filter has.
func rateOf(f bloomery.Hashed, n int, r *rand.Rand) float64 {
	var found [1024]bool
	var hashes [1024]uint64
	yes, asked := 0, 0
	for ; asked < n; asked += len(hashes) {
		for i := range hashes {
			hashes[i] = r.Uint64()
		}
		f.ContainsHashes(found[:], hashes[:])
		for _, v := range found {
			if v {
				yes++
			}
		}
	}
	return float64(yes) / float64(asked)
}

// fillHashed adds n random keys.
func fillHashed(f bloomery.Hashed, n int, r *rand.Rand) {
	for range n {
		switch f := f.(type) {
		case bloomery.Adder:
			f.AddHash(r.Uint64())
		case bloomery.Inserter:
			_ = f.InsertHash(r.Uint64()) // a full one is full enough
		}
	}
}
