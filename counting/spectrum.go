package counting

import (
	"fmt"
	"math/bits"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/internal/kernel"
	"github.com/bloomery/bloomery/sizing"
)

// spectrum is a table whose counters lie side by side, and that is only read:
// what Spectral and its view share. Planes would spread each counter of 32
// bits over 32 cache lines.
type spectrum struct{ table }

// counter returns the word that the counter of a place is in, its shift there
// and the highest value of a counter.
func (f *spectrum) counter(block uint64, place uint16) (word *uint64, shift, full uint64) {
	width := uint64(f.size.Width)
	bit := (block*sizing.BlockBits + uint64(place)) * width
	return &f.counts[bit>>6], bit & 63, 1<<(width&63) - 1
}

// least returns the smallest count of the places of a block.
func (f *spectrum) least(block uint64, places []uint16) uint64 {
	b, all := &f.blocks[block], uint64(1)
	for _, place := range places {
		all &= b[place>>6&7] >> (place & 63)
	}
	if all&1 == 0 {
		return 0
	}
	least := f.MaxCount() - 1
	for _, place := range places {
		word, shift, full := f.counter(block, place)
		least = min(least, *word>>shift&full)
	}
	return least + 1
}

// Count returns how often key was inserted: an upper bound, which is exact but
// for a smaller share of keys than Stats predicts as false positives. It is
// never more than MaxCount; that many can be more only after Merge.
func (f *spectrum) Count(key []byte) uint64 { return f.CountHash(f.hasher.Hash(key)) }

// CountString is Count for a string.
func (f *spectrum) CountString(key string) uint64 { return f.CountHash(f.hasher.HashString(key)) }

// CountHash is Count for a key whose hash is h.
func (f *spectrum) CountHash(h uint64) uint64 {
	if !f.ContainsHash(h) {
		return 0
	}
	var at [kernel.MaxK]uint16
	block, n := kernel.Places(&at, uint64(len(f.blocks)), f.size.K, h)
	return f.least(block, at[:n])
}

// MaxCount returns the highest count, 2 to the power of the width of a counter.
func (f *spectrum) MaxCount() uint64 { return 1 << f.size.Width }

// Inserts returns the number of inserts, the sum of the true counts of all keys.
func (f *spectrum) Inserts() uint64 {
	if len(f.state) == 0 {
		return 0 // a zero filter
	}
	return f.state[0]
}

// Excess returns how much too high the count of a key is expected to be at
// most, on average over all keys, present and absent. By Markov's inequality no
// more than the share 1/a of keys is off by a times as much.
//
// The bound is that of counters that all keys of a place add to, whose mean is
// Inserts * Hashes / Bits. Each of the k others of a key must be so high for
// its count to be too high. Adding to the smallest counters only makes counts
// better than that, by ten times and more where few keys are frequent.
func (f *spectrum) Excess() float64 {
	k := float64(f.size.K)
	fill := f.share(sampleBlocks, f.setBits)
	if fill == 0 {
		return 0
	}
	mean := float64(f.Inserts()) * k / float64(f.size.Bits)
	if f.size.K == 1 {
		return mean
	}
	// The integral of min(fill, mean/t)^k over t, with the rate of the layout
	// for fill^k.
	return f.size.Rate(f.size.Count(fill)) / fill * mean * k / (k - 1)
}

// String returns Stats as a line of text.
func (f *spectrum) String() string { return f.Stats().String() }

// Stats describes the state of the filter; items are different keys, and
// Predicted is also a bound of the share of keys whose count is too high. The
// fill of arrays above 64 KiB is taken from a sample of at most 1 MiB, so it
// costs the same for every size; PredictedSigma is how far that makes Predicted
// swing.
func (f *spectrum) Stats() bloomery.Stats { return f.stats() }

// EstimateCount estimates the number of different keys, see
// Filter.EstimateCount.
func (f *spectrum) EstimateCount() uint64 { return round(f.size.Count(f.saturation())) }

func (f *spectrum) clone() *Spectral { return &Spectral{spectrum{f.copied()}} }

// unite adds the counts of o to those of f.
func (f *spectrum) unite(o *spectrum) {
	sum, over := bits.Add64(f.state[0], o.state[0], 0)
	f.state[0] = sum | -over
	for block := range f.blocks {
		for lane, theirs := range o.blocks[block] {
			mine := &f.blocks[block][lane]
			for ; theirs != 0; theirs &= theirs - 1 {
				at := bits.TrailingZeros64(theirs)
				place := uint16(lane*64 + at)
				word, shift, full := f.counter(uint64(block), place)
				other, _, _ := o.counter(uint64(block), place)
				// Where both have the bit, its second key counts.
				one := *word>>shift&full + *other>>shift&full + *mine>>at&1
				*mine |= 1 << at
				*word = *word&^(full<<shift) | min(one, full)<<shift
			}
		}
	}
}

// checkSpectral checks the first line, and that counters of clear bits are 0.
func (f *table) checkSpectral() error {
	if err := zero(f.state[1:]); err != nil {
		return err
	}
	width := f.size.Width
	per := 64 / width // counters of a word
	for i, w := range f.counts {
		if w == 0 {
			continue
		}
		lane := &f.blocks[i/(line*width)][i/width%line]
		for c := range per {
			if at := i%width*per + c; w>>(c*width)&(1<<width-1) != 0 && *lane>>at&1 == 0 {
				return fmt.Errorf("%w: bit %d is clear and has a counter", bloomery.ErrCorrupt, i/width*64+at)
			}
		}
	}
	return nil
}
