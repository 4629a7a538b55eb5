package sizing

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/bloomery/bloomery"
)

const (
	// MaxBits is the largest array this package describes.
	MaxBits = 1 << 63
	// MinBits is the smallest array that Size returns. A key's bits collide
	// with each other too often in less, and a cache line is 512 bits anyway.
	// Split, where they cannot collide, begins with one block.
	MinBits = 512
	// BlockBits is the size of a block of the Blocked layout: one cache line.
	BlockBits = lanes * laneBits
	// MinBlockedRate is the lowest rate that Blocked.Size takes. Below it the
	// standard layout needs less than three quarters of the bits.
	MinBlockedRate = 1e-6
	// SplitBits is the size of a block of the Split layout: half a cache line.
	SplitBits = lanes * splitLaneBits
	// MaxSplitBits is the largest array of the Split layout, which finds the
	// block by 32 bits of the hash.
	MaxSplitBits = SplitBits << 32
	// MinSplitRate is the lowest rate that Split.Size takes. Already there the
	// standard layout needs less than half of the bits.
	MinSplitRate = 1e-6

	maxStandardK = 64
	maxBlockedK  = 2 * lanes
	splitK       = lanes
)

// Layout is where the bits of a key lie.
type Layout uint8

// The layouts.
const (
	// Standard is the textbook layout: k independent bits anywhere.
	Standard Layout = iota
	// Blocked keeps all bits of a key in one block of 512 bits, 8 lanes of 64.
	// Up to k = 8 a key has one bit in each of k neighbouring lanes, the first
	// of them chosen at random and the last lane followed by the first. From
	// k = 9 it has one bit in every lane and a second one in k-8 such lanes.
	Blocked
	// Split is the layout of Parquet files: blocks of 256 bits, 8 lanes of 32,
	// and one bit of a key in every lane of its block. K is always 8.
	Split
	// Partitioned cuts the array into k slices of the same length. A key has
	// one bit in each.
	Partitioned
)

// trait is what distinguishes a layout beside its formulas.
type trait struct {
	name       string
	minK, maxK int
	unit       uint64  // sizes are multiples of it
	least      uint64  // the smallest array that Size returns
	most       uint64  // the largest array
	minRate    float64 // the lowest rate worth asking for, 0 for any
}

var traits = [...]trait{
	Standard: {"standard", 1, maxStandardK, 1, MinBits, MaxBits, 0},
	Blocked:  {"blocked", 1, maxBlockedK, BlockBits, BlockBits, MaxBits, MinBlockedRate},
	Split:    {"split", splitK, splitK, SplitBits, SplitBits, MaxSplitBits, MinSplitRate},
	// Sizes are multiples of k, too, which no row can say.
	Partitioned: {"partitioned", 1, maxStandardK, 1, MinBits, MaxBits, 0},
}

// trait returns the traits of the layout. Those of an unknown one allow
// nothing.
func (l Layout) trait() trait {
	if int(l) < len(traits) {
		return traits[l]
	}
	return trait{unit: 1}
}

// String returns the name of the layout in lower case.
func (l Layout) String() string {
	if name := l.trait().name; name != "" {
		return name
	}
	return fmt.Sprintf("Layout(%d)", uint8(l))
}

// Unit returns the number of bits that sizes are multiples of: 1, or those of
// a block.
func (l Layout) Unit() uint64 { return l.trait().unit }

// Shape is the size of a filter's array. The zero value is not a usable shape.
//
// Rate, Fill and Count answer for any shape and any number, NaN included, and
// never with NaN: what makes no sense is answered like a full filter.
//
// Safe for concurrent use.
type Shape struct {
	Layout Layout
	Bits   uint64 // size of the array
	K      int    // bits set by a key
}

// Valid returns nil if s is a usable shape, else an error that wraps
// ErrParameter or ErrTooLarge and names the cause.
func (s Shape) Valid() error {
	if err := s.check(); err != nil {
		return about("shape", err)
	}
	return nil
}

