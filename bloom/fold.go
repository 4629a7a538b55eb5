package bloom

import (
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"strings"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/internal/envelope"
	"github.com/bloomery/bloomery/internal/kernel"
	"github.com/bloomery/bloomery/internal/memory"
	"github.com/bloomery/bloomery/sizing"
)

const (
	// foldUnit is what the size of a foldable filter is a multiple of, in blocks
	// or bits: it can be halved at least three times.
	foldUnit = 8
	// foldHashes is the number of bits that a key sets in a Filter that can be folded,
	// one in each lane of a block. With fewer or more, the lanes depend on the
	// number of blocks.
	foldHashes = 8
)

// Fold returns a smaller filter with the same keys: the one that a filter with a
// by-th of the blocks would be if all keys had been added to it. Block i is the
// union of the blocks i·by to i·by+by-1, since a key's block is its hash, as a
// fraction, times their number. If the keys leave the smaller array within the rate
// that was asked for, that rate stays and the capacity becomes the number of keys
// that the array holds at it. Otherwise the capacity stays, and the rate asked for
// becomes that of the smaller array at the capacity.
//
// Only a filter in which a key sets 8 bits can be folded, as Config.Foldable makes
// it, and only by a divisor of its blocks: else the error wraps ErrIncompatible
// and names the divisors. It wraps ErrParameter if by is less than 1.
func (f *Filter) Fold(by int) (*Filter, error) { return f.foldIn(by, nil) }

func (f *Filter) foldIn(by int, alloc memory.Alloc) (*Filter, error) {
	f.mustBeMade()
	b, err := f.folded(by, uint64(len(f.blocks)))
	if err != nil {
		return nil, fmt.Errorf("bloom: fold: %w", err)
	}
	words, err := memory.Array(len(f.blocks)/by*lineWords, alloc)
	if err != nil {
		return nil, fmt.Errorf("bloom: fold: %w", err)
	}
	b.keepRate(f.rate, foldBlocks(words, f.words(), lineWords, by))
	return &Filter{lines{b, kernel.Blocks(words)}}, nil
}

// Fold is Filter.Fold for a Split, which can be folded by any divisor of its blocks.
func (f *Split) Fold(by int) (*Split, error) { return f.foldIn(by, nil) }

func (f *Split) foldIn(by int, alloc memory.Alloc) (*Split, error) {
	f.mustBeMade()
	b, err := f.folded(by, uint64(len(f.blocks)))
	if err != nil {
		return nil, fmt.Errorf("bloom: fold: %w", err)
	}
	words, err := memory.Array(len(f.blocks)/by*halfWords, alloc)
	if err != nil {
		return nil, fmt.Errorf("bloom: fold: %w", err)
	}
	b.keepRate(f.rate, foldBlocks(words, f.words(), halfWords, by))
	return &Split{halves{b, kernel.SplitBlocks(words)}}, nil
}

// halfWords is the number of words in a block of the split layout.
const halfWords = sizing.SplitBits / 64

// foldBlocks makes block i of dst, of so many words, the union of the blocks i·by to
// i·by+by-1 of src, and returns how many bits are set. Both may begin at the same place.
func foldBlocks(dst, src []uint64, words, by int) (set uint64) {
	for len(dst) > 0 {
		to, first := dst[:words], src[:words]
		next := src[words*(by-1):][:words] // the last: the only one beside the first where by is 2
		for lane := range to {
			word := first[lane] | next[lane]
			for j := lane + words; j < words*(by-1); j += words {
				word |= src[j]
			}
			to[lane] = word
			set += uint64(bits.OnesCount64(word))
		}
		dst, src = dst[words:], src[words*by:]
	}
	return set
}

// Fold is Filter.Fold for a Standard: bits i·by to i·by+by-1 become bit i. It
// works for any number of bits that a key sets, and takes time for each set bit
// unless by is 2.
func (f *Standard) Fold(by int) (*Standard, error) { return f.foldIn(by, nil) }

func (f *Standard) foldIn(by int, alloc memory.Alloc) (*Standard, error) {
	if len(f.words) == 0 {
		panicZero(flatConstructors)
	}
	b, err := f.folded(by, f.shape.Bits)
	if err != nil {
		return nil, fmt.Errorf("bloom: fold: %w", err)
	}
	words, err := memory.Array(int(wordsFor(b.shape.Bits)), alloc)
	if err != nil {
		return nil, fmt.Errorf("bloom: fold: %w", err)
	}
	b.keepRate(f.rate, foldBits(words, f.words, by))
	return &Standard{flatSet{newFlat(b, words)}}, nil
}

// foldBits makes bit i of dst the union of the bits i·by to i·by+by-1 of src, and returns how many are set.
func foldBits(dst, src []uint64, by int) (set uint64) {
	for i, word := range src {
		if by != 2 {
			foldWord(dst, i, word, uint64(by))
			continue
		}
		pairs := foldPairs(word)
		dst[i/2] |= pairs << (i % 2 * 32)
		set += uint64(bits.OnesCount64(pairs))
	}
	if by != 2 {
		return count(dst)
	}
	return set
}

// foldWord sets in dst bit i for the bits i·by to i·by+by-1 of an array whose word at is
// given.
func foldWord(dst []uint64, at int, word, by uint64) {
	for ; word != 0; word &= word - 1 {
		to := (uint64(at)*64 + uint64(bits.TrailingZeros64(word))) / by
		dst[to/64] |= 1 << (to % 64)
	}
}

