package filtertest

// Flaws in answers, rates, statistics and allocations.

import (
	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/cuckoo"
)

// forgetful denies one key in a hundred.
func forgetful(h uint64, yes bool) bool { return yes && h%100 != 7 }

func brokenAnswers() []broken {
	one, last := flawed(flaw{one: forgetful}), flawed(flaw{batch: func(dst []bool) { dst[len(dst)-1] = false }})
	only := func(when func(n int, p float64) bool, with flaw) Kind {
		return sets(func(k *Kind) {
			k.Rates = []float64{1e-2, 1e-3}
			k.Make = func(hs []uint64, n int, p float64) (bloomery.Hashed, error) {
				if when(n, p) {
					return makeSet(hs, n, p, with)
				}
				return makeSet(hs, n, p, flaw{})
			}
		})
	}
	times := func(factor float64, rates ...float64) Kind {
		return sets(func(k *Kind) {
			k.Rates = rates
			k.Make = func(hs []uint64, n int, p float64) (bloomery.Hashed, error) { return makeSet(hs, n, factor*p, flaw{}) }
		})
	}
	full, lost := flawed(flaw{drop: true}), hashes(1, 5)[0]
	crowded := flawed(flaw{one: func(h uint64, yes bool) bool { return yes || bloomery.Route(h, 6) == 17 }})
	optimist := flawed(flaw{stats: func(s *bloomery.Stats) { s.Predicted /= 2 }})
	rareOptimist := flawed(flaw{stats: func(s *bloomery.Stats) { s.Predicted /= 5 }})
	rareOptimist.Rates = []float64{1e-5}
	rareForgetful := one
	rareForgetful.Rates = []float64{1e-5}
	return []broken{
		{name: "forgets-single", law: neverForgets, kind: one, want: `n = 1000, p = 0.01: 10 of 1000 keys forgotten`},
		{name: "forgets-batch", law: neverForgets, kind: last, want: `n = 1, p = 0.01: 1 of 1 keys forgotten`},
		{name: "forgets-largest", law: neverForgets, kind: only(func(n int, _ float64) bool { return n == 10_000 }, flaw{one: forgetful}), want: `n = 10000.* keys forgotten`},
		{name: "forgets-long", law: neverForgets, kind: one, want: `n = 100000, p = 0.01: .* keys forgotten`, long: true},
		{name: "forgets-second-rate", law: neverForgets, kind: only(func(_ int, p float64) bool { return p == 1e-3 }, flaw{one: forgetful}), want: `n = 1000, p = 0.001: .* keys forgotten`},
		{name: "forgets-when-full", law: neverForgets, kind: full, want: `n = 10, p = 0.01, twice over capacity: \d+ keys forgotten`},
		{name: "thrice-the-rate", law: keepsRate, kind: times(3, 1e-2, 1e-3), want: `(?s)asked for 0.01: more than 3 sigma.*FAIL: .*/p=0.01/keys=random/n=1000 `},
		{name: "thrice-the-rate-long", law: keepsRate, kind: times(3, 1e-2, 1e-3), want: `(?s)FAIL: .*/p=0.001/keys=random/n=1000 .*/p=0.001/keys=random/n=200000 .*/p=0.01/keys=random/n=1000 .*/p=0.01/keys=sequential/n=1000 .*/p=0.01/keys=url/n=1000 .*/p=0.01/keys=user/n=1000 `, long: true},
		{name: "thrice-the-rare-rate", law: keepsRate, kind: times(3, 1e-5), want: `FAIL: .*/p=1e-05/keys=integers/n=100000`, long: true},
		{name: "rate-predicted-too-low", law: keepsRate, kind: optimist, want: `rate = .*, predicted .*: more than 1.1 times and 3 sigma`, long: true},
		{name: "rare-rate-predicted-too-low", law: keepsRate, kind: rareOptimist, want: `rate = .*, predicted .*: more than 1.1 times and 3 sigma`, long: true},
		{name: "forgets-while-measured", law: keepsRate, kind: last, want: `\d+ of 100000 keys forgotten`},
		{name: "forgets-while-rarely-measured", law: keepsRate, kind: rareForgetful, want: `\d+ of 100000 keys forgotten`, long: true},
		{name: "places-by-bits-of-route", law: keepsRateSplit, kind: crowded, want: `rate behind a split in 64 = 0.02`, long: true},
		{name: "forgets-behind-a-split", law: keepsRateSplit, kind: one, want: `part 63: \d+ keys forgotten`, long: true},
		{name: "forgets-one-behind-a-split", law: keepsRateSplit, kind: flawed(flaw{one: func(h uint64, yes bool) bool { return yes && h != lost }}), want: `part \d+: 1 keys forgotten`, long: true},
		{name: "always-changed", law: addAnswers, kind: flawed(flaw{add: func(uint64, bool) bool { return true }}), want: `contained true, AddHash true, AddHashes false`},
		{name: "never-changed", law: addAnswers, kind: flawed(flaw{add: func(uint64, bool) bool { return false }}), want: `key 0: contained false, AddHash false`},
		{name: "batch-answers-differ", law: addAnswers, kind: flawed(flaw{added: func(dst []bool, _ []uint64) { dst[42] = !dst[42] }}), want: `key 42: contained false, AddHash true, AddHashes false`},
		{name: "batch-is-slow-to-see-copies", law: addAnswers, kind: flawed(flaw{added: func(dst []bool, _ []uint64) { dst[10] = true }}), want: `key 10: contained true, AddHash false, AddHashes true`},
		{name: "writes-behind-the-answers", law: addAnswers, kind: flawed(flaw{added: func(dst []bool, hs []uint64) { dst[len(hs)] = false }}), want: `wrote behind the last answer`},
		{name: "forgets-beside-readers", law: concurrentReaders, kind: one, want: `\d+ keys forgotten under concurrent readers`},
		{name: "no-saturation", law: concurrentReaders, kind: flawed(flaw{stats: func(s *bloomery.Stats) { s.Saturation = 0 }}), want: `no saturation under concurrent readers`},
		{name: "not-made", law: neverForgets, kind: sets(func(k *Kind) {
			k.Make = func([]uint64, int, float64) (bloomery.Hashed, error) { return nil, bloomery.ErrParameter }
		}), want: `bloom for 1 keys at 0.01: `},
	}
}

