package redisbloom

import (
	"fmt"
	"math"

	"github.com/bloomery/bloomery"
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
	MaxError     = 0.25 // a larger one is lowered to it
)

// BloomParams is what a Bloom filter is made from: four numbers, which is all
// that a log has to keep of a BF.RESERVE. The sizes of later layers follow
// from them in integer arithmetic, the same on every machine, so a log needs
// no table of sizes.
type BloomParams struct {
	_ struct{}
	// Error is the error rate asked for, in (0, 1). Above MaxError it counts
	// as MaxError.
	Error float64
	// Capacity is the number of items of the first layer, 1 to MaxCapacity.
	Capacity uint64
	// Expansion is the factor from layer to layer, at most MaxExpansion. 0
	// means NonScaling.
	Expansion uint32
	// NonScaling makes a filter of one layer that refuses items when it is
	// full. Expansion is then only remembered.
	NonScaling bool
}

// Bloom is RedisBloom's BF: a chain of Bloom layers of which only the newest
// takes items. Make it with [NewBloom] or from a [BloomHeader].
//
// Safe for concurrent readers; a writer needs exclusion.
type Bloom struct {
	items   uint64
	options uint32
	growth  uint32
	older   []layer // all layers but the newest, oldest first
	frozen  *Frozen
	newest  layer
}

// NewBloom returns an empty filter. The error wraps bloomery.ErrParameter or
// is ErrTooLarge.
func NewBloom(p BloomParams) (*Bloom, error) {
	s, err := p.plan()
	if err != nil {
		return nil, err
	}
	b := &Bloom{options: optNoRound | optForce64, growth: p.Expansion, newest: s.make()}
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
	if !(p.Error > 0 && p.Error < 1) {
		return shape{}, fmt.Errorf("redisbloom: new: %w: error rate %v", bloomery.ErrParameter, p.Error)
	}
	if p.Capacity < 1 || p.Capacity > MaxCapacity {
		return shape{}, fmt.Errorf("redisbloom: new: %w: capacity %d", bloomery.ErrParameter, p.Capacity)
	}
	if p.Expansion > MaxExpansion {
		return shape{}, fmt.Errorf("redisbloom: new: %w: expansion %d", bloomery.ErrParameter, p.Expansion)
	}
	e := min(p.Error, MaxError)
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

// Narrow reports whether the filter knows its items by 32-bit hashes. Only
// very old dumps do.
func (b *Bloom) Narrow() bool { return b.options&optForce64 == 0 }

// Contains reports whether key may have been added.
func (b *Bloom) Contains(key []byte) bool { return b.ContainsDigest(b.Digest(key)) }

// ContainsDigest is Contains for a key whose digest is d.
func (b *Bloom) ContainsDigest(d Digest) bool {
	return b.newest.has(d) || len(b.older) > 0 && b.olderHas(d)
}

func (b *Bloom) olderHas(d Digest) bool {
	for i := len(b.older) - 1; i >= 0; i-- {
		if b.older[i].has(d) {
			return true
		}
	}
	return false
}

// ContainsDigests sets dst[i] to ContainsDigest(ds[i]). It panics if dst is
// shorter than ds.
func (b *Bloom) ContainsDigests(dst []bool, ds []Digest) {
	dst = dst[:len(ds)]
	for i, d := range ds {
		dst[i] = b.newest.has(d)
	}
	if len(b.older) == 0 {
		return
	}
	for i, d := range ds {
		if !dst[i] {
			dst[i] = b.olderHas(d)
		}
	}
}

// Add adds key and reports whether the filter counted it as new. The error is
// ErrFull or ErrGrowth, and then nothing has changed.
func (b *Bloom) Add(key []byte) (bool, error) { return b.AddDigest(b.Digest(key)) }

// AddDigest is Add for a key whose digest is d.
func (b *Bloom) AddDigest(d Digest) (bool, error) {
	room := uint64(math.MaxUint64)
	return b.add(d, &room)
}

// AddDigests adds ds in order, sets dst[i] to what AddDigest(ds[i]) reports and
// stops at the first error. It returns the number of digests done, so that
// ds[n] is the one that failed. Growth that would take more than room bytes in
// all is ErrGrowth. It panics if dst is shorter than ds.
func (b *Bloom) AddDigests(dst []bool, ds []Digest, room uint64) (n int, err error) {
	dst = dst[:len(ds)]
	for i, d := range ds {
		if dst[i], err = b.add(d, &room); err != nil {
			return i, err
		}
	}
	return len(ds), nil
}

func (b *Bloom) add(d Digest, room *uint64) (bool, error) {
	if len(b.older) > 0 && b.olderHas(d) {
		return false, nil
	}
	if b.newest.size >= b.newest.capacity {
		if b.newest.has(d) {
			return false, nil
		}
		if err := b.grow(room); err != nil {
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
func (b *Bloom) grow(room *uint64) error {
	if b.NonScaling() {
		return ErrFull
	}
	s, ok := b.next(b.newest.capacity, b.newest.err)
	if !ok || !b.fits(s) {
		return ErrGrowth
	}
	cost := s.bytes + layerBytes
	if cost > *room {
		return ErrGrowth
	}
	*room -= cost
	older := make([]layer, len(b.older)+1) // exact: chains are short, and filters many
	older[copy(older, b.older)] = b.newest
	b.older, b.newest = older, s.make()
	return nil
}

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
	if b.NonScaling() {
		return 0
	}
	var sum uint64
	left, capacity, err := uint64(max(n, 0)), b.newest.capacity, b.newest.err
	room := capacity - min(b.newest.size, capacity)
	for left > room {
		left -= room
		s, ok := b.next(capacity, err)
		if !ok {
			break
		}
		sum += s.bytes + layerBytes
		if room = s.capacity; room == 0 {
			room = 1 // a layer takes an item before it is seen to be full
		}
		capacity, err = s.capacity, s.err
	}
	return sum
}

// fits reports whether the filter may have s as well.
func (b *Bloom) fits(s shape) bool { return b.dataBytes()+s.bytes <= MaxBytes }

// Items returns the number of items that were new when they were added.
func (b *Bloom) Items() uint64 { return b.items }

// Capacity returns the sum of the capacities of all layers.
func (b *Bloom) Capacity() uint64 {
	sum := b.newest.capacity
	for i := range b.older {
		sum += b.older[i].capacity
	}
	return sum
}

// Size returns the memory that RedisBloom reports for such a filter.
func (b *Bloom) Size() uint64 { return 32 + 64*uint64(b.Layers()) + b.dataBytes() }

// Layers returns the number of layers.
func (b *Bloom) Layers() int { return len(b.older) + 1 }

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
	Error          float64
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
		Capacity: l.capacity, Size: l.size, Error: l.err,
	}
}

func (b *Bloom) layer(i int) *layer {
	if i == len(b.older) {
		return &b.newest
	}
	return &b.older[i]
}

// bloomBytes is the memory of a Bloom with one layer, without its array; a test
// holds it.
const bloomBytes = 128

// Bytes returns the memory that the filter takes: what BloomParams.Bytes said,
// and GrowBytes since. The rounding of the allocator is not in it.
func (b *Bloom) Bytes() uint64 {
	return bloomBytes + uint64(len(b.older))*layerBytes + b.dataBytes()
}

func (b *Bloom) dataBytes() uint64 {
	sum := uint64(len(b.newest.data))
	for i := range b.older {
		sum += uint64(len(b.older[i].data))
	}
	return sum
}
