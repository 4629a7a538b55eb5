package sizing

import (
	"slices"
	"strings"
)

// feature is a set of things that not every kind can do.
type feature uint

const (
	grows feature = 1 << iota
	deletes
	counts
	expires
	writers
	parquet
	exact
	values
)

// featureTexts are in the order of the constants.
var featureTexts = [...]string{
	"grow past its capacity",
	"delete keys",
	"count how often a key was inserted",
	"forget keys by age",
	"be written by several goroutines",
	"have the bytes of Parquet",
	"be free of false positives",
	"keep a value for each key",
}

// String lists the features of f in plain words.
func (f feature) String() string {
	var texts []string
	for i, text := range featureTexts {
		if f>>i&1 != 0 {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, ", ")
}

// kind is a row of the table of kinds that can be advised. A new kind is a new
// row.
type kind struct {
	name     string // as in Stats.Kind, or of its type
	make     string // its constructor
	has      feature
	reason   string // when it is the one to take
	plan     func(n uint64, p float64) (plan, error)
	of       func(q Needs) (plan, error)                    // instead, if it depends on more
	hashed   func(n uint64, p float64, k int) (plan, error) // instead, if k can be chosen; 0 is the best
	grown    func(first, n uint64, p float64) (plan, error) // after a start with few keys, if it grows
	manySets bool                                           // one array for all sets, see Needs.Sets
	static   bool                                           // built from all keys at once
	bounded  bool                                           // how far it grows is fixed when it is made
	refuses  bool                                           // takes no keys past its capacity
	fewTimes bool                                           // counts a key a few times only
	spans    bool                                           // keeps every key for a span of time, and then no longer
}

// can returns what a kind can do for these needs: one without errors needs a
// universe.
func (k *kind) can(q Needs) feature {
	if q.Universe == 0 {
		return k.has &^ exact
	}
	return k.has
}

// kindOf returns the row of a kind that is in the table.
func kindOf(name string) *kind {
	return &kinds[slices.IndexFunc(kinds[:], func(k kind) bool { return k.name == name })]
}

// plan is what a kind takes for one set.
type plan struct {
	bits           uint64
	lookup, insert int                        // memory accesses, at most
	hashes         int                        // bits that a key sets, 0 if it has no such number
	rate           func(keys float64) float64 // error rate with so many keys
}

// kinds are those that this module has.
var kinds = [...]kind{
	{
		name: "bloom", make: "bloom.New", hashed: hashedPlan(Blocked),
		reason: "all bits of a key in one cache line: one memory access, SIMD in batches",
	},
	{
		name: "split", make: "bloom.NewSplit", has: parquet, hashed: hashedPlan(Split),
		reason: "the layout of Parquet files: one memory access, k fixed at 8",
	},
	{
		name: "scalable", make: "bloom.NewScalable", has: grows, plan: scalablePlan, grown: grownPlan,
		reason: "adds a layer of twice the size when it is full and keeps the rate; one more access for each layer",
	},
	{
		name: "concurrent", make: "bloom.NewConcurrent", has: writers, hashed: concurrentPlan,
		reason: "the layout of bloom with a lock for each of 256 stripes; reads take none",
	},
	{
		name: "standard", make: "bloom.NewStandard", hashed: hashedPlan(Standard),
		reason: "the textbook layout: the smallest Bloom filter, at any rate, for k memory accesses",
	},
	{
		name: "partitioned", make: "bloom.NewPartitioned", hashed: hashedPlan(Partitioned),
		reason: "a slice of the array for each of k bits: as small as standard, no two bits of a key collide",
	},
	{
		name: "sliced", make: "bloom.Config.NewSliced", manySets: true, hashed: hashedPlan(Standard),
		reason: "all sets in one array, a column each: k rows answer for all sets at once",
	},
	{
		name: "cuckoo", make: "cuckoo.New", has: deletes, plan: cuckooPlan, refuses: true,
		reason: "fingerprints in buckets of 4: keys can be deleted, small at low rates; inserts fail when it is full, and it holds a key 8 times at most",
	},
	{
		name: "quotient", make: "quotient.New", has: deletes | counts | grows, plan: quotientPlan, grown: grownQuotient, bounded: true, refuses: true,
		reason: "a sorted table of fingerprints: deletes, exact counts, merging, growth without the keys; an insert moves a part of it",
	},
	{
		name: "growing", make: "quotient.NewGrowing", has: deletes | counts | grows, plan: growingPlan, grown: grownGrowing,
		reason: "quotient in segments that double: starts small, grows without end, keeps the rate; deletes and counts",
	},
	{
		name: "counting", make: "counting.New", has: deletes | counts, plan: countingPlan, fewTimes: true,
		reason: "bloom with a counter beside each bit: lookups as fast, room for any number of keys, each counted to 16",
	},
	{
		name: "spectral", make: "counting.NewSpectral", has: counts, plan: spectralPlan,
		reason: "how often a key came, to 4 billion: exact for all but few keys",
	},
	{
		name: "stable", make: "counting.NewStable", has: expires, plan: stablePlan,
		reason: "remembers at least the last keys that it was made for and forgets older ones, for streams without end",
	},
	{
		name: "window", make: "compose.NewWindow", has: expires, plan: windowPlan, spans: true,
		reason: "the keys of the last span of time in generations, the oldest dropped whole: forgets when it is told that time has passed",
	},
	{
		name: "striped", make: "compose.StripedConfig.New", has: deletes | writers, plan: stripedPlan, refuses: true,
		reason: "cuckoo filters in 64 stripes with a lock each: many goroutines that add and remove keys",
	},
	{
		name: "fuse", make: "fuse.Build", static: true, plan: fusePlan,
		reason: "built once from all keys: three reads, rates of 1/256, 1/65536 or 2^-32",
	},
	{
		name: "ribbon", make: "ribbon.Build", static: true, plan: ribbonPlan,
		reason: "built once from all keys: within half a percent of the least possible space, at any rate",
	},
	{
		name: "exact", make: "exact.Build", static: true, has: exact, of: exactPlan,
		reason: "built once from all keys that are asked for: no error among them, in 6% to 10% more than the least possible space",
	},
	{
		name: "map", make: "ribbon.BuildMap", static: true, has: values, of: mapPlan,
		reason: "built once from all keys: a value for each of them beside its fingerprint",
	},
}

// hashedPlan is for an array in a layout, with k bits for a key or the best number. A
// lookup reads a line for each, or one where all of them are in one block.
func hashedPlan(l Layout) func(n uint64, p float64, k int) (plan, error) {
	return func(n uint64, p float64, k int) (plan, error) {
		s, err := l.size(n, p, k)
		reads := s.K
		if l == Blocked || l == Split {
			reads = 1
		}
		return plan{s.Bits, reads, reads, s.K, s.Rate}, err
	}
}

// concurrentPlan counts the locks, too: 256, in a cache line each.
func concurrentPlan(n uint64, p float64, k int) (plan, error) {
	s, err := Blocked.size(n, p, k)
	return plan{s.Bits + 256*BlockBits, 1, 2, s.K, s.Rate}, err
}

// scalablePlan is for the first layer, made for n keys, which has its share of the
// rate, so that all layers stay below it together.
func scalablePlan(n uint64, p float64) (plan, error) {
	one, err := layerPlan(n, p*LayerShare(1))
	if err != nil {
		return plan{}, err
	}
	first := one.rate
	one.rate = func(keys float64) float64 {
		if keys <= float64(n) {
			return first(keys)
		}
		return p
	}
	return one, nil
}

// layerPlan plans a layer of rate p, in the blocked layout as far as that goes.
func layerPlan(n uint64, p float64) (plan, error) {
	if p >= MinBlockedRate {
		return hashedPlan(Blocked)(n, p, 0)
	}
	return hashedPlan(Standard)(n, p, 0)
}

// grownPlan is a scalable filter that began with first keys, doubled, and now
// holds n.
func grownPlan(first, n uint64, p float64) (plan, error) {
	var sum plan
	for room, layer, i := uint64(0), first, 1; room < n; layer, i = layer*2, i+1 {
		one, err := layerPlan(layer, p*LayerShare(i))
		if err != nil {
			return plan{}, err
		}
		room += layer
		sum.bits += one.bits
		sum.lookup += one.lookup
		sum.hashes = max(sum.hashes, one.hashes)
		sum.insert = sum.lookup // an add asks all layers first
	}
	sum.rate = func(float64) float64 { return p }
	return sum, nil
}
