package sizing

import (
	"fmt"
	"math"
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
)

// featureTexts are in the order of the constants.
var featureTexts = [...]string{
	"grow past its capacity",
	"take keys out",
	"count how often a key was put in",
	"forget keys by age",
	"be written by several goroutines",
	"have the bytes of Parquet",
	"be right always",
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
	manySets bool // one array for all sets, see Needs.Sets
}

// plan is what a kind takes for one set.
type plan struct {
	bits           uint64
	lookup, insert int                        // memory accesses, at most
	rate           func(keys float64) float64 // error rate with so many keys
}

// kinds are those that package bloom has.
var kinds = [...]kind{
	{
		name: "bloom", make: "bloom.New", plan: blockedPlan,
		reason: "all bits of a key in one cache line: one memory access, SIMD in batches",
	},
	{
		name: "split", make: "bloom.NewSplit", has: parquet, plan: splitPlan,
		reason: "the layout of Parquet files: one memory access, k fixed at 8",
	},
	{
		name: "scalable", make: "bloom.NewScalable", has: grows, plan: scalablePlan,
		reason: "adds a layer of twice the size when it is full and keeps the rate; one more access for each layer",
	},
	{
		name: "concurrent", make: "bloom.NewConcurrent", has: writers, plan: concurrentPlan,
		reason: "the layout of bloom with a lock for each of 256 stripes; reads take none",
	},
	{
		name: "standard", make: "bloom.NewStandard", plan: standardPlan,
		reason: "the textbook layout: the smallest, at any rate, for k memory accesses",
	},
	{
		name: "partitioned", make: "bloom.NewPartitioned", plan: partitionedPlan,
		reason: "a slice of the array for each of k bits: as small as standard, no two bits of a key collide",
	},
	{
		name: "sliced", make: "bloom.NewSliced", manySets: true, plan: standardPlan,
		reason: "all sets in one array, a column each: k rows tell for all sets at once",
	},
}

func blockedPlan(n uint64, p float64) (plan, error) {
	s, err := Blocked.size(n, p)
	return plan{s.Bits, 1, 1, s.Rate}, err
}

// concurrentPlan counts the locks, too: 256, in a cache line each.
func concurrentPlan(n uint64, p float64) (plan, error) {
	s, err := Blocked.size(n, p)
	return plan{s.Bits + 256*BlockBits, 1, 2, s.Rate}, err
}

func standardPlan(n uint64, p float64) (plan, error) {
	s, err := Standard.size(n, p)
	return plan{s.Bits, s.K, s.K, s.Rate}, err
}

// splitPlan finds the smallest number of blocks of 256 bits. Eight bits of a
// key fall into eight lanes of 32, so a block of j keys errs for
// (1 - (31/32)^j)^8, and j is binomial as in the blocked layout.
func splitPlan(n uint64, p float64) (plan, error) {
	const block, most = 256, 1 << 32
	if err := checkPlan(n, p, MinBlockedRate); err != nil {
		return plan{}, err
	}
	keys := float64(n)
	blocks, ok := leastUnits(most, func(blocks float64) bool { return splitRate(keys, blocks) <= p })
	if !ok {
		return plan{}, fmt.Errorf("%w: %d keys at rate %v need more than 2^32 blocks", ErrTooLarge, n, p)
	}
	return plan{blocks * block, 1, 1, func(keys float64) float64 { return splitRate(keys, float64(blocks)) }}, nil
}

// splitRate is the mixture over the number of keys in a block, as in
// model.mixture, and in closed form as in model.closed where blocks are
// crowded: rates are high there, so that the signs of its terms do no harm.
func splitRate(n, blocks float64) float64 {
	mean := n / blocks
	if mean > maxMean || blocks == 1 {
		return splitClosed(n, blocks)
	}
	logMiss := math.Log1p(-1.0 / 32)
	odds := 1 / (blocks - 1)
	chance := math.Exp(n * math.Log1p(-1/blocks))
	sum := 0.0
	for j := 1; j < 2*tableLen; j++ {
		chance *= (n - float64(j-1)) * odds / float64(j)
		sum += chance * math.Pow(-math.Expm1(float64(j)*logMiss), 8)
		if chance <= 0 || float64(j) > mean && chance < 1e-17*sum {
			break
		}
	}
	return min(max(sum, 0), 1)
}

