package redisbloom

import (
	"encoding/binary"
	"fmt"
	"iter"
	"math"
	"math/bits"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/internal/memory"
)

const (
	topKCellBytes = 8    // fingerprint and count
	topKBytes     = 2184 // of memory, without slots, items and cells; a test holds it
	seedOfItems   = 1919 // of the fingerprint of an item

	// MaxIncrement is the most that TopK.Incr adds at once.
	MaxIncrement = 100000
)

// TopKParams describes a top-k sketch to make.
type TopKParams struct {
	_ struct{}
	// K is the number of items to keep, at least 1.
	K uint32
	// Width is the number of cells of a row, at least 1. RedisBloom's default
	// is 8, which is too little for most uses: see [TopK].
	Width uint32
	// Depth is the number of rows, at least 1. RedisBloom's default is 7.
	Depth uint32
	// Decay, more than 0 and at most 1, is the chance that an item takes one
	// from the count of another that holds its cell: Decay to the power of
	// that count. RedisBloom's default is 0.9.
	Decay float64
	// Seed is where the generator of those chances starts. Sketches of equal
	// parameters and seeds that get the same items are equal.
	Seed uint64
	// Memory places the cells. Nil means the Go heap, where items and slots
	// always are.
	Memory *memory.Arena
}

// TopK is RedisBloom's TOPK, the HeavyKeeper sketch: it finds the k most
// frequent items of a stream and counts them. Make it with [NewTopK] or
// [DecodeTopK].
//
// A count is never above the true sum of an item's increments, unless the
// 32-bit fingerprints of two items are equal. It may be below, and an item may
// be missing: items that share a cell wear each other down, and there is no
// bound for that. With a width of 10 to 100 times k the loss is small for items
// of a share well above 1/width. A width below k cannot keep k items apart.
//
// The sketch keeps the items themselves. Its memory grows by the length of an
// item that it takes in, and shrinks by that of the item that it expels.
//
// Chances come from a generator whose state is part of the sketch, also in its
// binary form: one history gives one sketch on every machine.
//
// Safe for concurrent readers; a writer needs exclusion.
type TopK struct {
	columns columns
	depth   uint32
	heap    slots  // min-heap by count
	cells   []byte // rows of fingerprint and count, little-endian
	decay   float64
	state   uint64 // of the generator
	frozen  *Frozen
	memory  *memory.Arena
	// chances[i] is 2^64 times the chance of a decrement of a count of i.
	chances [256]uint64
}

// NewTopK returns an empty sketch. The error wraps bloomery.ErrParameter or
// bloomery.ErrTooLarge, or is that of Memory.Alloc.
func NewTopK(p TopKParams) (*TopK, error) {
	total, err := p.Bytes()
	if err != nil {
		return nil, err
	}
	if err := memory.Fits(topKBytes + slotsBytes(uint64(p.K))); err != nil {
		return nil, fmt.Errorf("redisbloom: new: %w", err)
	}
	cells, err := p.Memory.Bytes(uint64(p.Width)*uint64(p.Depth)*topKCellBytes, total)
	if err != nil {
		return nil, fmt.Errorf("redisbloom: new: %w", err)
	}
	t := &TopK{
		columns: newColumns(uint64(p.Width)),
		depth:   p.Depth,
		heap:    newSlots(int(p.K)),
		cells:   cells,
		decay:   p.Decay,
		state:   p.Seed,
		memory:  p.Memory,
	}
	t.setChances()
	return t, nil
}

// Bytes returns how much memory NewTopK would allocate, or its error. It
// allocates nothing.
func (p TopKParams) Bytes() (uint64, error) {
	if p.K < 1 || p.Width < 1 || p.Depth < 1 {
		return 0, fmt.Errorf("redisbloom: new: %w: %d items, %d by %d cells", bloomery.ErrParameter, p.K, p.Width, p.Depth)
	}
	if !(p.Decay > 0 && p.Decay <= 1) {
		return 0, fmt.Errorf("redisbloom: new: %w: decay %v", bloomery.ErrParameter, p.Decay)
	}
	cells := uint64(p.Width) * uint64(p.Depth)
	slots := slotsBytes(uint64(p.K))
	if cells > maxBytes/topKCellBytes || slots > maxBytes-cells*topKCellBytes {
		return 0, ErrTooLarge
	}
	return topKBytes + slots + cells*topKCellBytes, nil
}

