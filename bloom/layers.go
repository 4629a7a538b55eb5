package bloom

import (
	"math"
	"slices"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/internal/kernel"
	"github.com/bloomery/bloomery/sizing"
)

// maxLayers is the largest number of layers. Growth alone makes some 50 at
// most, since memory ends there; unions may make more.
const maxLayers = 4096

// layerTolerance is how far the predicted rate of one layer may be off (one
// sigma), as a share of the rate of all: more of it need not be read.
const layerTolerance = 0.01

// layer is one filter of a Scalable: blocked, or standard where its false
// positive rate is below what the blocked layout is made for.
type layer struct {
	flatSet
	items uint64 // keys that changed it
}

func (l *layer) blocked() bool { return l.shape.Layout == sizing.Blocked }

func (l *layer) has(h uint64) bool {
	if l.blocked() {
		return kernel.Has(kernel.Blocks(l.words), l.shape.K, h)
	}
	return l.ContainsHash(h)
}

func (l *layer) hasAll(dst []bool, hs []uint64) {
	if l.blocked() {
		kernel.HasAll(dst, kernel.Blocks(l.words), l.shape.K, hs)
		return
	}
	l.ContainsHashes(dst, hs)
}

func (l *layer) set(h uint64) bool {
	if l.blocked() {
		return kernel.Set(kernel.Blocks(l.words), l.shape.K, h)
	}
	return l.AddHash(h)
}

func (l *layer) setAll(dst []bool, hs []uint64) {
	if l.blocked() {
		kernel.SetAll(dst, kernel.Blocks(l.words), l.shape.K, hs)
		return
	}
	l.AddHashes(dst, hs)
}

// layered is a number of layers that are only read: what Scalable and
// its view share.
//
// All layers are asked by the same hash. They hold different keys, so the rate
// of "one of them errs" is at most the sum of theirs, however their positions
// depend on each other; a hash of its own for each layer would cost time and
// gain nothing.
type layered struct {
	noJSON
	hasher hashing.Hasher
	growth int
	first  uint64  // capacity of the first layer
	rate   float64 // asked for, when it was made
	total  float64 // the same with that of all filters that were united
	made   int     // layers that came from growing; unions bring others
	shares shares
	// tapered means oldShares that fall, see taperedShare.
	tapered bool
	layers  []layer // the largest last
}

// Hash returns the filter's hash of key.
func (f *layered) Hash(key []byte) uint64 { return f.hasher.Hash(key) }

// Hasher returns the hasher of the filter.
func (f *layered) Hasher() hashing.Hasher { return f.hasher }

// Layers returns the number of layers. A lookup asks them in turn until one
// holds the key.
func (f *layered) Layers() int { return len(f.layers) }

// Contains reports whether key may be in the set. False is certain.
func (f *layered) Contains(key []byte) bool { return f.ContainsHash(f.hasher.Hash(key)) }

// ContainsString is Contains for a string.
func (f *layered) ContainsString(key string) bool { return f.ContainsHash(f.hasher.HashString(key)) }

// ContainsHash is Contains for a key whose hash is h. The largest layer, which
// has most of the keys, is asked first.
func (f *layered) ContainsHash(h uint64) bool {
	for i := len(f.layers) - 1; i >= 0; i-- {
		if f.layers[i].has(h) {
			return true
		}
	}
	return false
}

// ContainsHashes sets dst[i] to ContainsHash(hs[i]). It is several times
// faster than as many single calls. It panics if dst is shorter than hs.
func (f *layered) ContainsHashes(dst []bool, hs []uint64) {
	dst = dst[:len(hs):len(dst)]
	var open undecided
	for len(hs) > 0 {
		n := min(len(hs), batch)
		open.begin(hs[:n])
		clear(dst[:n])
		for i := len(f.layers) - 1; i >= 0 && open.n > 0; i-- {
			open.ask(&f.layers[i], dst[:n])
		}
		hs, dst = hs[n:], dst[n:]
	}
}

// ContainsKeys is ContainsHashes for keys.
func (f *layered) ContainsKeys(dst []bool, keys [][]byte) { layersContain(f, dst, keys) }

// ContainsStrings is ContainsHashes for strings.
func (f *layered) ContainsStrings(dst []bool, keys []string) { layersContain(f, dst, keys) }