func brokenStats() []broken {
	stats := func(name, want string, change func(*bloomery.Stats)) broken {
		return broken{name: name, law: statsTellTheTruth, kind: flawed(flaw{stats: change}), want: want}
	}
	filled := func(change func(*bloomery.Stats)) func(*bloomery.Stats) { // an empty one is as it should be
		return func(s *bloomery.Stats) {
			if s.Items > 0 {
				change(s)
			}
		}
	}
	return []broken{
		stats("empty-with-items", `empty: bloom: about 1 key `, func(s *bloomery.Stats) { s.Items = max(s.Items, 1) }),
		stats("empty-with-saturation", `empty: `, func(s *bloomery.Stats) { s.Saturation = max(s.Saturation, 1e-9) }),
		stats("empty-with-a-rate", `empty: `, func(s *bloomery.Stats) { s.Predicted = max(s.Predicted, 1e-9) }),
		stats("another-kind", `Kind = "x", want "bloom"`, func(s *bloomery.Stats) { s.Kind = "x" }),
		stats("another-capacity", `Capacity = 200001, Asked = 0.01, want 200000`, func(s *bloomery.Stats) { s.Capacity++ }),
		stats("another-rate-asked", `Asked = 0.010001, want 200000 and 0.01`, func(s *bloomery.Stats) { s.Asked = 0.010001 }),
		stats("more-bits-than-bytes", `Bits = `, func(s *bloomery.Stats) { s.Bytes = s.Bits/8 - 1 }),
		stats("fewer-bits-than-keys", `Bits = 199999`, func(s *bloomery.Stats) { s.Bits = 199_999 }),
		stats("two-percent-too-many", `Items = `, filled(func(s *bloomery.Stats) { s.Items = 204_000 })),
		stats("two-percent-too-few", `Items = `, filled(func(s *bloomery.Stats) { s.Items = 196_000 })),
		stats("one-too-many-exactly", `Items = 200001 \(exact: true\)`, filled(func(s *bloomery.Stats) { s.Items, s.Exact = 200_001, true })),
		stats("rate-over-the-one-asked", `Predicted = 0.0106 at capacity`, filled(func(s *bloomery.Stats) { s.Predicted = 0.0106 })),
		stats("rate-a-tenth-of-the-one-asked", `Predicted = 0.0009 at capacity`, filled(func(s *bloomery.Stats) { s.Predicted = 0.0009 })),
		stats("rate-below-the-one-measured", `\d+ false positives in 500000 queries, Predicted makes it 3500`, filled(func(s *bloomery.Stats) { s.Predicted, s.PredictedSigma = 0.007, 0 })),
	}
}

