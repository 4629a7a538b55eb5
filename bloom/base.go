package bloom

import (
	"fmt"
	"io"
	"iter"
	"math"
	"math/bits"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/internal/envelope"
	"github.com/bloomery/bloomery/internal/kernel"
	"github.com/bloomery/bloomery/sizing"
)

// noJSON refuses JSON, and is no field that can be seen.
type noJSON = envelope.NoJSON

const (
	// batch is how many keys are hashed before their hashes are looked up:
	// 2 KiB of stack.
	batch = 256
	// wholeWords is the largest array that Stats reads whole, 64 KiB.
	wholeWords = 8192
)

// base is what all filters of this package know beside their array.
type base struct {
	noJSON
	hasher   hashing.Hasher
	shape    sizing.Shape
	capacity uint64
	rate     float64
}

// Hash returns the filter's hash of key.
func (f *base) Hash(key []byte) uint64 { return f.hasher.Hash(key) }

// Hasher returns the hasher of the filter.
func (f *base) Hasher() hashing.Hasher { return f.hasher }

// Shape returns the size of the array and the number of bits that a key sets.
func (f *base) Shape() sizing.Shape { return f.shape }

// header returns the header of the filter's encoding.
func (f *base) header(kind uint16, words []uint64) envelope.Header {
	return envelope.Header{
		Kind:     kind,
		Hash:     f.hasher.Kind(),
		Check:    f.hasher.Check(),
		K:        uint8(f.shape.K),
		Capacity: f.capacity,
		Rate:     f.rate,
		Size:     f.shape.Bits,
		Payload:  uint64(len(words)) * 8,
	}
}

// parse returns the base that h describes. given is the hasher for filters
// whose hasher is not in the header.
func parse(h envelope.Header, kind uint16, layout sizing.Layout, given hashing.Hasher) (base, error) {
	b, err := parseShape(h, kind, layout)
	if err != nil {
		return base{}, err
	}
	if want := wordsFor(h.Size) * 8; h.Payload != want || h.Extra != 0 {
		return base{}, fmt.Errorf("%w: payload of %d bytes for %d bits", bloomery.ErrCorrupt, h.Payload, h.Size)
	}
	b.hasher, err = h.Hasher(given)
	return b, err
}

// parseShape is parse without hasher and without a look at the payload.
func parseShape(h envelope.Header, kind uint16, layout sizing.Layout) (base, error) {
	if err := h.CheckKind(kind); err != nil {
		return base{}, err
	}
	b := base{
		shape:    sizing.Shape{Layout: layout, Bits: h.Size, K: int(h.K)},
		capacity: h.Capacity,
		rate:     h.Rate,
	}
	if err := b.shape.Valid(); err != nil {
		return base{}, fmt.Errorf("%w: %w", bloomery.ErrCorrupt, err)
	}
	return b, nil
}

// wordsFor returns the number of words that hold n bits.
func wordsFor(n uint64) uint64 { return n/64 + (n%64+63)/64 }

// compatible returns nil if arrays of f and o mean the same, else an error
// that names the first parameter that differs.
func (f *base) compatible(o *base) error {
	switch {
	case f.shape.Bits != o.shape.Bits:
		return fmt.Errorf("%w: %d bits and %d bits", bloomery.ErrIncompatible, f.shape.Bits, o.shape.Bits)
	case f.shape.K != o.shape.K:
		return fmt.Errorf("%w: %d hashes and %d hashes", bloomery.ErrIncompatible, f.shape.K, o.shape.K)
	}
	return envelope.SameHash(f.hasher, o.hasher)
}

// stats describes the state of a filter with this array, whose set bits are
// counted by count. Tolerance is how far the predicted rate may be off (one
// sigma) though it is more than 2% of it.
func (f *base) stats(kind string, words []uint64, count func([]uint64) uint64, tolerance float64) bloomery.Stats {
	if len(words) == 0 { // a zero filter
		return bloomery.Stats{Kind: kind}
	}
	sample := f.sample(words, count, tolerance)
	return bloomery.Stats{
		Kind:           kind,
		Capacity:       f.capacity,
		Items:          round(f.shape.Count(sample.Fill)),
		Bits:           f.shape.Bits,
		Bytes:          uint64(len(words)) * 8,
		Saturation:     sample.Fill,
		Asked:          f.rate,
		Predicted:      sample.Rate,
		PredictedSigma: sample.Sigma,
		Skew:           f.skew(words, count, sample.Fill),
	}
}

// text returns the Stats of f as a line. Stats takes its count from a sample; the best
// estimate is what people are shown.
func text(f interface {
	Stats() bloomery.Stats
	EstimateCount() uint64
}) string {
	s := f.Stats()
	s.Items = f.EstimateCount()
	return s.String()
}