// Add adds 1 to the count of item. If another item had to leave the k most
// frequent for it, Add returns that one and true; it then belongs to the
// caller.
func (t *TopK) Add(item []byte) (expelled []byte, ok bool) { return t.add(item, 1) }

// Incr adds n to the count of item, 0 to MaxIncrement, and returns what Add
// returns. An n out of that range is an error that wraps bloomery.ErrParameter,
// and nothing has changed.
func (t *TopK) Incr(item []byte, n int64) (expelled []byte, ok bool, err error) {
	if n < 0 || n > MaxIncrement {
		return nil, false, fmt.Errorf("redisbloom: incr: %w: increment %d", bloomery.ErrParameter, n)
	}
	expelled, ok = t.add(item, uint32(n))
	return expelled, ok, nil
}

func (t *TopK) add(item []byte, n uint32) (expelled []byte, ok bool) {
	if t.heap.n == 0 {
		panic("redisbloom: change of a zero TopK: make it with NewTopK")
	}
	fp := murmur32(item, seedOfItems)
	best := uint32(0)
	for row := uint32(0); row < t.depth; row += rowSeeds {
		h := rowsOf(item, row)
		for i := range min(rowSeeds, t.depth-row) {
			best = max(best, t.addTo(t.at(row+i, h[i]), fp, n))
		}
	}
	if best < t.heap.at(0).count {
		return nil, false
	}
	if i := t.heap.find(item, fp); i >= 0 {
		s := *t.heap.at(i)
		s.count = best
		t.heap.set(i, s)
		t.heap.siftDown(i)
		return nil, false
	}
	expelled = t.heap.at(0).item
	t.heap.set(0, slot{item: append(make([]byte, 0, len(item)), item...), fp: fp, count: best})
	t.heap.siftDown(0)
	return expelled, expelled != nil
}

// addTo adds n increments of fp to the cell at an offset and returns the count
// that fp has there, 0 if the cell is another's.
func (t *TopK) addTo(at uint64, fp, n uint32) uint32 {
	cell := t.cells[at : at+topKCellBytes]
	old := binary.LittleEndian.Uint64(cell)
	owner, count := uint32(old), uint32(old>>32)
	best := uint32(0)
	switch {
	case count == 0:
		owner, count = fp, n
		best = n
	case owner == fp:
		count = uint32(min(uint64(count)+uint64(n), math.MaxUint32))
		best = count
	default:
		for left := n; left > 0; left-- {
			chance := t.chance(count)
			if chance == 0 {
				break // it will not change
			}
			if chance != math.MaxUint64 && t.random() >= chance {
				continue
			}
			if count--; count == 0 {
				owner, count = fp, left
				best = left
				break
			}
		}
	}
	if v := uint64(owner) | uint64(count)<<32; v != old {
		if t.frozen != nil {
			t.frozen.save(cellsArray, t.cells, int(at), topKCellBytes)
		}
		binary.LittleEndian.PutUint64(cell, v)
	}
	return best
}

// at returns where the cell of a hash is.
func (t *TopK) at(row, h uint32) uint64 {
	return (uint64(row)*t.columns.width + t.columns.of(h)) * topKCellBytes
}

