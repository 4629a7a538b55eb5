package bloom

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"math/bits"
	"slices"
	"sync"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/internal/envelope"
	"github.com/bloomery/bloomery/internal/fields"
	"github.com/bloomery/bloomery/internal/kernel"
	"github.com/bloomery/bloomery/internal/memory"
	"github.com/bloomery/bloomery/sizing"
)

var (
	_ bloomery.Hashed = (*Scalable)(nil)
	_ bloomery.Adder  = (*Scalable)(nil)
)

const (
	defaultGrowth = 2
	minGrowth     = 2
	maxGrowth     = 255 // a byte of the header
	// minScalableRate leaves room for the shares of layers.
	minScalableRate = 1e-15
	// maxLayerRate is the highest rate of a layer: that of the first layer of a
	// filter with falling shares, and more than a layer of Filter.Scalable needs.
	maxLayerRate = 6 / (math.Pi * math.Pi)
)

// Scalable is a filter for a number of keys that is not known: when it is
// full, it gets another layer, a filter that is twice as large or, with
// Config.Growth, any number of times.
//
//	layer 1  [ n keys   ]                          rate 0.144 p
//	layer 2  [ 2n keys          ]                  rate 0.144 p
//	layer 3  [ 4n keys                         ]   rate 0.144 p
//	layer i  ...                                   rate 2p/i²
//
// All layers have at most rate p together: the false positive rate asked for is
// kept at every size. A key that is in some layer is not added again, so that
// adding the same keys again makes no new layer.
//
// Not knowing the number has a cost. A lookup reads one cache line per layer,
// and a layer has a part of the rate: at 1% full layers take 1.5 times the bits
// of a Filter of the right size after tenfold growth and 2 times after
// thousandfold, and up to twice that just after a layer was made. So take the
// best guess for the first capacity; quotient.Growing takes less where there is
// none. A layer whose rate is below 1e-6 has the layout of Standard, which is
// slower: all of them from p = 7e-6 down, only late ones above.
//
// If Config.Alloc refuses another layer, or there is no memory for one, the
// last layer goes on being filled, and Stats shows the rate; memory is asked for
// again each time it has got an eighth of its capacity more.
//
// Make one with NewScalable, Config.NewScalable or Filter.Scalable; for a zero
// Scalable see Filter.
//
// Safe for concurrent readers; a writer needs exclusion.
type Scalable struct {
	layered
	alloc  func(bytes int) ([]byte, error)
	active int    // the layer that new keys go to
	limit  uint64 // the number of its items at which another layer is wanted
}

// NewScalable returns a Scalable whose first layer is for n keys, with false
// positive rate p at every size. It panics if n is less than 1 or p is not
// between 1e-15 and 1: use Config.NewScalable for values that are not
// constants.
func NewScalable(n int, p float64) *Scalable {
	s, err := Config{Capacity: n, ErrorRate: p}.NewScalable()
	if err != nil {
		panic(err)
	}
	return s
}

// NewScalable returns a Scalable whose first layer is for c.Capacity keys. Its
// errors wrap ErrParameter or ErrTooLarge, or are those of Alloc.
func (c Config) NewScalable() (*Scalable, error) {
	s, err := c.newScalable()
	if err != nil {
		return nil, fmt.Errorf("bloom: new scalable: %w", err)
	}
	return s, nil
}

func (c Config) newScalable() (*Scalable, error) {
	if err := fields.Only(c, "NewScalable", "Capacity", "Headroom", "ErrorRate", "Growth", "Hasher", "Alloc"); err != nil {
		return nil, err
	}
	if err := c.addHeadroom(); err != nil {
		return nil, err
	}
	growth := cmp.Or(c.Growth, defaultGrowth)
	switch {
	case growth < minGrowth || growth > maxGrowth:
		return nil, fmt.Errorf("%w: growth %d is not %d to %d", bloomery.ErrParameter, growth, minGrowth, maxGrowth)
	case !(c.ErrorRate > 0 && c.ErrorRate < 1):
		return nil, fmt.Errorf("%w: error rate %v is not between 0 and 1", bloomery.ErrParameter, c.ErrorRate)
	case c.ErrorRate < minScalableRate:
		return nil, fmt.Errorf("%w: error rate %v is below %v", bloomery.ErrParameter, c.ErrorRate, minScalableRate)
	case c.Capacity < 1:
		return nil, fmt.Errorf("%w: capacity %d is not at least 1", bloomery.ErrParameter, c.Capacity)
	}
	s := &Scalable{alloc: c.Alloc, layered: layered{
		hasher: c.Hasher, growth: growth, first: uint64(c.Capacity), rate: c.ErrorRate, total: c.ErrorRate, shares: flatShares,
	}}
	if err := s.addLayer(s.first); err != nil {
		return nil, err
	}
	return s, nil
}