func (s Shape) check() error {
	switch t := s.Layout.trait(); {
	case t.maxK == 0:
		return fmt.Errorf("%w: unknown layout %d", bloomery.ErrParameter, uint8(s.Layout))
	case s.Bits == 0:
		return fmt.Errorf("%w: 0 bits", bloomery.ErrParameter)
	case s.Bits > t.most:
		return fmt.Errorf("%w: %d bits, at most 2^%d", bloomery.ErrTooLarge, s.Bits, bits.TrailingZeros64(t.most))
	case s.Bits%t.unit != 0:
		return fmt.Errorf("%w: %d bits are not whole blocks of %d", bloomery.ErrParameter, s.Bits, t.unit)
	case s.K < t.minK || s.K > t.maxK:
		return s.Layout.wrongHashes(s.K)
	case s.Layout == Partitioned && s.Bits%uint64(s.K) != 0:
		return fmt.Errorf("%w: %d bits are not %d slices of equal length", bloomery.ErrParameter, s.Bits, s.K)
	}
	return nil
}

// wrongHashes is the error for a k that the layout does not take.
func (l Layout) wrongHashes(k int) error {
	t := l.trait()
	if t.minK == t.maxK {
		return fmt.Errorf("%w: k = %d, the %s layout takes %d", bloomery.ErrParameter, k, t.name, t.maxK)
	}
	return fmt.Errorf("%w: k = %d, the %s layout takes %d to %d", bloomery.ErrParameter, k, t.name, t.minK, t.maxK)
}

// usable is check without the message, for the methods that must be cheap.
func (s Shape) usable() bool {
	t := s.Layout.trait()
	return s.Bits != 0 && s.Bits <= t.most && s.Bits%t.unit == 0 && s.K >= t.minK && s.K <= t.maxK &&
		(s.Layout != Partitioned || s.Bits%uint64(s.K) == 0)
}

// Rate returns the predicted false positive rate of a filter that holds n
// distinct keys: the probability that a key that was never added is found. It
// is 0 for n <= 0, 1 for +Inf, and grows with n, up to rounding in the last
// digits. It takes about a microsecond; the first call for each k of the
// blocked layout takes up to a millisecond more.
func (s Shape) Rate(n float64) float64 {
	switch {
	case n <= 0:
		return 0
	case !s.usable() || math.IsNaN(n) || math.IsInf(n, 1):
		return 1
	case s.Layout == Blocked:
		return blockModel(s.K).rate(n, float64(s.Bits/BlockBits))
	case s.Layout == Split:
		return splitModel().rate(n, float64(s.Bits/SplitBits))
	case s.Layout == Partitioned:
		return partitionedRate(n, float64(s.Bits/uint64(s.K)), s.K)
	}
	return standardRate(n, float64(s.Bits), s.K)
}

// Fill returns the expected share of set bits after n distinct keys: 0 for
// n <= 0, and 1 for +Inf.
func (s Shape) Fill(n float64) float64 {
	switch {
	case n <= 0:
		return 0
	case !s.usable() || math.IsNaN(n):
		return 1
	}
	return -math.Expm1(n * s.logClear())
}

// Count returns the number of distinct keys after which the expected share of
// set bits is fill. It is the inverse of Fill: 0 for fill <= 0, +Inf for
// fill >= 1.
func (s Shape) Count(fill float64) float64 {
	switch {
	case fill <= 0:
		return 0
	case !s.usable() || math.IsNaN(fill) || fill >= 1:
		return math.Inf(1)
	}
	return math.Log1p(-fill) / s.logClear()
}

// logClear returns the logarithm of the probability that one key leaves a
// given bit alone.
func (s Shape) logClear() float64 {
	m, k := float64(s.Bits), float64(s.K)
	if s.Layout == Standard {
		return k * math.Log1p(-1/m)
	}
	if s.Layout == Split || s.Layout == Partitioned {
		return math.Log1p(-k / m) // 1 bit of 32 in 1 block of m/256, or 1 bit of m/k in each slice
	}
	hit := k / BlockBits // in the key's own block
	if s.K > lanes {
		// One throw at the lane for certain, a second with chance (k-8)/8.
		hit = 1 - (laneBits-1)/float64(laneBits)*(1-(k-lanes)/BlockBits)
	}
	return math.Log1p(-hit * BlockBits / m)
}
