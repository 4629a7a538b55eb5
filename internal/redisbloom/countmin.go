package redisbloom

import (
	"encoding/binary"
	"fmt"
	"iter"
	"math"
	"math/bits"
	"slices"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/internal/memory"
)

const (
	cellBytes     = 4
	countMinBytes = 72 // of memory, without the cells; a test holds it
)

// CountMinParams describes a count-min sketch to make.
type CountMinParams struct {
	_ struct{}
	// Width is the number of counters of a row, at least 1.
	Width uint64
	// Depth is the number of rows, at least 1.
	Depth uint64
	// Memory places the counters. Nil means the Go heap.
	Memory *memory.Arena
}

// CountMinFor returns the parameters of a sketch that overestimates by more
// than rate times the sum of all increments with at most this probability, as
// CMS.INITBYPROB chooses them. Both are in (0, 1). The error wraps
// bloomery.ErrParameter.
func CountMinFor(rate, probability float64) (CountMinParams, error) {
	if !(rate > 0 && rate < 1) {
		return CountMinParams{}, fmt.Errorf("redisbloom: new: %w: rate %v", bloomery.ErrParameter, rate)
	}
	if !(probability > 0 && probability < 1) {
		return CountMinParams{}, fmt.Errorf("redisbloom: new: %w: probability %v", bloomery.ErrParameter, probability)
	}
	width := math.Ceil(2 / rate)
	depth := math.Ceil(float64(log10(probability) / log10(0.5)))
	// In 32 bits a probability can become 0 or 1, and the depth Inf or 0.
	if !(width < 1<<63) || !(depth >= 1 && depth < 1<<31) {
		return CountMinParams{}, fmt.Errorf("redisbloom: new: %w: %v by %v counters", bloomery.ErrParameter, width, depth)
	}
	return CountMinParams{Width: uint64(width), Depth: uint64(depth)}, nil
}

// log10 is the logarithm of RedisBloom's sizing, in single precision.
func log10(x float64) float32 { return float32(math.Log10(float64(float32(x)))) }

// CountMin is RedisBloom's CMS, a count-min sketch: it counts how often items
// occurred, in space that does not depend on their number. Make it with
// [NewCountMin] or [DecodeCountMin].
//
// A count is never too low. It is too high by more than 2/width of the sum of
// all increments with probability at most 2^-depth. That holds for each item
// asked by itself, and for items that were not chosen to collide: the hash has
// no secret. Counters stop at 4,294,967,295, which then means "at least".
// [CountMin.Merge] with negative weights voids the bound.
//
// Safe for concurrent readers; a writer needs exclusion.
type CountMin struct {
	columns columns
	depth   uint64
	count   uint64
	cells   []byte // rows of uint32, little-endian
	frozen  *Frozen
	memory  *memory.Arena
}

// NewCountMin returns a sketch of zeros. The error wraps bloomery.ErrParameter
// or bloomery.ErrTooLarge, or is that of Memory.Alloc.
func NewCountMin(p CountMinParams) (*CountMin, error) {
	total, err := p.Bytes()
	if err != nil {
		return nil, err
	}
	cells, err := p.Memory.Bytes(total-countMinBytes, total)
	if err != nil {
		return nil, fmt.Errorf("redisbloom: new: %w", err)
	}
	return &CountMin{columns: newColumns(p.Width), depth: p.Depth, cells: cells, memory: p.Memory}, nil
}

// Bytes returns how much memory NewCountMin would allocate, or its error. It
// allocates nothing.
func (p CountMinParams) Bytes() (uint64, error) {
	if p.Width < 1 || p.Depth < 1 {
		return 0, fmt.Errorf("redisbloom: new: %w: %d by %d counters", bloomery.ErrParameter, p.Width, p.Depth)
	}
	hi, n := bits.Mul64(p.Width, p.Depth)
	if hi != 0 || n > maxBytes/cellBytes {
		return 0, ErrTooLarge
	}
	return countMinBytes + n*cellBytes, nil
}

// Incr adds n to the count of item and returns the new count. A count of
// math.MaxUint32 means that it is that or more.
func (c *CountMin) Incr(item []byte, n uint64) uint32 {
	c.mustBeMade()
	c.count += n
	least := uint32(math.MaxUint32)
	for row := uint64(0); row < c.depth; row += rowSeeds {
		h := rowsOf(item, uint32(row))
		for i := range min(rowSeeds, c.depth-row) {
			least = min(least, c.add(row+i, h[i], n))
		}
	}
	return least
}

// add adds n to one counter and returns it.
func (c *CountMin) add(row uint64, h uint32, n uint64) uint32 {
	at := c.at(row, h)
	v := uint64(binary.LittleEndian.Uint32(c.cells[at:]))
	sum := uint32(min(v+min(n, math.MaxUint32), math.MaxUint32))
	if c.frozen != nil {
		c.frozen.save(0, c.cells, int(at), cellBytes)
	}
	binary.LittleEndian.PutUint32(c.cells[at:], sum)
	return sum
}

