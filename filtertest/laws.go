package filtertest

import (
	"flag"
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/internal/measuring"
)

// neverForgets fills filters of many sizes to their capacity, and those that
// can grow to twice of it.
func neverForgets(t *testing.T, k Kind) {
	for _, n := range []int{1, 2, 10, 100, 1000, 10_000, 100_000} {
		if testing.Short() && n > 10_000 {
			continue
		}
		for _, p := range k.Rates {
			hs := hashes(n, 1)
			f := k.must(t, hs, n, p)
			if got := missing(f, hs); got > 0 {
				t.Errorf("n = %d, p = %g: %d of %d keys forgotten", n, p, got, n)
			}
			a, ok := f.(bloomery.Adder)
			if !ok {
				continue
			}
			more := hashes(n, 2)
			a.AddHashes(nil, more)
			if got := missing(f, hs) + missing(f, more); got > 0 {
				t.Errorf("n = %d, p = %g, twice over capacity: %d keys forgotten", n, p, got)
			}
		}
	}
}

// long makes rates be measured a few times more exactly.
var long = flag.Bool("filtertest.long", false, "measure false positive rates with 1000 false positives each")

// effort returns how many false positives at rate p are waited for, and how
// many keys the filters hold together: a rate is a mean over filters, and small
// ones differ. The tolerance is in standard deviations and so grows by itself
// where little is measured: 200 false positives have a sigma of 7%, 12 of 29%.
func effort(p float64) (positives float64, keys int) {
	switch {
	case *long:
		return 1000, measuring.Million
	case p < 1e-5:
		return 12, measuring.Million / 10
	case p < 1e-4:
		return 40, measuring.Million / 10
	case testing.Short() || p < 1e-2:
		return 100, measuring.Million / 10
	}
	return 200, measuring.Million / 10
}

// keepsRate holds the mean over fresh filters to the rate asked, and to the
// rate that the filters themselves predict: random keys at every rate, other
// kinds of keys at the highest one, many keys at the lowest one that takes no
// hundred million queries. With -filtertest.long it is all of them at every rate, and
// many are a million; with -short one row, 1% of random keys.
func keepsRate(t *testing.T, k Kind) {
	large := 1.0
	for _, p := range k.Rates {
		if p >= 1e-4 {
			large = min(large, p)
		}
	}
	for _, p := range k.Rates {
		if testing.Short() && p < 1e-2 {
			continue
		}
		if p < 1e-4 { // a row each: so many queries take long
			t.Run(fmt.Sprintf("p=%g/keys=integers/n=100000", p), func(t *testing.T) {
				t.Parallel()
				holdRareRate(t, k, p)
			})
			continue
		}
		for i, keys := range measuring.KeyKinds() {
			sizes := []int{1000}
			switch {
			case i > 0 && !*long && (testing.Short() || p < slices.Max(k.Rates)):
				continue
			case i == 0 && *long:
				sizes = []int{10, 1000, 1_000_000}
			case i == 0 && p == large && !testing.Short():
				sizes = []int{10, 1000, 200_000}
			case i == 0 && !testing.Short():
				sizes = []int{10, 1000}
			}
			for _, n := range sizes {
				t.Run(fmt.Sprintf("p=%g/keys=%s/n=%d", p, keys.Name, n), func(t *testing.T) {
					t.Parallel()
					positives, all := effort(p)
					filters := max(1, all/n)
					if !*long { // the rates of filters of ten keys differ by half: 2% over so many
						filters = min(filters, 500)
					}
					holdRate(t, k, measuring.Plan{Keys: keys, N: n, Filters: filters, Queries: uint64(positives / p), Seed: 3}, p)
				})
			}
		}
	}
}

// holdRate measures and compares with what was asked and what is predicted.
func holdRate(t *testing.T, k Kind, plan measuring.Plan, p float64) {
	t.Helper()
	var hasher hashing.Hasher // the zero one, as in Make
	var predicted float64
	r := measuring.Run(plan, func() measuring.Subject {
		var f bloomery.Hashed
		var members []uint64
		return measuring.Subject{
			Add: func(keys [][]byte) {
				for _, key := range keys {
					members = append(members, hasher.Hash(key))
				}
			},
			Contains: func(dst []bool, keys [][]byte) {
				if f == nil {
					f = k.must(t, members, plan.N, p)
					predicted = f.Stats().Predicted
				}
				var hs [measuring.Batch]uint64
				f.ContainsHashes(dst, hs[:hasher.HashKeys(hs[:], keys)])
			},
		}
	})
	judge(t, r, p)
	// A single small filter's own prediction is as uncertain as its fill.
	if plan.N >= 100_000 {
		judgePrediction(t, r, predicted)
	}
}

