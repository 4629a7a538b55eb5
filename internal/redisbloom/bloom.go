package redisbloom

import (
	"fmt"
	"iter"
	"math"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/internal/memory"
)

var _ bloomery.Filter = (*Bloom)(nil)

// The options word of a dump.
const (
	optNoRound   = 1 // the number of bits is not rounded up to a power of two
	optEntryBits = 2 // an old dump: the capacity was given in bits
	optForce64   = 4 // 64-bit hashes
	optNoScaling = 8
	optKnown     = optNoRound | optEntryBits | optForce64 | optNoScaling
)

// Ranges of the parameters.
const (
	MaxCapacity  = 1 << 30
	MaxExpansion = 32768
	MaxErrorRate = 0.25 // a larger one is lowered to it
)

// BloomParams describes a Bloom filter to make. Its four numbers are all that a
// log has to keep of a BF.RESERVE: the sizes of later layers follow from them
// in integer arithmetic, the same on every machine.
type BloomParams struct {
	_ struct{}
	// ErrorRate is the false positive rate asked for, in (0, 1). Above
	// MaxErrorRate it counts as MaxErrorRate.
	ErrorRate float64
	// Capacity is the number of items of the first layer, 1 to MaxCapacity.
	Capacity uint64
	// Expansion is the factor from layer to layer, at most MaxExpansion. 0
	// means NonScaling.
	Expansion uint32
	// NonScaling makes a filter of one layer that refuses items when it is
	// full. Expansion is then stored and has no effect.
	NonScaling bool
	// Memory places the layers. Nil means the Go heap.
	Memory *memory.Arena
}

// Bloom is RedisBloom's BF: a chain of Bloom layers of which only the newest
// takes items. Make it with [NewBloom], from a [BloomHeader] or with
// [DecodeBloom]. The zero value contains nothing and can only be unmarshaled
// into.
//
// Safe for concurrent readers; a writer needs exclusion.
type Bloom struct {
	items   uint64
	options uint32
	growth  uint32
	older   *[]layer // all layers but the newest, oldest first; nil if there are none
	frozen  *Frozen
	memory  *memory.Arena
	newest  layer
}

// NewBloom returns an empty filter. The error wraps bloomery.ErrParameter or
// bloomery.ErrTooLarge, or is that of Memory.Alloc.
func NewBloom(p BloomParams) (*Bloom, error) {
	s, err := p.plan()
	if err != nil {
		return nil, err
	}
	data, err := p.Memory.Bytes(s.bytes, bloomBytes+s.bytes)
	if err != nil {
		return nil, fmt.Errorf("redisbloom: new: %w", err)
	}
	b := &Bloom{options: optNoRound | optForce64, growth: p.Expansion, memory: p.Memory, newest: s.layer(data)}
	if p.nonScaling() {
		b.options |= optNoScaling
	}
	return b, nil
}

// Bytes returns how much memory NewBloom would allocate, or its error. It
// allocates nothing.
func (p BloomParams) Bytes() (uint64, error) {
	s, err := p.plan()
	if err != nil {
		return 0, err
	}
	return bloomBytes + s.bytes, nil
}

func (p BloomParams) nonScaling() bool { return p.NonScaling || p.Expansion == 0 }

func (p BloomParams) plan() (shape, error) {
	if !(p.ErrorRate > 0 && p.ErrorRate < 1) {
		return shape{}, fmt.Errorf("redisbloom: new: %w: error rate %v", bloomery.ErrParameter, p.ErrorRate)
	}
	if p.Capacity < 1 || p.Capacity > MaxCapacity {
		return shape{}, fmt.Errorf("redisbloom: new: %w: capacity %d", bloomery.ErrParameter, p.Capacity)
	}
	if p.Expansion > MaxExpansion {
		return shape{}, fmt.Errorf("redisbloom: new: %w: expansion %d", bloomery.ErrParameter, p.Expansion)
	}
	e := min(p.ErrorRate, MaxErrorRate)
	if !p.nonScaling() {
		e *= 0.5
	}
	s, ok := planLayer(p.Capacity, e)
	if !ok {
		return shape{}, ErrTooLarge
	}
	return s, nil
}

