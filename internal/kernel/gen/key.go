package main

import (
	"github.com/mmcloughlin/avo/attr"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// The multipliers of layout.go.
const (
	mulFirst  = 0x9fb21c651e98df25
	mulSecond = 0xd6e8feb86659fd93
)

// positions keeps the 6 bits of each byte that are a bit position.
const positions = 0x3f3f3f3f3f3f3f3f

// The constants in memory; there are not enough registers for all of them.
var first, second, six, skips Mem

// constants writes the data that all functions of a tier share.
//
// skips says which lanes a key leaves alone. The word for m lanes from start,
//
//	skips[m-1][start], byte j = 0 if lane j is one of the m, else 64
//
// is ORed to the bit positions of a key: a shift by 64 or more gives 0, so
// that the lane contributes no bit and needs no mask.
func constants() {
	word := func(name string, v uint64) Mem {
		m := GLOBL(name, attr.RODATA|attr.NOPTR)
		DATA(0, U64(v))
		return m
	}
	first = word("mulFirst", mulFirst)
	second = word("mulSecond", mulSecond)
	six = word("positions", positions)
	skips = GLOBL("skips", attr.RODATA|attr.NOPTR)
	for m := 1; m <= 8; m++ {
		for start := range 8 {
			var w uint64
			for lane := range 8 {
				if (lane-start)&7 >= m {
					w |= 64 << (8 * lane)
				}
			}
			DATA(64*(m-1)+8*start, U64(w))
		}
	}
}

// class says which of the three shapes the bits of a key have.
type class int

const (
	fewer class = iota // k < 8: one bit in k lanes
	eight              // k = 8: one bit in each lane
	more               // k > 8: one bit in each lane, a second one in k-8 lanes
)

func (c class) String() string { return [...]string{"fewer", "eight", "more"}[c] }

// row is what to add to 64*k for the row of skips: k lanes, or k-8, from 1.
func (c class) row() int {
	if c == more {
		return -64 * 9
	}
	return -64
}

// filter is the registers that describe the array. The number of blocks is in
// DX, where MULX wants it.
type filter struct {
	class class
	exact bool     // the tier wants positions without their two upper bits
	base  Register // address of block 0
	skip  Register // address of skips, unless the class is eight
	k     Register // k, the same
}

// skipped returns the word of skips for a key, given the lower half of h*n.
func (f *filter) skipped(lo Register) Mem {
	SHRQ(Imm(61), lo)
	LEAQ(Mem{Base: lo, Index: f.k, Scale: 8}, lo)
	return Mem{Base: f.skip, Disp: f.class.row(), Index: lo, Scale: 8}
}

// key is what the scalar unit knows about one key. The words are in a register
// or in memory.
type key struct {
	block Mem // its 64 bytes
	w     Op  // byte j: the first position in lane j, or 64 and more for none
	w2    Op  // the same for the second position, for class more only
}

// key computes the key of the hash h. It is the code of layout.go:
//
//	hi, lo = h * n        the block, and start in the upper 3 bits of lo
//	w      = (h ^ h>>32) * mulFirst
//	w2     = hi ^ lo of w * mulSecond
func (f *filter) key(h Register) key {
	lo, hi, w := GP64(), GP64(), GP64()
	MULXQ(h, lo, hi)
	SHLQ(Imm(6), hi)
	MOVQ(h, w)
	SHRQ(Imm(32), w)
	XORQ(h, w)
	IMULQ(first, w)
	k := key{block: Mem{Base: f.base, Index: hi, Scale: 1}, w: w}
	if f.class == more {
		low, w2 := GP64(), GP64()
		MOVQ(w, RDX)
		MULXQ(second, low, w2)
		XORQ(low, w2)
		ANDQ(six, w2)
		ORQ(f.skipped(lo), w2)
		k.w2 = w2
	}
	if f.exact || f.class == fewer {
		ANDQ(six, w)
	}
	if f.class == fewer {
		ORQ(f.skipped(lo), w)
	}
	return k
}