func layersContain[K []byte | string](f *layered, dst []bool, keys []K) {
	dst = dst[:len(keys):len(dst)]
	var hs [batch]uint64
	for len(keys) > 0 {
		n := hashing.HashBatch(f.hasher, hs[:], keys)
		f.ContainsHashes(dst[:n], hs[:n])
		keys, dst = keys[n:], dst[n:]
	}
}

// String returns Stats as a line of text, with the count of EstimateCount: it reads
// the whole array.
func (f *layered) String() string { return text(f) }

// Stats describes the state of the filter. Capacity is what all layers hold
// together, Items the number of keys that changed the filter: a few of those
// added, at most the share of the false positive rate, seemed to be there and
// are not counted. Predicted is the sum over the layers. Asked is the rate
// asked for; after Union it is the sum of both.
func (f *layered) Stats() bloomery.Stats {
	s := bloomery.Stats{Kind: "scalable", Asked: f.total}
	set, variance := 0.0, 0.0
	for i := range f.layers {
		x := &f.layers[i]
		one := x.stats("", x.words, count, layerTolerance*f.total)
		s.Capacity += x.capacity
		s.Items += x.items
		s.Bits += one.Bits
		s.Bytes += one.Bytes
		s.Predicted += one.Predicted
		variance += one.PredictedSigma * one.PredictedSigma
		set += one.Saturation * float64(one.Bits)
	}
	s.Predicted = min(s.Predicted, 1)
	s.PredictedSigma = math.Sqrt(variance)
	s.Saturation = set / float64(max(s.Bits, 1))
	return s
}

// Layer describes layer i, 0 being the oldest. Items is the number of keys that changed
// it, Asked its share of the rate asked for. It panics if i is not in 0..Layers()-1.
func (f *layered) Layer(i int) bloomery.Stats {
	x := &f.layers[i]
	s := x.stats("scalable", x.words, count, layerTolerance*f.total)
	s.Items = x.items
	return s
}

// EstimateCount estimates the number of different keys from the set bits of
// the layers, and from their rates how many seemed to be there already. It
// reads all layers. Keys that were in both filters of a Union count twice. If
// a layer is full the answer is math.MaxUint64.
func (f *layered) EstimateCount() uint64 {
	keys, absent := 0.0, 1.0 // absent: the share of new keys that no layer before has
	for i := range f.layers {
		x := &f.layers[i]
		n := x.shape.Count(x.saturation(x.words))
		if n > 0 {
			keys += n / absent
		}
		absent *= 1 - x.shape.Rate(n)
	}
	return round(keys)
}

// clone returns a Scalable of its own memory with the same keys.
func (f *layered) clone() *Scalable {
	c := &Scalable{layered: *f}
	c.layers = make([]layer, len(f.layers))
	for i := range f.layers {
		c.layers[i] = layer{flatSet{f.layers[i].copied()}, f.layers[i].items}
	}
	c.settle()
	return c
}

// shares is how the layers of a Scalable share its rate. It is a number of the file
// format: a filter grows on by the rule it was made with.
type shares uint64

const (
	// oldShares are those of files that do not name a rule: 1/40 for each of 40
	// layers, or falling ones, see taperedShare.
	oldShares shares = iota
	// flatShares are those of sizing.LayerShare.
	flatShares
)

// layerShares is the number of layers that share the rate equally by oldShares.
const layerShares = 40

// flatShare returns the rate of layer i, from 1 on, of a filter with rate p.
func flatShare(p float64, i int) float64 { return p * sizing.LayerShare(i) }

// equalShare returns the rate of any layer, by oldShares.
func equalShare(p float64) float64 { return p / layerShares }

// taperedShare is the share of layer i in the oldest files: 6p/(π²i²), whose sum
// is p. Such filters grow on by it, since their first layers have most of p.
func taperedShare(p float64, i int) float64 {
	return 6 * p / (math.Pi * math.Pi * float64(i) * float64(i))
}

// share returns the rate of layer i that growing makes.
func (f *layered) share(i int) float64 {
	switch {
	case f.shares == flatShares:
		return flatShare(f.rate, i)
	case f.tapered:
		return taperedShare(f.rate, i)
	}
	return equalShare(f.rate)
}

// firstLayer returns the layer that the filter started with.
func (f *layered) firstLayer() int {
	return max(0, slices.IndexFunc(f.layers, func(x layer) bool {
		if x.capacity != f.first {
			return false
		}
		if f.shares == flatShares {
			return x.rate == flatShare(f.rate, 1)
		}
		return x.rate == equalShare(f.rate) || x.rate == taperedShare(f.rate, 1)
	}))
}