// sink keeps what is allocated.
var sink []byte

func brokenAllocations() []broken {
	allocate := func() { sink = make([]byte, 100) }
	of := func(name, call string, with flaw) broken {
		return broken{name: name, law: noAllocations, kind: flawed(with), want: `(?m): ` + call + ` allocates \d+ times$`}
	}
	return []broken{
		of("single-allocates", "ContainsHash", flaw{one: func(_ uint64, yes bool) bool { allocate(); return yes }}),
		of("batch-allocates", "ContainsHashes", flaw{batch: func([]bool) { allocate() }}),
		of("hash-allocates", "Hash", flaw{hash: allocate}),
		of("add-allocates", "AddHash", flaw{add: func(_ uint64, changed bool) bool { allocate(); return changed }}),
		of("batch-of-adds-allocates", "AddHashes", flaw{added: func(dst []bool, _ []uint64) {
			if dst != nil {
				allocate()
			}
		}}),
		of("silent-batch-of-adds-allocates", "AddHashes", flaw{added: func(dst []bool, _ []uint64) {
			if dst == nil {
				allocate()
			}
		}}),
		{name: "insert-allocates", law: noAllocations, kind: bags(func(b *bag) {
			b.insert = func(f *cuckoo.Filter, h uint64) error { allocate(); return f.InsertHash(h) }
		}), want: `InsertHash, CountHash, DeleteHash allocates 1 times`},
		{name: "count-allocates", law: noAllocations, kind: bags(func(b *bag) {
			b.count = func(_, n uint64) uint64 { allocate(); return n }
		}), want: `InsertHash, CountHash, DeleteHash allocates 1 times`},
		{name: "delete-allocates", law: noAllocations, kind: bags(func(b *bag) {
			b.remove = func(f *cuckoo.Filter, h uint64) bool { allocate(); return f.DeleteHash(h) }
		}), want: `InsertHash, CountHash, DeleteHash allocates 1 times`},
	}
}

// recent holds the last keys of a stream exactly.
type recent struct {
	keys      map[uint64]bool
	every     uint64 // of so many absent keys one is answered with yes
	predicted float64
}

func (r *recent) Contains([]byte) bool  { return false }
func (r *recent) Hash([]byte) uint64    { return 0 }
func (r *recent) Stats() bloomery.Stats { return bloomery.Stats{Predicted: r.predicted} }
func (r *recent) ContainsHash(h uint64) bool {
	return r.keys[h] || r.every > 0 && h%r.every == 0
}

func (r *recent) ContainsHashes(dst []bool, hs []uint64) {
	for i, h := range hs {
		dst[i] = r.ContainsHash(h)
	}
}

// streams returns a kind that remembers n keys and so many percent more.
func streams(more int, r recent) Kind {
	return Kind{
		Name: "recent", Rates: []float64{1e-2}, Forgets: true,
		Make: func(hs []uint64, n int, _ float64) (bloomery.Hashed, error) {
			f := r
			f.keys = map[uint64]bool{}
			for _, h := range hs[max(0, len(hs)-n-more*n/100):] {
				f.keys[h] = true
			}
			return &f, nil
		},
	}
}

func brokenStreams() []broken {
	of := func(name, want string, more int, r recent) broken {
		return broken{name: name, law: forgets, want: want, kind: streams(more, r)}
	}
	return []broken{
		of("forgets-too-soon", `1 of the last 100 keys are forgotten`, -1, recent{}),
		of("remembers-too-long", `share of old keys still there = `, 500, recent{}),
		of("rate-rises", `rate after 6 times as many keys = `, 0, recent{every: 40, predicted: 1. / 40}),
		of("rate-lower-than-predicted", `rate = 0, predicted 0.005: they differ by more than 4 sigma`, 0, recent{predicted: 0.005}),
		of("rate-higher-than-predicted", `predicted 0: they differ by more than 4 sigma`, 0, recent{every: 200}),
	}
}