// holdRareRate is holdRate for rates that take a hundred million queries: keys are
// integers, so that most of the time goes into the filter.
func holdRareRate(t *testing.T, k Kind, p float64) {
	t.Helper()
	const n, size = 100_000, 4096
	var hasher hashing.Hasher
	var predicted float64
	hs := make([]uint64, size)
	fill := func(first uint64) {
		for i := range hs {
			hs[i] = hasher.HashUint64(first + uint64(i))
		}
	}
	positives, all := effort(p)
	filters := all / n
	each := uint64(positives / p / float64(filters))
	r := measuring.Each(filters, func(i uint64) (wrong, lost, asked uint64) {
		members := make([]uint64, n)
		for j := range members {
			members[j] = hasher.HashUint64(i<<32 + uint64(j))
		}
		f := k.must(t, members, n, p)
		predicted = f.Stats().Predicted
		dst := make([]bool, size)
		for asked < each {
			fill(i<<32 + measuring.Absent + asked)
			f.ContainsHashes(dst, hs)
			for _, yes := range dst {
				if yes {
					wrong++
				}
			}
			asked += size
		}
		return wrong, uint64(missing(f, members)), asked
	})
	r.Keys = uint64(filters) * n
	judge(t, r, p)
	judgePrediction(t, r, predicted)
}

// judge holds a measured rate to the rate asked.
func judge(t *testing.T, r measuring.Rate, p float64) {
	t.Helper()
	if r.Lost > 0 {
		t.Errorf("%d of %d keys forgotten", r.Lost, r.Keys)
	}
	if limit := p + 3*r.Sigma; r.Mean > limit {
		t.Errorf("rate = %.4g (%d of %d), asked for %g: more than 3 sigma (%.2g) above", r.Mean, r.Wrong, r.Queries, p, r.Sigma)
	}
}

// judgePrediction holds a measured rate to the rate that the filter predicts.
func judgePrediction(t *testing.T, r measuring.Rate, predicted float64) {
	t.Helper()
	if r.Mean > 1.1*predicted+3*r.Sigma {
		t.Errorf("rate = %.4g, predicted %.4g: more than 1.1 times and 3 sigma (%.2g) above", r.Mean, predicted, r.Sigma)
	}
}

// keepsRateSplit spreads the keys over 64 filters by Route. A family that took
// positions from the bits that Route uses would fill a 64th of each array.
func keepsRateSplit(t *testing.T, k Kind) {
	if testing.Short() {
		t.Skip("a rate is measured without the race detector")
	}
	const bits, parts, each, p = 6, 64, 2000, 1e-2
	var keys [parts][]uint64
	for _, h := range hashes(parts*each, 5) {
		part := bloomery.Route(h, bits)
		keys[part] = append(keys[part], h)
	}
	var filters [parts]bloomery.Hashed
	for i, hs := range keys {
		// Parts differ in size; each is made for what it holds, so that the
		// rate asked for is the rate expected.
		filters[i] = k.must(t, hs, len(hs), p)
		if got := missing(filters[i], hs); got > 0 {
			t.Errorf("part %d: %d keys forgotten", i, got)
		}
	}
	const queries = 200_000
	wrong := 0
	for _, h := range hashes(queries, 6) {
		if filters[bloomery.Route(h, bits)].ContainsHash(h) {
			wrong++
		}
	}
	// The spread between filters of 2000 keys adds to the counting error: at
	// 1% their rates differ by about a tenth, over 64 parts a hundredth.
	sigma := math.Hypot(math.Sqrt(p/queries), p/10/math.Sqrt(parts))
	if got := float64(wrong) / queries; got > p+3*sigma {
		t.Errorf("rate behind a split in %d = %.4g, want at most %g + 3 * %.2g", parts, got, p, sigma)
	}
}