// sample returns the fill of an array and the rate that follows from it: from
// the whole array up to 64 KiB, above that from a sample.
func (f *base) sample(words []uint64, count func([]uint64) uint64, tolerance float64) kernel.Sampled {
	rate := func(fill float64) float64 { return f.shape.Rate(f.shape.Count(fill)) }
	if len(words) <= wholeWords {
		fill := f.fill(count(words), uint64(len(words)))
		return kernel.Sampled{Fill: fill, Rate: rate(fill)}
	}
	return kernel.Sample(len(words)/lineWords, func(line int) uint64 {
		return count(words[line*lineWords:][:lineWords])
	}, rate, tolerance)
}

// fill returns the share of set bits, given how many of how many words' bits
// are set. The last word of a Standard has bits beyond the array: they are
// clear and do not count.
func (f *base) fill(set, words uint64) float64 {
	if words == 0 { // a zero filter
		return 0
	}
	return min(1, float64(set)/float64(min(words*64, f.shape.Bits)))
}

// estimate returns the number of keys that would set as many bits.
func (f *base) estimate(words []uint64) uint64 {
	if len(words) == 0 {
		return 0
	}
	return round(f.shape.Count(f.saturation(words)))
}

// saturation returns the share of set bits. It reads the whole array.
func (f *base) saturation(words []uint64) float64 { return f.fill(count(words), uint64(len(words))) }

// unite sets in x, the array of f, the bits of y, that of o.
func (f *base) unite(o *base, x, y []uint64) error {
	if err := f.compatible(o); err != nil {
		return fmt.Errorf("bloom: union: %w", err)
	}
	or(x, y)
	return nil
}

// keepCommon clears in x, the array of f, the bits that y, that of o, does not have.
func (f *base) keepCommon(o *base, x, y []uint64) error {
	if err := f.compatible(o); err != nil {
		return fmt.Errorf("bloom: intersect: %w", err)
	}
	and(x, y)
	return nil
}

// alike is jaccard of arrays that may not be comparable.
func (f *base) alike(o *base, x, y []uint64) (float64, error) {
	if err := f.compatible(o); err != nil {
		return 0, fmt.Errorf("bloom: jaccard: %w", err)
	}
	return f.jaccard(x, y), nil
}

// append appends the encoding of a filter with this array to dst.
func (f *base) append(dst []byte, kind uint16, words []uint64) ([]byte, error) {
	if len(words) == 0 {
		return dst, errZero("marshal")
	}
	return envelope.Append(dst, f.header(kind, words), words), nil
}

// writeTo writes the encoding of a filter with this array to w.
func (f *base) writeTo(w io.Writer, kind uint16, words []uint64) (int64, error) {
	if len(words) == 0 {
		return 0, errZero("write")
	}
	return envelope.WriteTo(w, f.header(kind, words), words)
}

// jaccard estimates the share of the keys in both filters among the keys in
// one of them, from the bits of each and of their union.
func (f *base) jaccard(x, y []uint64) float64 {
	var nx, ny, nu uint64
	for i, w := range x {
		nx += uint64(bits.OnesCount64(w))
		ny += uint64(bits.OnesCount64(y[i]))
		nu += uint64(bits.OnesCount64(w | y[i]))
	}
	keys := func(set uint64) float64 { return f.shape.Count(f.fill(set, uint64(len(x)))) }
	both, one := keys(nx)+keys(ny), keys(nu)
	switch {
	case one == 0:
		return 1 // two empty sets are the same set
	case math.IsInf(one, 1):
		return 0 // a full union shows nothing
	}
	return max(0, min(1, both/one-1))
}

// round returns the nearest whole number; a full filter could hold any number
// of keys and answers the largest.
func round(n float64) uint64 {
	if n >= math.MaxUint64 {
		return math.MaxUint64
	}
	return uint64(math.Round(n))
}

// count returns the number of set bits.
func count(words []uint64) uint64 {
	var n int
	for _, w := range words {
		n += bits.OnesCount64(w)
	}
	return uint64(n)
}

// addSeq adds all keys of seq to a in batches of n.
func addSeq(a bloomery.Adder, h hashing.Hasher, n int, seq iter.Seq[[]byte]) {
	hs := make([]uint64, 0, n)
	for key := range seq {
		if len(hs) == n {
			a.AddHashes(nil, hs)
			hs = hs[:0]
		}
		hs = append(hs, h.Hash(key))
	}
	a.AddHashes(nil, hs)
}

// or sets in x the bits that are set in y.
func or(x, y []uint64) {
	y = y[:len(x)]
	for i := range x {
		x[i] |= y[i]
	}
}

// and clears in x the bits that are clear in y.
func and(x, y []uint64) {
	y = y[:len(x)]
	for i := range x {
		x[i] &= y[i]
	}
}