// addLayer appends the next layer, for so many keys.
func (f *Scalable) addLayer(capacity uint64) error {
	spent := f.shares == oldShares && !f.tapered && f.made >= layerShares
	if len(f.layers) >= maxLayers || spent || capacity > math.MaxInt {
		return fmt.Errorf("%w: layer %d for %d keys", bloomery.ErrTooLarge, len(f.layers)+1, capacity)
	}
	c := Config{Capacity: int(capacity), ErrorRate: f.share(f.made + 1), Hasher: f.hasher, Alloc: f.alloc}
	set, err := c.newFlatSet(layerLayout(c.ErrorRate))
	if err != nil {
		return err
	}
	f.layers = append(f.layers, layer{flatSet: set})
	f.made++
	f.settle()
	return nil
}

// layerLayout returns the layout of a layer with this rate.
func layerLayout(rate float64) sizing.Layout {
	if rate < sizing.MinBlockedRate {
		return sizing.Standard
	}
	return sizing.Blocked
}

// settle lets new keys go to the last layer that has room, or to the last.
// This depends on nothing that an encoding does not hold.
func (f *Scalable) settle() {
	f.active = max(0, len(f.layers)-1)
	for i := range f.layers {
		if f.layers[i].items < f.layers[i].capacity {
			f.active = i
		}
	}
	if len(f.layers) > 0 {
		f.limit = f.layers[f.active].capacity
	}
}

// room returns how many keys the active layer still takes.
func (f *Scalable) room() uint64 {
	if items := f.layers[f.active].items; items < f.limit {
		return f.limit - items
	}
	return 0
}

// grow makes room for at least one key: in a layer that has some, in a new
// one, or, if there is no memory for it, beyond the limit of the last.
func (f *Scalable) grow() {
	f.settle()
	if f.room() > 0 {
		return
	}
	last := &f.layers[len(f.layers)-1]
	over, capacity := bits.Mul64(last.capacity, uint64(f.growth))
	if over == 0 && f.addLayer(capacity) == nil {
		return
	}
	f.limit = last.items + last.capacity/8 + 1
}

// GrowBytes returns the bytes of the layers that n more keys need at most: 0 if
// the layers that are there hold them.
func (f *Scalable) GrowBytes(n int) uint64 {
	if len(f.layers) == 0 {
		return 0
	}
	left, sum := f.beyond(n), uint64(0)
	capacity := f.layers[len(f.layers)-1].capacity
	for i := f.made + 1; left > 0; i++ {
		over, next := bits.Mul64(capacity, uint64(f.growth))
		share := f.share(i)
		size, err := layerBits(next, share)
		if over != 0 || err != nil {
			break // no such layer can be made
		}
		capacity = next
		sum += size / 8
		left -= min(left, capacity)
	}
	return sum
}

// beyond returns how many of n more keys the layers that are there do not hold.
func (f *Scalable) beyond(n int) uint64 {
	left := uint64(max(0, n))
	for i := range f.layers {
		if l := &f.layers[i]; l.items < l.capacity {
			left -= min(left, l.capacity-l.items)
		}
	}
	return left
}

// GrowLayers returns how many sizes GrowBytes(n) looks for, which takes some microseconds each:
// those of the layers that are missing, and none if o, which may be nil, was asked before and grows
// alike.
func (f *Scalable) GrowLayers(n int, o *Scalable) (layers int) {
	left := f.beyond(n)
	if left == 0 || len(f.layers) == 0 || o != nil && f.growsAs(o) {
		return 0
	}
	for capacity := f.layers[len(f.layers)-1].capacity; left > 0; layers++ {
		over, next := bits.Mul64(capacity, uint64(f.growth))
		if capacity = next; over != 0 {
			break // no such layer can be made
		}
		left -= min(left, capacity)
	}
	return layers
}