// Digest returns the digest of key for this filter. It depends on Narrow only,
// which never changes in the life of a filter, so keys can be hashed outside
// of locks with [BloomDigest].
func (b *Bloom) Digest(key []byte) Digest {
	if b.Narrow() {
		return BloomDigest32(key)
	}
	return BloomDigest(key)
}

// Narrow reports whether the filter uses 32-bit hashes. Only very old dumps do.
// It needs no lock.
func (b *Bloom) Narrow() bool { return b.options&optForce64 == 0 }

// Contains reports whether key may have been added.
func (b *Bloom) Contains(key []byte) bool { return b.ContainsDigest(b.Digest(key)) }

// ContainsDigest is Contains for a key whose digest is d.
func (b *Bloom) ContainsDigest(d Digest) bool {
	return b.newest.has(d) || b.older != nil && b.olderHas(d)
}

func (b *Bloom) olderHas(d Digest) bool {
	older := *b.older
	for i := len(older) - 1; i >= 0; i-- {
		if older[i].has(d) {
			return true
		}
	}
	return false
}

// ContainsDigests sets dst[i] to ContainsDigest(ds[i]). It panics if dst is
// shorter than ds.
func (b *Bloom) ContainsDigests(dst []bool, ds []Digest) {
	dst = dst[:len(ds)]
	for len(ds) > 0 {
		n := min(len(ds), group)
		b.newest.hasGroup(dst[:n], ds[:n])
		if b.older != nil {
			b.olderHasGroup(dst[:n], ds[:n])
		}
		dst, ds = dst[n:], ds[n:]
	}
}

// Add adds key and reports whether the filter counted it as new. It may make
// the filter grow as far as there is memory. The error is ErrFull, ErrGrowth or
// that of a refused array, and then nothing has changed.
func (b *Bloom) Add(key []byte) (bool, error) { return b.AddDigest(b.Digest(key)) }

// AddDigest is Add for a key whose digest is d.
func (b *Bloom) AddDigest(d Digest) (bool, error) {
	budget := uint64(math.MaxUint64)
	return b.add(d, &budget)
}

