package redisbloom

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"iter"
	"math"
	"math/bits"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/internal/memory"
)

var _ bloomery.Filter = (*Cuckoo)(nil)

const (
	cuckooBytes = 96 // of memory, without the sub-filters; a test holds it
	subBytes    = 32 // of memory, for a sub-filter without its array; a test holds it

	// maxFilters is the largest number of sub-filters of a cuckoo filter.
	maxFilters = 1 << 22

	// maxBucket is the largest number of slots of a bucket: RedisBloom keeps it in a byte.
	maxBucket = 255
)

// CuckooParams describes a cuckoo filter to make.
type CuckooParams struct {
	_ struct{}
	// Capacity is the number of items of the first sub-filter,
	// 2·BucketSize to MaxCapacity; the number of buckets is rounded up to a
	// power of two.
	Capacity uint64
	// BucketSize is the number of slots of a bucket, 1 to 255.
	BucketSize uint16
	// MaxIterations is how often an insert may kick an item out of its slot
	// before the filter grows, 1 to 65535.
	MaxIterations uint16
	// Expansion is the factor from sub-filter to sub-filter, at most
	// MaxExpansion, rounded up to a power of two. 0 means that the filter
	// never grows.
	Expansion uint16
	// Memory places the sub-filters. Nil means the Go heap.
	Memory *memory.Arena
}

// Cuckoo is RedisBloom's CF: a list of cuckoo filters with one byte per item.
// Make it with [NewCuckoo], from a [CuckooHeader] or with [DecodeCuckoo]. The
// zero value contains nothing and can only be unmarshaled into.
//
// Safe for concurrent readers; a writer needs exclusion.
type Cuckoo struct {
	items     uint64
	deletes   uint64
	buckets   uint64 // of the first sub-filter
	slots     uint64 // of all sub-filters
	subs      []sub  // oldest first
	frozen    *Frozen
	memory    *memory.Arena
	full      *fullTable // nil below fullFrom sub-filters
	sweep     *sweep     // while the filter is compacted in pieces
	bucket    uint16     // slots per bucket
	maxKicks  uint16
	expansion uint16
}

// sub is one sub-filter: n buckets, one after another.
type sub struct {
	data []byte
	n    uint64
}

// NewCuckoo returns an empty filter. The error wraps bloomery.ErrParameter or
// bloomery.ErrTooLarge, or is that of Memory.Alloc.
func NewCuckoo(p CuckooParams) (*Cuckoo, error) {
	h, err := p.header()
	if err != nil {
		return nil, err
	}
	c, err := h.make(p.Memory)
	if err != nil {
		return nil, fmt.Errorf("redisbloom: new: %w", err)
	}
	return c, nil
}

// Bytes returns how much memory NewCuckoo would allocate, or its error. It
// allocates nothing.
func (p CuckooParams) Bytes() (uint64, error) {
	h, err := p.header()
	return h.bytes, err
}

func (p CuckooParams) header() (CuckooHeader, error) {
	if p.BucketSize < 1 || p.BucketSize > maxBucket {
		return CuckooHeader{}, fmt.Errorf("redisbloom: new: %w: bucket size %d", bloomery.ErrParameter, p.BucketSize)
	}
	if p.MaxIterations < 1 {
		return CuckooHeader{}, fmt.Errorf("redisbloom: new: %w: 0 iterations", bloomery.ErrParameter)
	}
	if p.Expansion > MaxExpansion {
		return CuckooHeader{}, fmt.Errorf("redisbloom: new: %w: expansion %d", bloomery.ErrParameter, p.Expansion)
	}
	if p.Capacity < 2*uint64(p.BucketSize) || p.Capacity > MaxCapacity {
		return CuckooHeader{}, fmt.Errorf("redisbloom: new: %w: capacity %d", bloomery.ErrParameter, p.Capacity)
	}
	h := CuckooHeader{
		buckets:   nextPower(p.Capacity / uint64(p.BucketSize)),
		filters:   1,
		bucket:    p.BucketSize,
		maxKicks:  p.MaxIterations,
		expansion: uint16(nextPower(uint64(p.Expansion))),
	}
	if !h.measure() {
		return CuckooHeader{}, ErrTooLarge
	}
	return h, nil
}