// growsAs reports whether the next layers of both are of the same series, of which one may have made
// more than the other.
func (f *Scalable) growsAs(o *Scalable) bool {
	if f.made < o.made {
		f, o = o, f
	}
	ahead := f.made - o.made
	if len(f.layers) == 0 || len(o.layers) == 0 || ahead > 64 || f.growth != o.growth || f.rate != o.rate || f.shares != o.shares || f.tapered != o.tapered {
		return false
	}
	capacity := o.layers[len(o.layers)-1].capacity
	for range ahead {
		capacity *= uint64(f.growth)
	}
	return capacity == f.layers[len(f.layers)-1].capacity
}

// layerSizes are sizes that were asked for lately: filters that were made alike grow alike,
// and it takes far longer to find a size than to look it up.
// Each layer is larger than the one before: there is room for one of every length.
var layerSizes [65]struct {
	sync.Mutex
	capacity uint64
	share    float64
	bits     uint64
}

// layerBits returns the size of a layer.
func layerBits(capacity uint64, share float64) (uint64, error) {
	known := &layerSizes[bits.Len64(capacity)]
	known.Lock()
	defer known.Unlock()
	if known.bits > 0 && known.capacity == capacity && known.share == share {
		return known.bits, nil
	}
	s, err := layerLayout(share).Size(capacity, share)
	if err != nil {
		return 0, err
	}
	known.capacity, known.share, known.bits = capacity, share, s.Bits
	return s.Bits, nil
}

// Add adds key and reports whether the filter changed. False means that the
// key was, or seemed to be, there already.
func (f *Scalable) Add(key []byte) bool { return f.AddHash(f.hasher.Hash(key)) }

// AddString is Add for a string.
func (f *Scalable) AddString(key string) bool { return f.AddHash(f.hasher.HashString(key)) }

// AddHash is Add for a key whose hash is h.
func (f *Scalable) AddHash(h uint64) bool {
	f.mustBeMade()
	if f.ContainsHash(h) {
		return false
	}
	if f.room() == 0 {
		f.grow()
	}
	l := &f.layers[f.active]
	l.set(h)
	l.items++
	return true
}

// AddHashes adds all of hs, in order. If dst is not nil, dst[i] is what
// AddHash(hs[i]) would have returned; it panics if dst is then shorter than hs.
func (f *Scalable) AddHashes(dst []bool, hs []uint64) {
	f.mustBeMade()
	if dst != nil {
		dst = dst[:len(hs):len(dst)]
	}
	var open undecided
	var changed [batch]bool
	for len(hs) > 0 {
		n := min(len(hs), batch)
		open.begin(hs[:n])
		f.addBatch(changed[:n], &open)
		hs = hs[n:]
		if dst != nil {
			copy(dst, changed[:n])
			dst = dst[n:]
		}
	}
}

// addBatch adds the keys of open. Those that other layers do not have go to
// the active one, as many at once as it has room for; the keys that are then
// left meet a layer that is full, and one that is new.
func (f *Scalable) addBatch(changed []bool, open *undecided) {
	for i := len(f.layers) - 1; i >= 0 && open.n > 0; i-- {
		if i != f.active {
			open.ask(&f.layers[i], changed)
		}
	}
	clear(changed)
	for open.n > 0 {
		if room := f.room(); room > 0 {
			open.set(&f.layers[f.active], room, changed)
			continue
		}
		open.drop(&f.layers[f.active])
		if open.n > 0 {
			f.grow()
		}
	}
}

// AddKeys is AddHashes for keys.
func (f *Scalable) AddKeys(dst []bool, keys [][]byte) { scalableAdd(f, dst, keys) }

// AddStrings is AddHashes for strings.
func (f *Scalable) AddStrings(dst []bool, keys []string) { scalableAdd(f, dst, keys) }

func scalableAdd[K []byte | string](f *Scalable, dst []bool, keys []K) {
	f.mustBeMade()
	if dst != nil {
		dst = dst[:len(keys):len(dst)]
	}
	var hs [batch]uint64
	for len(keys) > 0 {
		n := hashing.HashBatch(f.hasher, hs[:], keys)
		keys = keys[n:]
		if dst == nil {
			f.AddHashes(nil, hs[:n])
			continue
		}
		f.AddHashes(dst[:n], hs[:n])
		dst = dst[n:]
	}
}

// AddSeq adds all keys of seq. It does not retain them.
func (f *Scalable) AddSeq(seq iter.Seq[[]byte]) {
	f.mustBeMade()
	addSeq(f, f.hasher, batch, seq)
}

// mustBeMade panics for a zero Scalable.
func (f *Scalable) mustBeMade() {
	if len(f.layers) == 0 {
		panicZero("NewScalable or Config.NewScalable")
	}
}

