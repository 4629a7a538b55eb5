package foreign

import (
	"encoding/binary"
	"math"
	"math/bits"
	"math/rand/v2"

	"github.com/bloomery/bloomery"
)

const (
	// sampleWords is how many words of an array Stats looks at: 512 KiB.
	sampleWords = 1 << 16
	// pieceWords is how many of them lie beside each other: a line of the cache.
	pieceWords = 8
	// sampleKeys is how many random keys Stats asks for, enoughHits when it stops
	// earlier, and fewHits are too few to say a rate.
	sampleKeys = 1 << 17
	enoughHits = 256
	fewHits    = 16
)

// String returns Stats as a line of text.
func (b *Bloom) String() string { return b.Stats().String() }

// Stats returns the state of the filter. The rate predicted is measured: it takes the
// format's hash and rule, which in some formats have many more false positives than the
// bits suggest, above all in small filters. 256 of up to 131,072 random keys must be
// found, which takes some milliseconds. A rate too low for that is the one of random bits.
func (b *Bloom) Stats() bloomery.Stats {
	l := b.layout
	s := bloomery.Stats{
		Kind: l.Format, Capacity: l.Capacity, Items: b.items, Exact: l.Counts,
		Bits: l.Bits, Bytes: 8 * uint64(len(b.words)), Asked: l.ErrorRate,
	}
	if l.Rule == nil {
		return s
	}
	if l.Bits == 0 {
		s.Saturation, s.Predicted = 1, 1
		return s
	}
	seen, all := 0, false
	s.Saturation, seen, all = b.fill()
	s.Predicted, s.PredictedSigma = b.rate(s.Saturation)
	if s.PredictedSigma == 0 && !all && s.Saturation > 0 {
		s.PredictedSigma = s.Predicted * float64(l.Probes) * math.Sqrt((1-s.Saturation)/s.Saturation/float64(64*seen))
	}
	if !l.Counts {
		s.Items = l.estimate(s.Saturation)
	}
	return s
}

// EstimateCount estimates the number of keys from all bits of the array, where Stats
// takes a sample of a large one.
func (b *Bloom) EstimateCount() uint64 {
	if b.layout.Bits == 0 {
		return 0
	}
	return b.layout.estimate(float64(ones(b.words)) / float64(b.layout.Bits))
}

// estimate is how many keys fill the array so far. A full array may hold any number.
func (l Layout) estimate(fill float64) uint64 {
	keys := -math.Log1p(-fill) * float64(l.Bits) / float64(max(l.Probes, 1))
	if keys >= math.MaxInt64 {
		return math.MaxUint64
	}
	return uint64(math.Round(keys))
}

// fill returns the share of bits that are set, in how many words it was seen, and
// whether these were all.
func (b *Bloom) fill() (share float64, seen int, all bool) {
	if len(b.words) <= sampleWords {
		return float64(ones(b.words)) / float64(b.layout.Bits), len(b.words), true
	}
	step := len(b.words) / (sampleWords / pieceWords)
	set := 0
	for i := 0; i+pieceWords < len(b.words); i += step { // not the last word, which may be a part
		set += ones(b.words[i : i+pieceWords])
		seen += pieceWords
	}
	return float64(set) / float64(64*seen), seen, false
}

// rate measures the false positive rate with random keys, and returns its standard
// deviation, 0 if it was too low to be measured.
func (b *Bloom) rate(fill float64) (rate, sigma float64) {
	rate = math.Pow(fill, float64(b.layout.Probes))
	if fill == 0 {
		return rate, 0
	}
	random := rand.NewPCG(uint64(b.layout.Probes), b.layout.Bits)
	key := make([]byte, 16)
	hits := 0
	for asked := 1; asked <= sampleKeys && hits < enoughHits; asked++ {
		binary.LittleEndian.PutUint64(key, random.Uint64())
		binary.LittleEndian.PutUint64(key[8:], random.Uint64())
		if !b.Contains(key) {
			continue
		}
		if hits++; hits == enoughHits {
			return float64(hits) / float64(asked), math.Sqrt(float64(hits)) / float64(asked)
		}
	}
	if hits < fewHits {
		return rate, 0
	}
	return float64(hits) / sampleKeys, math.Sqrt(float64(hits)) / sampleKeys
}

// ones counts the bits of words that are set.
func ones(words []uint64) (n int) {
	for _, w := range words {
		n += bits.OnesCount64(w)
	}
	return n
}