// AddDigests adds ds in order and sets dst[i] to what AddDigest(ds[i]) reports.
// budget is how many bytes the filter may grow by in all; [Bloom.GrowBytes]
// returns how many it can need.
//
// It stops at the first error and returns the number of digests done: ds[n] is
// the one that failed, and it and those behind it have changed nothing. The
// error is memory.ErrRoom if that was too little, so that AddDigests of ds[n:] with
// a larger one goes on; otherwise it is that of AddDigest. It panics if dst is
// shorter than ds.
func (b *Bloom) AddDigests(dst []bool, ds []Digest, budget uint64) (n int, err error) {
	dst = dst[:len(ds)]
	for n < len(ds) {
		next := min(n+group, len(ds))
		done, err := b.addGroup(dst[n:next], ds[n:next], &budget)
		n += done
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// addGroup adds ds, group items at most, until the filter grows: that adds to the
// older layers, which are looked at for the whole group at once.
func (b *Bloom) addGroup(dst []bool, ds []Digest, budget *uint64) (n int, err error) {
	clear(dst)
	if b.older != nil {
		b.olderHasGroup(dst, ds)
	}
	b.newest.fetch(ds, b.newest.hashes)
	layers := b.Layers()
	for i, d := range ds {
		if dst[i] {
			dst[i] = false
			continue
		}
		if dst[i], err = b.addNewest(d, budget); err != nil {
			clear(dst[i:])
			return i, err
		}
		if b.Layers() != layers {
			return i + 1, nil
		}
	}
	return len(ds), nil
}

func (b *Bloom) add(d Digest, budget *uint64) (bool, error) {
	if b.older != nil && b.olderHas(d) {
		return false, nil
	}
	return b.addNewest(d, budget)
}

// addNewest adds d, which no older layer has.
func (b *Bloom) addNewest(d Digest, budget *uint64) (bool, error) {
	if b.newest.size >= b.newest.capacity {
		if b.newest.has(d) {
			return false, nil
		}
		if err := b.grow(budget); err != nil {
			return false, err
		}
	}
	if b.frozen != nil {
		b.saveDigest(d)
	}
	if !b.newest.set(d) {
		return false, nil
	}
	b.newest.size++
	b.items++
	return true, nil
}

// grow appends a layer.
func (b *Bloom) grow(budget *uint64) error {
	if b.zero() {
		panic("redisbloom: Add to a zero Bloom: make it with NewBloom")
	}
	if b.NonScaling() {
		return ErrFull
	}
	s, ok := b.next(b.newest.capacity, b.newest.err)
	if !ok || !b.fits(s) {
		return ErrGrowth
	}
	cost := s.bytes + layerBytes
	if b.older == nil {
		cost += olderBytes
	}
	if cost > *budget {
		return memory.ErrRoom
	}
	data, err := grown(b.memory, s.bytes, b.Bytes()+cost)
	if err != nil {
		return err
	}
	*budget -= cost
	older := make([]layer, b.Layers()) // exact: chains are short, and filters many
	if b.older != nil {
		copy(older, *b.older)
	}
	older[len(older)-1] = b.newest
	b.older, b.newest = &older, s.layer(data)
	return nil
}

// zero reports whether b was never made.
func (b *Bloom) zero() bool { return len(b.newest.data) == 0 }

// next plans the layer that follows one of this capacity and error.
func (b *Bloom) next(capacity uint64, err float64) (shape, bool) {
	if b.growth > 0 && capacity > math.MaxUint64/uint64(b.growth) {
		return shape{}, false
	}
	return planLayer(capacity*uint64(b.growth), err*0.5)
}

// GrowBytes returns the most that adding n items can make the filter allocate,
// and 0 if none of them can make it grow. It is exact when all n are new.
func (b *Bloom) GrowBytes(n int) uint64 {
	if uint64(max(n, 0)) <= b.room() {
		return 0
	}
	sum := uint64(0)
	for l := range b.Grown(n) {
		sum += l.Bytes + layerBytes
	}
	if sum > 0 && b.older == nil {
		sum += olderBytes
	}
	return sum
}

// room returns how many items the newest layer still takes.
func (b *Bloom) room() uint64 { return b.newest.capacity - min(b.newest.size, b.newest.capacity) }

// Grown yields the layers that the filter gets if n items are added that are all new.
func (b *Bloom) Grown(n int) iter.Seq[Layer] {
	return func(yield func(Layer) bool) {
		if b.NonScaling() {
			return
		}
		left, capacity, err := uint64(max(n, 0)), b.newest.capacity, b.newest.err
		room := b.room()
		for left > room {
			left -= room
			s, ok := b.next(capacity, err)
			if !ok || !yield(s.describe()) {
				return
			}
			if room = s.capacity; room == 0 {
				room = 1 // a layer takes an item before it is seen to be full
			}
			capacity, err = s.capacity, s.err
		}
	}
}

// Layers yields the layers of a filter of these parameters, none if there is no such
// filter, with those that it gets if n items are added that are all new. It allocates
// no array.
func (p BloomParams) Layers(n int) iter.Seq[Layer] {
	return func(yield func(Layer) bool) {
		s, err := p.plan()
		if err != nil || !yield(s.describe()) {
			return
		}
		b := Bloom{growth: p.Expansion, newest: s.layer(nil)}
		if !p.nonScaling() {
			b.Grown(n)(yield)
		}
	}
}

// describe returns what a layer of this shape is when it is new.
func (s *shape) describe() Layer {
	return Layer{Bytes: s.bytes, Bits: 8 * s.bytes, Hashes: s.hashes, HashWidth: 64, Capacity: s.capacity, ErrorRate: s.err}
}

// fits reports whether the filter may have s as well.
func (b *Bloom) fits(s shape) bool { return b.dataBytes()+s.bytes <= maxBytes }

// Items returns the number of items that were new when they were added.
func (b *Bloom) Items() uint64 { return b.items }

// Capacity returns the sum of the capacities of all layers.
func (b *Bloom) Capacity() uint64 {
	sum := uint64(0)
	for i := range b.Layers() {
		sum += b.layer(i).capacity
	}
	return sum
}

// Size returns the memory that RedisBloom reports for such a filter.
func (b *Bloom) Size() uint64 { return 32 + 64*uint64(b.Layers()) + b.dataBytes() }

// Layers returns the number of layers.
func (b *Bloom) Layers() int {
	if b.older == nil {
		return 1
	}
	return len(*b.older) + 1
}

// Expansion returns the factor from layer to layer.
func (b *Bloom) Expansion() uint32 { return b.growth }

// NonScaling reports whether the filter refuses items when it is full.
func (b *Bloom) NonScaling() bool { return b.options&optNoScaling != 0 }

// Layer describes one layer of a Bloom filter.
type Layer struct {
	Bytes, Bits    uint64
	Hashes         uint32
	HashWidth      int // 64, or 32 in very old filters
	Capacity, Size uint64
	ErrorRate      float64
}

// Layer returns a description of layer i, 0 being the oldest. It panics if i is
// not in 0..Layers()-1.
func (b *Bloom) Layer(i int) Layer {
	l := b.layer(i)
	width := 64
	if b.Narrow() {
		width = 32
	}
	return Layer{
		Bytes: uint64(len(l.data)), Bits: uint64(len(l.data)) * 8,
		Hashes: l.hashes, HashWidth: width,
		Capacity: l.capacity, Size: l.size, ErrorRate: l.err,
	}
}

func (b *Bloom) layer(i int) *layer {
	if b.older == nil || i == len(*b.older) {
		return &b.newest
	}
	return &(*b.older)[i]
}

const (
	bloomBytes = 120 // of memory, for a Bloom of one layer without its array; a test holds it
	olderBytes = 24  // of memory, for the list of older layers; a test holds it
)

// Bytes returns the memory that the filter takes: what BloomParams.Bytes
// returned, and GrowBytes since. The rounding of the allocator is not in it.
func (b *Bloom) Bytes() uint64 {
	n := bloomBytes + b.dataBytes()
	if b.older != nil {
		n += olderBytes + uint64(len(*b.older))*layerBytes
	}
	return n
}

func (b *Bloom) dataBytes() uint64 {
	sum := uint64(len(b.newest.data))
	if b.older != nil {
		for i := range *b.older {
			sum += uint64(len((*b.older)[i].data))
		}
	}
	return sum
}

// Arrays returns an iterator over the arrays that the filter owns, oldest layer
// first: what an owner of their memory needs to count references. They are
// valid until the filter changes.
func (b *Bloom) Arrays() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for i := range b.Layers() {
			if !yield(b.layer(i).data) {
				return
			}
		}
	}
}

// Release gives the arrays to the Arena, those of an open snapshot when that
// is closed, and leaves a Bloom that holds nothing, like a zero one. Narrow may
// be called meanwhile. Filters on the Go heap need no Release.
func (b *Bloom) Release() {
	if !b.zero() {
		drop(b.memory, b.frozen, b.Arrays())
	}
	b.older, b.newest, b.items, b.frozen = nil, layer{}, 0, nil
}

// grown returns an array for a filter that is there already.
func grown(m *memory.Arena, n, total uint64) ([]byte, error) {
	a, err := m.More(n, total)
	if err != nil {
		return nil, fmt.Errorf("redisbloom: add: no memory to grow: %w", err)
	}
	return a, nil
}