// Scalable returns a Scalable whose first layer is a copy of f: a filter that is
// full becomes one that grows, and no key is lost. p is the rate of the whole; 0
// stands for twice the rate that f was made for.
//
// The first layer uses up the rate of f or, if f is over it, the rate that its bits
// have now, as Stats predicts it. p must be more than that, else the error wraps
// ErrParameter and names the rate. A filter that is far over its rate has to be
// built again from its keys.
func (f *Filter) Scalable(p float64) (*Scalable, error) { return IntoScalable(f.Clone(), p, nil) }

// IntoScalable is Scalable without a copy: it takes over the array of f, which is not to be used any more. Further layers
// come from alloc, nil for the Go heap. It is for programs of this module.
func IntoScalable(f *Filter, p float64, alloc func(bytes int) ([]byte, error)) (*Scalable, error) {
	if f.capacity == 0 || len(f.blocks) == 0 {
		return nil, fmt.Errorf("bloom: scalable: %w: a filter of unknown capacity", bloomery.ErrParameter)
	}
	if p == 0 {
		p = 2 * f.rate
	}
	spent := max(f.rate, f.Stats().Predicted)
	switch rest := p - spent; {
	case !(spent <= maxLayerRate):
		return nil, fmt.Errorf("bloom: scalable: %w: the filter has a rate of %.3g, and the first layer may have %.2g at most", bloomery.ErrParameter, spent, maxLayerRate)
	case !(p < 1 && rest >= minScalableRate):
		return nil, fmt.Errorf("bloom: scalable: %w: rate %.3g for all layers is not between that of the filter, %.3g, and 1", bloomery.ErrParameter, p, spent)
	default:
		first := f.base
		first.rate = spent
		s := &Scalable{alloc: alloc, layered: layered{
			hasher: f.hasher, growth: defaultGrowth, first: f.capacity, rate: rest, total: p, made: 1, shares: flatShares,
			layers: []layer{{flatSet{newFlat(first, kernel.Words(f.blocks))}, min(f.EstimateCount(), f.shape.Bits)}},
		}}
		s.settle()
		return s, nil
	}
}

// Union adds all keys of o to f by taking over copies of its layers, so first
// capacity, rate and growth of both may differ. The false positive rate is then
// at most the sum of both, which Stats shows, and lookups ask the layers of
// both. The hash must be the same, else the error wraps ErrIncompatible; with
// more than 4096 layers it wraps ErrTooLarge, and it may be that of Alloc. On
// error f stays as it was.
func (f *Scalable) Union(o *Scalable) error {
	f.mustBeMade()
	if err := f.union(o); err != nil {
		return fmt.Errorf("bloom: union: %w", err)
	}
	return nil
}

func (f *Scalable) union(o *Scalable) error {
	if err := envelope.SameHash(f.hasher, o.hasher); err != nil {
		return err
	}
	all := slices.Clone(f.layers)
	for i := range o.layers {
		l := o.layers[i]
		if l.items == 0 {
			continue
		}
		words, err := memory.Array(len(l.words), f.alloc)
		if err != nil {
			return err
		}
		copy(words, l.words)
		l.words = words
		all = append(all, l)
	}
	switch {
	case len(all) == len(f.layers):
		return nil
	case len(all) > maxLayers:
		return fmt.Errorf("%w: %d layers, at most %d", bloomery.ErrTooLarge, len(all), maxLayers)
	}
	slices.SortStableFunc(all, func(a, b layer) int { return cmp.Compare(a.capacity, b.capacity) })
	f.layers = all
	f.total = min(f.total+o.total, math.Nextafter(1, 0))
	f.settle()
	return nil
}

// Clone returns a Scalable of its own memory with the same keys. Its memory,
// that of layers to come included, is on the Go heap.
func (f *Scalable) Clone() *Scalable { return f.clone() }

// Clear removes all keys and goes back to the first layer.
func (f *Scalable) Clear() {
	f.mustBeMade()
	l := f.layers[f.firstLayer()]
	grown := len(f.layers) == f.made // none came by Union, which adds to the rate
	l.items = 0
	clear(l.words)
	f.layers, f.made = []layer{l}, 1
	if grown {
		f.settle()
		return
	}
	f.total = f.rate
	switch first := f.share(1); {
	case f.tapered || l.rate == first:
	case f.shares == flatShares:
		f.total += l.rate // of Filter.Scalable, whose first layer comes on top of f.rate
	case l.rate > first:
		f.total += l.rate - first
	}
	f.settle()
}
