package redisbloom

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"

	"github.com/bloomery/bloomery"
)

// Merge replaces the counts of c by the sum of weights[i]·sources[i]; c may be
// one of the sources, and nil weights are all 1. All sketches must have the
// same width and depth, or the error wraps bloomery.ErrIncompatible. If a
// product or a sum on the way leaves the signed 64-bit integers, a counter
// would be negative or above 4,294,967,295, or the sum of all increments
// negative, the error is ErrOverflow. On error nothing has changed.
func (c *CountMin) Merge(sources []*CountMin, weights []int64) error {
	c.mustBeMade()
	if weights != nil && len(weights) != len(sources) {
		return fmt.Errorf("redisbloom: merge: %w: %d weights for %d sketches", bloomery.ErrParameter, len(weights), len(sources))
	}
	for _, s := range sources {
		if s.columns.width != c.columns.width || s.depth != c.depth {
			return fmt.Errorf("redisbloom: merge: %w: %d by %d counters and %d by %d", bloomery.ErrIncompatible,
				c.columns.width, c.depth, s.columns.width, s.depth)
		}
	}
	count, ok := int64(0), true
	for i, s := range sources {
		count, ok = plus(count, s.count, weightAt(weights, i), ok)
	}
	if !ok || count < 0 {
		return ErrOverflow
	}
	// All sums are made twice: the first time to see whether they fit.
	var buf [mergePiece / cellBytes]int64
	sum := CellSum{sums: buf[:]}
	for _, keep := range []bool{false, true} {
		if keep && c.frozen != nil {
			c.frozen.save(0, c.cells, 0, len(c.cells))
		}
		for at := 0; at < len(c.cells); at += mergePiece {
			to := min(at+mergePiece, len(c.cells))
			sum.Begin(to - at)
			for i, s := range sources {
				sum.Add(s.cells[at:to], weightAt(weights, i))
			}
			switch {
			case !sum.Fits():
				return ErrOverflow
			case keep:
				sum.Put(c.cells[at:to])
			}
		}
	}
	c.count = uint64(count)
	return nil
}

// mergePiece is how many bytes of a sketch are summed up at a time: they fit into the
// nearest cache.
const mergePiece = 8 << 10

func weightAt(weights []int64, i int) int64 {
	if weights == nil {
		return 1
	}
	return weights[i]
}

// SumTotals returns the weighted sum of the totals of sketches, as [CountMin.Merge]
// does; nil weights are all 1. The error is ErrOverflow.
func SumTotals(totals []uint64, weights []int64) (uint64, error) {
	sum, ok := int64(0), true
	for i, v := range totals {
		sum, ok = plus(sum, v, weightAt(weights, i), ok)
	}
	if !ok || sum < 0 {
		return 0, ErrOverflow
	}
	return uint64(sum), nil
}

// plus adds a total with a weight to a sum. It reports false if ok is, or if a product or
// the sum is not an int64.
func plus(sum int64, total uint64, weight int64, ok bool) (int64, bool) {
	p, fits := product(weight, total)
	next := sum + p
	return next, ok && fits && overflows(sum, p, next) >= 0
}

// CellSum sums up counters of several sketches that stand at the same places, as
// [CountMin.Merge] does: sketches that are too large to be merged under a lock are merged
// in pieces. The zero value is ready for Begin.
type CellSum struct {
	sums []int64
	over int64 // negative if a sum has left the signed 64-bit integers
}

// Begin begins the sum of so many bytes of counters.
func (s *CellSum) Begin(bytes int) {
	if n := bytes / cellBytes; cap(s.sums) < n {
		s.sums = make([]int64, n)
	} else {
		s.sums = s.sums[:n]
		clear(s.sums)
	}
	s.over = 0
}

// Add adds the counters of a sketch with a weight. It panics if there are fewer than
// Begin has said.
func (s *CellSum) Add(cells []byte, weight int64) {
	const most = 1 << 31 // with a larger weight a product may overflow
	sums, over := s.sums, s.over
	cells = cells[:len(sums)*cellBytes]
	if weight > most || weight < -most {
		s.addLarge(cells, weight)
		return
	}
	for i := range sums {
		p := weight * int64(binary.LittleEndian.Uint32(cells[i*cellBytes:]))
		next := sums[i] + p
		over |= overflows(sums[i], p, next)
		sums[i] = next
	}
	s.over = over
}

func (s *CellSum) addLarge(cells []byte, weight int64) {
	for i := range s.sums {
		p, ok := product(weight, uint64(binary.LittleEndian.Uint32(cells[i*cellBytes:])))
		next := s.sums[i] + p
		if s.over |= overflows(s.sums[i], p, next); !ok {
			s.over = -1
		}
		s.sums[i] = next
	}
}

// overflows returns a negative number if next, the sum of a and b, has overflowed.
func overflows(a, b, next int64) int64 { return (a ^ next) & (b ^ next) }

// Fits reports whether all sums are counters.
func (s *CellSum) Fits() bool {
	for _, v := range s.sums {
		if v < 0 || v > math.MaxUint32 {
			return false
		}
	}
	return s.over >= 0
}

// Put writes the sums, which fit, as counters.
func (s *CellSum) Put(dst []byte) {
	for i, v := range s.sums {
		binary.LittleEndian.PutUint32(dst[i*cellBytes:], uint32(v))
	}
}

// product returns a·b. It reports false if that is not an int64.
func product(a int64, b uint64) (int64, bool) {
	size := uint64(a)
	if a < 0 {
		size = -size
	}
	hi, lo := bits.Mul64(size, b)
	switch {
	case hi != 0:
		return 0, false
	case a < 0:
		return -int64(lo), lo <= 1<<63
	}
	return int64(lo), lo <= math.MaxInt64
}