// random is SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom
// number generators", 2014).
func (t *TopK) random() uint64 {
	t.state += 0x9e3779b97f4a7c15
	z := t.state
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// setChances fills the table of chances. Products are rounded one by one, so
// that they are the same bits on every machine.
func (t *TopK) setChances() {
	p := 1.0
	for i := range t.chances {
		t.chances[i] = threshold(p)
		p = float64(p * t.decay)
	}
}

// threshold returns 2^64·p as an integer.
func threshold(p float64) uint64 {
	if p >= 1 {
		return math.MaxUint64
	}
	return uint64(math.Ldexp(p, 64))
}

// chance returns 2^64 times the chance of a decrement of count: decay^count.
// Beyond the table it is made of (decay^255)^(count/255) and the rest.
func (t *TopK) chance(count uint32) uint64 {
	const last = 255
	if count <= last {
		return t.chances[count]
	}
	if t.chances[last] == math.MaxUint64 {
		return math.MaxUint64
	}
	power, factor := t.chances[count%last], t.chances[last]
	for n := count / last; n > 0 && power > 0; n >>= 1 {
		if n&1 != 0 {
			power, _ = bits.Mul64(power, factor)
		}
		factor, _ = bits.Mul64(factor, factor)
	}
	return power
}

// Contains reports whether item is one of those that the sketch keeps.
func (t *TopK) Contains(item []byte) bool {
	return t.heap.find(item, murmur32(item, seedOfItems)) >= 0
}

// Count returns the count of item, also of one that the sketch does not keep.
func (t *TopK) Count(item []byte) uint32 {
	fp := murmur32(item, seedOfItems)
	least := uint32(0)
	if t.heap.find(item, fp) >= 0 {
		least = t.heap.at(0).count
	}
	best := uint32(0)
	for row := uint32(0); row < t.depth; row += rowSeeds {
		h := rowsOf(item, row)
		for i := range min(rowSeeds, t.depth-row) {
			cell := binary.LittleEndian.Uint64(t.cells[t.at(row+i, h[i]):])
			if count := uint32(cell >> 32); uint32(cell) == fp && count >= least {
				best = max(best, count)
			}
		}
	}
	return best
}

// K returns the number of items that the sketch keeps at most.
func (t *TopK) K() uint32 { return uint32(t.heap.n) }

// Width returns the number of cells of a row.
func (t *TopK) Width() uint32 { return uint32(t.columns.width) }

// Depth returns the number of rows.
func (t *TopK) Depth() uint32 { return t.depth }

// Decay returns the base of the chance of a decrement.
func (t *TopK) Decay() float64 { return t.decay }

// Size returns the memory that RedisBloom reports for such a sketch.
func (t *TopK) Size() uint64 {
	return 2088 + uint64(len(t.cells)) + 24*uint64(t.heap.n)
}

// Bytes returns the memory that the sketch takes: what TopKParams.Bytes
// returned, and the items that it keeps. An Add takes at most the length of its
// item more. The rounding of the allocator is not in it.
func (t *TopK) Bytes() uint64 {
	return topKBytes + slotsBytes(uint64(t.heap.n)) + uint64(len(t.cells)) + t.heap.held
}

// TopKStats is the state of a TopK.
type TopKStats struct {
	// Items is the number of items that the sketch keeps with a count.
	Items int
	// Least is the count that an item needs to get in.
	Least uint32
	// Saturation is the share of cells in use, from about 8,000 of them.
	Saturation float64
	// Bytes is the memory of the sketch.
	Bytes uint64
}

// Stats returns the state of the sketch. It visits a sample of the cells.
func (t *TopK) Stats() TopKStats {
	s := TopKStats{Items: t.heap.used, Bytes: t.Bytes()}
	if t.heap.n == 0 {
		return s
	}
	s.Least = t.heap.at(0).count
	const sample = 8192
	cells := len(t.cells) / topKCellBytes
	step := max(cells/sample, 1)
	used, seen := 0, 0
	for i := 0; i < cells; i += step {
		seen++
		if binary.LittleEndian.Uint32(t.cells[i*topKCellBytes+4:]) > 0 {
			used++
		}
	}
	s.Saturation = float64(used) / float64(seen)
	return s
}

// Arrays returns an iterator over the one array that the sketch owns: its
// cells.
func (t *TopK) Arrays() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		if len(t.cells) > 0 {
			yield(t.cells)
		}
	}
}

// Release gives the array to the Arena, that of an open snapshot when that is
// closed, and leaves a zero TopK. Sketches on the Go heap need no Release.
func (t *TopK) Release() {
	if !t.frozen.keeps(cellsArray, t.cells) {
		t.memory.Release(t.cells)
	}
	*t = TopK{}
}
