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
	count, ok := weighted(sources, weights, func(s *CountMin) uint64 { return s.count })
	if !ok || count < 0 {
		return ErrOverflow
	}
	for at := 0; at < len(c.cells); at += cellBytes {
		if v, ok := weighted(sources, weights, cellAt(at)); !ok || v < 0 || v > math.MaxUint32 {
			return ErrOverflow
		}
	}
	if c.frozen != nil {
		c.frozen.save(0, c.cells, 0, len(c.cells))
	}
	for at := 0; at < len(c.cells); at += cellBytes {
		v, _ := weighted(sources, weights, cellAt(at))
		binary.LittleEndian.PutUint32(c.cells[at:], uint32(v))
	}
	c.count = uint64(count)
	return nil
}

// cellAt returns a function that reads the counter at an offset.
func cellAt(at int) func(*CountMin) uint64 {
	return func(s *CountMin) uint64 { return uint64(binary.LittleEndian.Uint32(s.cells[at:])) }
}

// weighted returns the weighted sum of a value of the sources. It reports false
// if a product or a sum on the way is not an int64.
func weighted(sources []*CountMin, weights []int64, value func(*CountMin) uint64) (sum int64, ok bool) {
	for i, s := range sources {
		weight := int64(1)
		if weights != nil {
			weight = weights[i]
		}
		v, fits := product(weight, value(s))
		if !fits {
			return 0, false
		}
		next := sum + v
		if (next > sum) != (v > 0) && v != 0 {
			return 0, false
		}
		sum = next
	}
	return sum, true
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