// foldPairs returns a word whose bit i is the union of the bits 2i and 2i+1 of word.
func foldPairs(word uint64) uint64 {
	word = (word | word>>1) & 0x5555555555555555
	word = (word | word>>1) & 0x3333333333333333
	word = (word | word>>2) & 0x0f0f0f0f0f0f0f0f
	word = (word | word>>4) & 0x00ff00ff00ff00ff
	word = (word | word>>8) & 0x0000ffff0000ffff
	return (word | word>>16) & 0x00000000ffffffff
}

// FoldIn is Fold of a Filter, a Standard or a Split with memory from alloc. For others the error wraps ErrIncompatible. It
// is for programs of this module.
func FoldIn(f bloomery.Hashed, by int, alloc func(bytes int) ([]byte, error)) (bloomery.Hashed, error) {
	switch f := f.(type) {
	case *Filter:
		return envelope.Hashed(f.foldIn(by, alloc))
	case *Standard:
		return envelope.Hashed(f.foldIn(by, alloc))
	case *Split:
		return envelope.Hashed(f.foldIn(by, alloc))
	}
	return nil, fmt.Errorf("bloom: fold: %w: a %T", bloomery.ErrIncompatible, f)
}

// folded returns the base of a filter with a by-th of its units.
func (f *base) folded(by int, units uint64) (base, error) {
	switch {
	case by < 1:
		return base{}, fmt.Errorf("%w: by %d, not 1 or more", bloomery.ErrParameter, by)
	case by > 1 && f.shape.Layout == sizing.Blocked && f.shape.K != foldHashes:
		return base{}, fmt.Errorf("%w: a key sets %d bits, in a filter that can be folded %d, see Config.Foldable",
			bloomery.ErrIncompatible, f.shape.K, foldHashes)
	case units%uint64(by) != 0:
		return base{}, fmt.Errorf("%w: a size of %d cannot be folded by %d, but by %s", bloomery.ErrIncompatible, units, by, divisors(units))
	}
	c := *f
	c.shape.Bits /= uint64(by)
	if err := c.shape.Valid(); err != nil {
		return base{}, fmt.Errorf("%w: %d bits are too few", bloomery.ErrIncompatible, c.shape.Bits)
	}
	c.rate = min(max(f.rate, c.shape.Rate(float64(c.capacity))), math.Nextafter(1, 0))
	return c, nil
}

// keepRate sets the rate asked for back to rate, and the capacity to what the array
// holds at it, if there is room for the keys that have set so many bits.
func (f *base) keepRate(rate float64, set uint64) {
	keys := round(f.shape.Count(f.fill(set, wordsFor(f.shape.Bits))))
	if f.rate <= rate || keys >= f.capacity || f.shape.Rate(float64(max(keys, 1))) > rate {
		return
	}
	f.capacity, f.rate = mostKeys(f.shape, rate, max(keys, 1), f.capacity), rate
}

// mostKeys returns how many keys an array holds at a rate: at least so many, and less than
// above.
func mostKeys(s sizing.Shape, rate float64, least, above uint64) uint64 {
	for above-least > 1 {
		if n := least + (above-least)/2; s.Rate(float64(n)) <= rate {
			least = n
		} else {
			above = n
		}
	}
	return least
}

// divisors lists the first divisors of n above 1, for people.
func divisors(n uint64) string {
	const most, far = 8, 1 << 16
	var list []string
	for d := uint64(2); d <= min(n, far) && len(list) < most; d++ {
		if n%d == 0 {
			list = append(list, strconv.FormatUint(d, 10))
		}
	}
	if len(list) == 0 {
		return "nothing"
	}
	return strings.Join(list, ", ")
}

// foldable is shape for filters that have a Fold.
func (c Config) foldable(layout sizing.Layout) (sizing.Shape, float64, error) {
	s, rate, err := c.shape(layout)
	if err != nil || !c.Foldable {
		return s, rate, err
	}
	unit := foldUnit * layout.Unit()
	given := c.Bits != 0 || c.BitsPerKey != 0
	if layout == sizing.Blocked && s.K != foldHashes {
		if c.Hashes != 0 {
			return s, 0, fmt.Errorf("%w: Hashes is %d, a Filter that can be folded has %d", bloomery.ErrParameter, c.Hashes, foldHashes)
		}
		s.K = foldHashes
		if !given {
			s.Bits = leastUnits(unit, func(n uint64) bool {
				return sizing.Shape{Layout: layout, Bits: n, K: s.K}.Rate(float64(c.Capacity)) <= rate
			})
		}
	}
	s.Bits += (unit - s.Bits%unit) % unit
	if err := s.Valid(); err != nil {
		return s, 0, fmt.Errorf("%w: %d bits", bloomery.ErrTooLarge, s.Bits)
	}
	if given {
		rate = min(s.Rate(float64(c.Capacity)), math.Nextafter(1, 0))
	}
	return s, rate, memory.Fits(s.Bits / 8)
}

// leastUnits returns the least multiple of unit that is enough, or the first
// beyond MaxBits.
func leastUnits(unit uint64, enough func(n uint64) bool) uint64 {
	high := unit
	for high <= sizing.MaxBits/2 && !enough(high) {
		high *= 2
	}
	low := high / 2 // not enough, or 0 where the first is
	for high-low > unit {
		if half := (low + (high-low)/2) / unit * unit; half > low && enough(half) {
			high = half
		} else {
			low = max(half, low+unit)
		}
	}
	return high
}