func splitClosed(n, blocks float64) float64 {
	sum, sign, choose := 0.0, 1.0, 1.0
	for i := range 9 {
		gap := -math.Expm1(float64(i) * math.Log1p(-1.0/32))
		sum += sign * choose * math.Exp(n*math.Log1p(-gap/blocks))
		sign, choose = -sign, choose*float64(8-i)/float64(i+1)
	}
	return min(max(sum, 0), 1)
}

// partitionedPlan finds the best k. A slice of s bits is hit by a key once, so
// it is set at a place with chance f = 1 - (1-1/s)^n, and slices are
// independent: the rate is f^k.
func partitionedPlan(n uint64, p float64) (plan, error) {
	if err := checkPlan(n, p, 0); err != nil {
		return plan{}, err
	}
	keys, best, bestK := float64(n), math.Inf(1), 0
	for k := 1; k <= maxStandardK; k++ {
		untouched := logOneMinusExp(math.Log(p)/float64(k)) / keys // log of 1 - 1/s
		slice := math.Ceil(max(-1/math.Expm1(untouched), MinBits/float64(k)))
		if bits := slice * float64(k); bits < best {
			best, bestK = bits, k
		}
	}
	if !(best < MaxBits) {
		return plan{}, fmt.Errorf("%w: %d keys at rate %v need more than 2^63 bits", ErrTooLarge, n, p)
	}
	slice := best / float64(bestK)
	rate := func(keys float64) float64 {
		return math.Pow(-math.Expm1(max(keys, 0)*math.Log1p(-1/slice)), float64(bestK))
	}
	return plan{uint64(best), bestK, bestK, rate}, nil
}

// scalablePlan is for one layer, made for n keys: layer i gets the share
// 6/(π²i²) of the rate, so that all of them stay below it together.
func scalablePlan(n uint64, p float64) (plan, error) {
	one, err := layerPlan(n, p, 1)
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

// layerPlan plans layer i, in the blocked layout as far as that goes.
func layerPlan(n uint64, p float64, i int) (plan, error) {
	share := p * 6 / (math.Pi * math.Pi * float64(i*i))
	if share >= MinBlockedRate {
		return blockedPlan(n, share)
	}
	return standardPlan(n, share)
}

// grownPlan is a scalable filter that began with first keys, doubled, and now
// holds n.
func grownPlan(first, n uint64, p float64) (plan, error) {
	var sum plan
	for i, room, layer := 1, uint64(0), first; room < n; i, layer = i+1, 2*layer {
		one, err := layerPlan(layer, p, i)
		if err != nil {
			return plan{}, err
		}
		room += layer
		sum.bits += one.bits
		sum.lookup += one.lookup
		sum.insert = sum.lookup // an add asks all layers first
	}
	sum.rate = func(float64) float64 { return p }
	return sum, nil
}

// checkPlan is for plans that do not go through Layout.size.
func checkPlan(n uint64, p, least float64) error {
	switch {
	case n == 0:
		return fmt.Errorf("%w: no keys: n = 0", ErrParameter)
	case !(p > 0 && p < 1):
		return fmt.Errorf("%w: rate %v is not between 0 and 1", ErrParameter, p)
	case p < least:
		return fmt.Errorf("%w: rate %v is below %v, where the layout wastes space: use the standard layout", ErrParameter, p, least)
	}
	return nil
}

// leastUnits returns the smallest number up to most that is enough.
func leastUnits(most uint64, enough func(units float64) bool) (uint64, bool) {
	bad, good := uint64(0), most
	if !enough(float64(most)) {
		return 0, false
	}
	for good-bad > 1 {
		if middle := bad + (good-bad)/2; enough(float64(middle)) {
			good = middle
		} else {
			bad = middle
		}
	}
	return good, true
}