// statsTellTheTruth holds items, saturation and rate to what is known.
func statsTellTheTruth(t *testing.T, k Kind) {
	const n, p = 200_000, 1e-2
	empty := k.must(t, nil, n, p).Stats()
	if empty.Items != 0 || empty.Saturation != 0 || empty.Predicted != 0 {
		t.Errorf("empty: %+v, want no items, saturation or rate", empty)
	}
	f := k.must(t, hashes(n, 7), n, p)
	s := f.Stats()
	if s.Kind != k.Name {
		t.Errorf("Kind = %q, want %q", s.Kind, k.Name)
	}
	// A filter of filters finds the rate asked for from those of its members. One that
	// grows without end has no capacity.
	if s.Capacity != n && !k.Endless || math.Abs(s.Asked/p-1) > 1e-12 {
		t.Errorf("Capacity = %d, Asked = %g, want %d and %g", s.Capacity, s.Asked, n, p)
	}
	if s.Bytes*8 < s.Bits || s.Bits < n {
		t.Errorf("Bits = %d, Bytes = %d for %d keys", s.Bits, s.Bytes, n)
	}
	// The sample has half a measuring.Million bits; its fill is off by 0.1% (sigma), the
	// count by 0.15%, the rate by 1% at most. The limits are 5 sigma and more.
	if off := math.Abs(float64(s.Items)/n - 1); off > 0.01 || s.Exact && s.Items != n {
		t.Errorf("Items = %d (exact: %v), want %d within 1%%", s.Items, s.Exact, n)
	}
	if s.Predicted > p*1.05 || s.Predicted < p/10 && !k.Coarse {
		t.Errorf("Predicted = %g at capacity, asked for %g", s.Predicted, p)
	}
	// The rate predicted is near the one measured, also where it is far below
	// the rate asked for: 5 sigma of the count, and 10% for the filter's own luck.
	const queries = 500_000
	got := float64(queries - missing(f, hashes(queries, 12)))
	want := queries * s.Predicted
	if off := math.Abs(got - want); off > 5*math.Sqrt(want)+want/10+5*queries*s.PredictedSigma {
		t.Errorf("%.0f false positives in %d queries, Predicted makes it %.0f", got, queries, want)
	}
}

// addAnswers holds the answers of AddHash and AddHashes to ContainsHash, with
// keys that come twice in one batch.
func addAnswers(t *testing.T, k Kind) {
	const n = 5000
	f, one := k.must(t, nil, n, 1e-2), k.must(t, nil, n, 1e-2)
	a, ok := f.(bloomery.Adder)
	if !ok {
		return
	}
	b := one.(bloomery.Adder)
	hs := hashes(n, 8)
	for i := 3; i < n; i += 7 {
		hs[i] = hs[i-1-i%3]
	}
	dst := make([]bool, n+1)
	dst[n] = true
	a.AddHashes(dst, hs)
	for i, h := range hs {
		had := one.ContainsHash(h)
		if changed := b.AddHash(h); changed == had || dst[i] != changed {
			t.Fatalf("key %d: contained %v, AddHash %v, AddHashes %v", i, had, changed, dst[i])
		}
	}
	if !dst[n] {
		t.Error("AddHashes wrote behind the last answer")
	}
}

func noAllocations(t *testing.T, k Kind) {
	hs := hashes(1000, 9)
	f := k.must(t, hs, 2000, 1e-2)
	dst := make([]bool, len(hs))
	more := hashes(1000, 10)
	var yes bool
	for name, run := range map[string]func(){
		"ContainsHash":   func() { yes = f.ContainsHash(hs[7]) },
		"ContainsHashes": func() { f.ContainsHashes(dst, hs) },
		"Hash":           func() { yes = f.Hash(nil) == 0 },
		"AddHash": func() {
			if a, ok := f.(bloomery.Adder); ok {
				yes = a.AddHash(more[3])
			}
		},
		"AddHashes": func() {
			if a, ok := f.(bloomery.Adder); ok {
				a.AddHashes(dst, more)
				a.AddHashes(nil, more)
			}
		},
		"InsertHash, CountHash, DeleteHash": func() {
			if i, ok := f.(bloomery.Inserter); ok {
				yes = i.InsertHash(more[3]) == nil
			}
			if c, ok := f.(bloomery.Counter); ok {
				yes = c.CountHash(more[3]) > 0
			}
			if d, ok := f.(bloomery.Deleter); ok {
				yes = d.DeleteHash(more[3])
			}
		},
	} {
		if got := testing.AllocsPerRun(20, run); got > 0 {
			t.Errorf("%s allocates %v times", name, got)
		}
	}
	_ = yes
}

// concurrentReaders is for the race detector: readers must not disturb each
// other.
func concurrentReaders(t *testing.T, k Kind) {
	hs := hashes(10_000, 11)
	f := k.must(t, hs, len(hs), 1e-2)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if got := missing(f, hs); got > 0 {
				t.Errorf("%d keys forgotten under concurrent readers", got)
			}
			if f.Stats().Saturation == 0 {
				t.Error("no saturation under concurrent readers")
			}
		})
	}
	wg.Wait()
}
