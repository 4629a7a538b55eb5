package counting

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/internal/kernel"
	"github.com/bloomery/bloomery/sizing"
)

// sampleBlocks is how many blocks are looked at for shares that need not be
// exact, 64 KiB of bits.
const sampleBlocks = 1024

// unitePlanes adds the counts of o to those of f, in planes. A sum that is too large
// for a counter makes it full.
func (f *table) unitePlanes(o *table) {
	width := f.size.Width
	for block := range f.blocks {
		mine, theirs := &f.blocks[block], &o.blocks[block]
		to, from := f.planes[block*width:][:width], o.planes[block*width:][:width]
		for i := range mine {
			// Where both have a bit, its second key counts.
			carry := mine[i] & theirs[i]
			mine[i] |= theirs[i]
			for j := range to {
				x, y := to[j][i], from[j][i]
				to[j][i] = x ^ y ^ carry
				carry = x&y | carry&(x|y)
			}
			for j := range to {
				to[j][i] |= carry
			}
		}
	}
}

// soundPlanes checks that counters of clear bits are 0, as they must be.
func (f *table) soundPlanes() error {
	width := f.size.Width
	for i := range f.planes {
		block := i / width
		for lane, w := range f.planes[i] {
			if w &^= f.blocks[block][lane]; w != 0 {
				return fmt.Errorf("%w: bit %d is clear and has a counter", bloomery.ErrCorrupt, block*sizing.BlockBits+lane*64+bits.TrailingZeros64(w))
			}
		}
	}
	return nil
}

// stats describes the state of a filter whose array is as full as its keys made
// it.
func (f *table) stats() bloomery.Stats {
	return f.statsBy(func(fill float64) (keys, rate float64) {
		keys = f.size.Count(fill)
		return keys, f.size.Rate(keys)
	})
}

// statsBy is stats for filters whose number of keys and rate follow from the
// fill by the given function.
func (f *table) statsBy(state func(fill float64) (keys, rate float64)) bloomery.Stats {
	if len(f.blocks) == 0 {
		return bloomery.Stats{} // a zero filter is of no kind yet
	}
	sample := kernel.Sample(len(f.blocks), f.setBits, func(fill float64) float64 {
		_, rate := state(fill)
		return rate
	}, 0)
	keys, _ := state(sample.Fill)
	return bloomery.Stats{
		Kind:           f.form.name,
		Capacity:       f.capacity,
		Items:          round(keys),
		Bits:           f.size.Total(),
		Bytes:          uint64(len(f.words)) * 8,
		Saturation:     sample.Fill,
		Asked:          f.rate,
		Predicted:      sample.Rate,
		PredictedSigma: sample.Sigma,
	}
}

// share returns the share of places of a sample of blocks, evenly spread, that
// count counts. A sample as large as the array is all of it.
func (f *table) share(sample int, count func(block int) uint64) float64 {
	sample = min(sample, len(f.blocks))
	if sample == 0 {
		return 0
	}
	sum := uint64(0)
	for i := range sample {
		high, low := bits.Mul64(uint64(i), uint64(len(f.blocks)))
		at, _ := bits.Div64(high, low, uint64(sample))
		sum += count(int(at))
	}
	return float64(sum) / (float64(sample) * sizing.BlockBits)
}

// setBits returns the number of set bits of a block.
func (f *table) setBits(block int) (n uint64) {
	for _, w := range f.blocks[block] {
		n += uint64(bits.OnesCount64(w))
	}
	return n
}

// fullPlanes returns the number of full counters of a block.
func (f *table) fullPlanes(block int) (n uint64) {
	width := f.size.Width
	for lane := range line {
		full := ^uint64(0)
		for _, p := range f.planes[block*width:][:width] {
			full &= p[lane]
		}
		n += uint64(bits.OnesCount64(full))
	}
	return n
}

// round returns the nearest whole number; a full filter could hold any number
// of keys and answers the largest.
func round(n float64) uint64 {
	if n >= math.MaxUint64 {
		return math.MaxUint64
	}
	return uint64(math.Round(n))
}
