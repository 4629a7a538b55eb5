package bloom

import (
	"math/bits"

	"github.com/bloomery/bloomery/internal/kernel"
)

// Mark adds all of hs, in order, and sets marks[i] to which of its bits were new, for
// MarkedBits; 0 means none. It costs what AddHashes does, and is for who notes what
// changes. It panics if marks is shorter than hs.
func (f *Filter) Mark(marks []uint8, hs []uint64) {
	f.mustBeMade()
	kernel.MarkAll(marks, f.blocks, f.shape.K, hs)
}

// MarkedBits appends to dst the positions of the bits of hs that marks of Mark name, and of
// keys with more than 8 bits some that were set before: position p is bit p%64 of word p/64 of
// the encoded array.
func (f *Filter) MarkedBits(dst, hs []uint64, marks []uint8) []uint64 {
	return kernel.MarkedBits(dst, uint64(len(f.blocks)), f.shape.K, hs, marks)
}

// Mark is as Filter.Mark.
func (f *Split) Mark(marks []uint8, hs []uint64) {
	f.mustBeMade()
	kernel.MarkAllSplit(marks, f.blocks, hs)
}

// MarkedBits is as Filter.MarkedBits.
func (f *Split) MarkedBits(dst, hs []uint64, marks []uint8) []uint64 {
	return kernel.MarkedBitsSplit(dst, len(f.blocks), hs, marks)
}

// Mark is as Filter.Mark. Bit (k-1-j)%8 of a mark stands for the bit j of a key.
func (f *flatSet) Mark(marks []uint8, hs []uint64) {
	f.mustBeMade()
	marks = marks[:len(hs)]
	for i, h := range hs {
		marks[i] = f.markHash(h)
	}
}

// markHash is AddHash that says which bits were new. As a part of Mark it would run out of registers.
func (f *flatSet) markHash(h uint64) (mark uint8) {
	words, m, step := f.words, f.span, f.step
	from := uint64(0)
	for range f.shape.K {
		at := from + probe(h, m)
		w, b := &words[at>>6], uint64(1)<<(at&63)
		fresh := uint8(0)
		if *w&b == 0 {
			fresh = 1
		}
		mark = bits.RotateLeft8(mark, 1) | fresh
		*w |= b
		h += probeStep
		from += step
	}
	return mark
}

// MarkedBits is as Filter.MarkedBits.
func (f *flatSet) MarkedBits(dst, hs []uint64, marks []uint8) []uint64 {
	for i, h := range hs {
		from := uint64(0)
		for j := range f.shape.K {
			if marks[i]>>((f.shape.K-1-j)&7)&1 == 1 {
				dst = append(dst, from+probe(h, f.span))
			}
			h += probeStep
			from += f.step
		}
	}
	return dst
}