// at returns where the counter of a hash is.
func (c *CountMin) at(row uint64, h uint32) uint64 {
	return (row*c.columns.width + c.columns.of(h)) * cellBytes
}

// Count returns the count of item: 0 for one that certainly did not occur.
func (c *CountMin) Count(item []byte) uint32 {
	if c.depth == 0 {
		return 0
	}
	least := uint32(math.MaxUint32)
	for row := uint64(0); row < c.depth; row += rowSeeds {
		h := rowsOf(item, uint32(row))
		for i := range min(rowSeeds, c.depth-row) {
			least = min(least, binary.LittleEndian.Uint32(c.cells[c.at(row+i, h[i]):]))
		}
	}
	return least
}

// AppendCountMinHashes appends the hashes of item to dst, four bytes for each of depth
// rows: all that a sketch of that depth needs to know of it. They can be computed
// outside of locks and kept in logs.
func AppendCountMinHashes(dst, item []byte, depth uint64) []byte {
	at, size := len(dst), int(depth)*cellBytes
	// The rows are hashed by fours: what is behind the last one is cut off.
	const four = rowSeeds * cellBytes
	dst = slices.Grow(dst, size+four)[:at+size+four]
	for row := uint64(0); row < depth; row += rowSeeds {
		h0, h1, h2, h3 := murmurRows(item, uint32(row))
		to := dst[at+int(row)*cellBytes:][:four]
		binary.LittleEndian.PutUint64(to, uint64(h0)|uint64(h1)<<32)
		binary.LittleEndian.PutUint64(to[8:], uint64(h2)|uint64(h3)<<32)
	}
	return dst[:at+size]
}

// HashBytes returns the length of the hashes of an item: see [AppendCountMinHashes].
func (c *CountMin) HashBytes() int { return int(c.depth) * cellBytes }

// IncrHashes is Incr for an item by its hashes. It panics if they are not
// HashBytes long.
func (c *CountMin) IncrHashes(hs []byte, n uint64) uint32 {
	c.mustBeMade()
	if len(hs) != c.HashBytes() {
		panic(fmt.Sprintf("redisbloom: %d bytes of hashes for %d rows", len(hs), c.depth))
	}
	c.count += n
	least := uint32(math.MaxUint32)
	if c.frozen != nil || n > math.MaxUint32 || c.columns.width > math.MaxUint32 {
		for row := range c.depth {
			least = min(least, c.add(row, binary.LittleEndian.Uint32(hs[row*cellBytes:]), n))
		}
		return least
	}
	cells, inverse, width, from := c.cells, c.columns.inverse, c.columns.width, uint64(0)
	for ; len(hs) >= cellBytes; hs = hs[cellBytes:] {
		column, _ := bits.Mul64(inverse*uint64(binary.LittleEndian.Uint32(hs)), width)
		cell := cells[(from+column)*cellBytes:][:cellBytes]
		sum := uint32(min(uint64(binary.LittleEndian.Uint32(cell))+n, math.MaxUint32))
		binary.LittleEndian.PutUint32(cell, sum)
		least = min(least, sum)
		from += width
	}
	return least
}

func (c *CountMin) mustBeMade() {
	if c.depth == 0 {
		panic("redisbloom: change of a zero CountMin: make it with NewCountMin")
	}
}

// Width returns the number of counters of a row.
func (c *CountMin) Width() uint64 { return c.columns.width }

// Depth returns the number of rows.
func (c *CountMin) Depth() uint64 { return c.depth }

// Total returns the sum of all increments, modulo 2^64. RedisBloom shows it, as
// "count", as a signed number.
func (c *CountMin) Total() uint64 { return c.count }

// Size returns the memory that RedisBloom reports for such a sketch.
func (c *CountMin) Size() uint64 { return 32 + uint64(len(c.cells)) }

// Bytes returns the memory that the sketch takes: what CountMinParams.Bytes
// returned. It never grows.
func (c *CountMin) Bytes() uint64 { return countMinBytes + uint64(len(c.cells)) }

// CountMinStats is what a CountMin bounds.
type CountMinStats struct {
	// Rate and Probability: a count is too high by more than Rate·Total with
	// at most this probability.
	Rate, Probability float64
	// Bytes is the memory of the sketch.
	Bytes uint64
}

// Stats returns what the sketch bounds.
func (c *CountMin) Stats() CountMinStats {
	s := CountMinStats{Bytes: c.Bytes()}
	if c.depth > 0 {
		s.Rate = min(2/float64(c.columns.width), 1)
		s.Probability = math.Ldexp(1, -int(min(c.depth, 2000)))
	}
	return s
}

// Arrays returns an iterator over the one array that the sketch owns.
func (c *CountMin) Arrays() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		if len(c.cells) > 0 {
			yield(c.cells)
		}
	}
}

// Release gives the array to the Arena, that of an open snapshot when that is
// closed, and leaves a zero CountMin. Sketches on the Go heap need no Release.
func (c *CountMin) Release() {
	drop(c.memory, c.frozen, c.Arrays())
	*c = CountMin{}
}