// nextPower returns the smallest power of two that is at least n, and 0 for 0.
func nextPower(n uint64) uint64 {
	if n == 0 {
		return 0
	}
	return 1 << bits.Len64(n-1)
}

// fingerprint returns the byte that is stored for h; it is never 0.
func fingerprint(h uint64) byte { return byte(h%255) + 1 }

// other leads from the hash, or the bucket, of an item to its other one.
func other(h uint64, fp byte) uint64 { return h ^ uint64(fp)*murmurM32 }

// bucket returns h mod n.
func (s *sub) bucket(h uint64) uint64 {
	if s.n&(s.n-1) == 0 {
		return h & (s.n - 1)
	}
	return h % s.n
}

// at returns the index of the first slot of bucket h mod n.
func (s *sub) at(h uint64, size int) int { return int(s.bucket(h)) * size }

// Contains reports whether key may be in the filter.
func (c *Cuckoo) Contains(key []byte) bool { return c.ContainsDigest(CuckooDigest(key)) }

// ContainsDigest is Contains for a key whose digest is h. Its cost grows with
// the number of sub-filters.
func (c *Cuckoo) ContainsDigest(h uint64) bool {
	fp := fingerprint(h)
	h2 := other(h, fp)
	size := int(c.bucket)
	var n uint64
	var i, j int
	for k := range c.subs {
		s := &c.subs[k]
		if s.n != n { // sub-filters of one size share their positions
			n, i, j = s.n, s.at(h, size), s.at(h2, size)
		}
		if search(s.data, i, j, size, fp) >= 0 {
			return true
		}
	}
	return false
}

// ContainsDigests sets dst[i] to ContainsDigest(hs[i]). It panics if dst is
// shorter than hs.
func (c *Cuckoo) ContainsDigests(dst []bool, hs []uint64) {
	dst = dst[:len(hs)]
	for len(hs) > 0 {
		n := min(len(hs), group)
		if n == 1 {
			dst[0] = c.ContainsDigest(hs[0])
		} else {
			c.hasGroup(dst[:n], hs[:n])
		}
		dst, hs = dst[n:], hs[n:]
	}
}

// Count returns an upper bound of how often key is in the filter: the number
// of slots in its two buckets, over all sub-filters, that hold its fingerprint.
// As in RedisBloom a key whose two buckets are the same one counts twice.
func (c *Cuckoo) Count(key []byte) uint64 { return c.CountDigest(CuckooDigest(key)) }

// CountDigest is Count for a key whose digest is h.
func (c *Cuckoo) CountDigest(h uint64) uint64 {
	fp := fingerprint(h)
	h2 := other(h, fp)
	size := int(c.bucket)
	var n, sum uint64
	var i, j int
	for k := range c.subs {
		s := &c.subs[k]
		if s.n != n {
			n, i, j = s.n, s.at(h, size), s.at(h2, size)
		}
		sum += count(s.data[i:i+size], fp) + count(s.data[j:j+size], fp)
	}
	return sum
}

// search returns the index of v in data[i:i+size] or else in data[j:j+size], or
// -1. The usual bucket sizes are compared in one word, the bucket at i in its
// lower half.
func search(data []byte, i, j, size int, v byte) int {
	const ones = 0x0101010101010101
	le := binary.LittleEndian
	var w uint64
	switch size {
	case 2:
		w = uint64(le.Uint16(data[i:])) | uint64(le.Uint16(data[j:]))<<16
		w = (w ^ uint64(v)*ones) | ^uint64(1<<32-1)
	case 4:
		w = uint64(le.Uint32(data[i:])) | uint64(le.Uint32(data[j:]))<<32
		w ^= uint64(v) * ones
	default:
		if k := find(data[i:i+size], v); k >= 0 {
			return i + k
		}
		if k := find(data[j:j+size], v); k >= 0 {
			return j + k
		}
		return -1
	}
	w = (w - ones) &^ w & (ones << 7) // the lowest bit is that of the first byte that is 0
	if w == 0 {
		return -1
	}
	k := bits.TrailingZeros64(w) / 8
	if k < size {
		return i + k
	}
	return j + k - size
}

