package teach

// An experiment: a good hash and a poor one.

import (
	"fmt"
	"hash/fnv"
	"math/bits"
	"strconv"

	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/internal/measuring"
	"github.com/bloomery/bloomery/sizing"
)

// Limits of the experiments, and how many absent keys they ask for.
const (
	MinTrialKeys = 100
	MaxTrialKeys = 10_000
	probes       = 20_000
)

// Comparison is one set of keys in two filters that differ in the hash function
// only.
type Comparison struct {
	Keys    int     `json:"keys"`
	Example string  `json:"example"` // one of the keys
	Asked   float64 `json:"asked"`
	Sides   []Side  `json:"sides"`
}

// Side is a filter of a Comparison.
type Side struct {
	Hash string `json:"hash"`
	// Blocks are the shares of set bits, block by block.
	Blocks    []float64 `json:"blocks"`
	Predicted float64   `json:"predicted"` // for keys that are spread evenly
	Measured  Measured  `json:"measured"`
	Text      string    `json:"text"`
}

// Measured is a false positive rate with its 95% interval.
type Measured struct {
	Rate  float64 `json:"rate"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
	Yes   int     `json:"yes"`
	Tried int     `json:"tried"`
}

// Compare fills two blocked filters with n numbered keys: one hashes with XXH3,
// the other with FNV-1a, whose upper bits hardly depend on the end of a key. With
// structured, keys are alike but for their end; otherwise they differ throughout.
// The error is a *FieldError.
func Compare(n int, rate float64, structured bool) (Comparison, error) {
	if err := checkTrial(n, rate); err != nil {
		return Comparison{}, err
	}
	key := func(i int) string { return fmt.Sprintf("user:%019d", i) }
	if !structured {
		key = func(i int) string { return strconv.FormatUint(measuring.Scramble(uint64(i)), 36) }
	}
	c := Comparison{Keys: n, Example: key(1), Asked: rate}
	for _, side := range []struct {
		name string
		hash hashing.Hasher
	}{{"XXH3", hashing.Hasher{}}, {"FNV-1a", hashing.Func(fnv1a)}} {
		var a array
		f, err := bloom.Config{Capacity: n, ErrorRate: rate, Hasher: side.hash, Alloc: a.take}.New()
		if err != nil {
			return Comparison{}, fault("p", "%v", err)
		}
		for i := range n {
			f.AddString(key(i))
		}
		s := Side{Hash: side.name, Predicted: f.Stats().Predicted, Measured: measure(f, absent(f, func(i int) string { return key(n + i) }))}
		for block := range int(f.Stats().Bits) / sizing.BlockBits {
			ones := 0
			for w := range sizing.BlockBits / 64 {
				ones += bits.OnesCount64(a.word(block*sizing.BlockBits/64 + w))
			}
			s.Blocks = append(s.Blocks, float64(ones)/sizing.BlockBits)
		}
		s.Text = s.verdict(rate)
		c.Sides = append(c.Sides, s)
	}
	return c, nil
}

// fnv1a is the function of hashing/named. That package brings modules along which
// a server does not need.
func fnv1a(key []byte) uint64 {
	h := fnv.New64a()
	_, _ = h.Write(key) // never fails
	return h.Sum64()
}

// verdict compares what was measured with what was asked.
func (s Side) verdict(asked float64) string {
	switch times := s.Measured.Rate / asked; {
	case s.Measured.Low > 1.2*asked:
		return fmt.Sprintf("%.1f times the false positive rate asked for: keys crowd into some blocks.", times)
	default:
		return "The false positive rate asked for is kept."
	}
}

// checkTrial refuses experiments that are too small or too large.
func checkTrial(n int, rate float64) error {
	switch {
	case n < MinTrialKeys || n > MaxTrialKeys:
		return fault("n", "%d keys, from %d to %d", n, MinTrialKeys, MaxTrialKeys)
	case !(rate >= minTrialRate && rate <= maxTrialRate): // NaN too
		return fault("p", "a rate of %v, from %v to %v", rate, minTrialRate, maxTrialRate)
	}
	return nil
}

// Rates that so many probes can measure.
const (
	minTrialRate = 0.001
	maxTrialRate = 0.5
)