// large is from which size on a bucket is worth a call that compares many slots at once.
const large = 8

// find returns the index of v in bucket, or -1.
func find(bucket []byte, v byte) int {
	if len(bucket) >= large {
		return bytes.IndexByte(bucket, v)
	}
	for i, b := range bucket {
		if b == v {
			return i
		}
	}
	return -1
}

func count(bucket []byte, v byte) (n uint64) {
	if len(bucket) >= large {
		return uint64(bytes.Count(bucket, []byte{v}))
	}
	for _, b := range bucket {
		if b == v {
			n++
		}
	}
	return n
}

// Items returns the number of items: inserts less deletes.
func (c *Cuckoo) Items() uint64 { return c.items }

// Deletes returns the number of deletes since the filter was last compacted.
func (c *Cuckoo) Deletes() uint64 { return c.deletes }

// Buckets returns the number of buckets of the first sub-filter.
func (c *Cuckoo) Buckets() uint64 { return c.buckets }

// Filters returns the number of sub-filters.
func (c *Cuckoo) Filters() int { return len(c.subs) }

// BucketSize returns the number of slots of a bucket.
func (c *Cuckoo) BucketSize() uint16 { return c.bucket }

// MaxIterations returns how many kicks an insert may take.
func (c *Cuckoo) MaxIterations() uint16 { return c.maxKicks }

// Expansion returns the factor from sub-filter to sub-filter, 0 if the filter
// never grows.
func (c *Cuckoo) Expansion() uint16 { return c.expansion }

// Size returns the memory that RedisBloom reports for such a filter.
func (c *Cuckoo) Size() uint64 { return 56 + 16*uint64(len(c.subs)-1) + c.slots }

// Bytes returns the memory that the filter takes: what CuckooParams.Bytes
// returned, and GrowBytes since. The rounding of the allocator is not in it.
func (c *Cuckoo) Bytes() uint64 { return overhead(uint64(len(c.subs))) + c.slots }

// Arrays returns an iterator over the arrays that the filter owns, oldest
// sub-filter first: what an owner of their memory needs to count references.
// They are valid until the filter changes.
func (c *Cuckoo) Arrays() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for i := range c.subs {
			if !yield(c.subs[i].data) {
				return
			}
		}
	}
}

// Release gives the arrays to the Arena, those of an open snapshot when that
// is closed, and leaves a zero Cuckoo. Filters on the Go heap need no Release.
func (c *Cuckoo) Release() {
	drop(c.memory, c.frozen, c.Arrays())
	*c = Cuckoo{}
}

// GrowBytes returns what the next sub-filter would allocate, and 0 if the
// filter cannot grow. A single insert takes at most that.
func (c *Cuckoo) GrowBytes() uint64 {
	n, ok := c.nextBuckets()
	if !ok {
		return 0
	}
	return c.growBytes(n)
}

// growBytes returns what a sub-filter of n buckets adds to Bytes.
func (c *Cuckoo) growBytes(n uint64) uint64 {
	filters := uint64(len(c.subs))
	return n*uint64(c.bucket) + overhead(filters+1) - overhead(filters)
}

// nextBuckets returns the number of buckets of the next sub-filter. It reports
// false if there can be none.
func (c *Cuckoo) nextBuckets() (uint64, bool) {
	if c.expansion == 0 || len(c.subs) >= maxFilters {
		return 0, false
	}
	n, ok := power(c.buckets, uint64(c.expansion), uint64(len(c.subs)))
	if !ok || n > maxBytes/uint64(c.bucket) || n*uint64(c.bucket) > maxBytes-c.slots {
		return 0, false
	}
	return n, true
}

// power returns n·x^i. It reports false if that is 2^63 or more.
func power(n, x, i uint64) (uint64, bool) {
	if x == 1 {
		return n, n <= math.MaxInt64
	}
	for range i {
		hi, lo := bits.Mul64(n, x)
		if hi != 0 || lo > math.MaxInt64 {
			return 0, false
		}
		if n = lo; n == 0 {
			return 0, true
		}
	}
	return n, true
}
