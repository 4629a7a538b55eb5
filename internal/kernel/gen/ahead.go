package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// ahead writes a function that asks for the slots of keys of a fuse filter,
// which are as package fuse places them: the offset of slot i+1 is in the bits
// of the hash from shifts[i] on.
func ahead(shifts ...uint64) {
	name := fmt.Sprintf("ahead%dBMI2", len(shifts)+1)
	TEXT(name, NOSPLIT, "func(table *byte, scale, starts, length uint64, hs *uint64, n int)")
	Pragma("noescape")
	Doc(name + " prefetches the slots of n keys, at least one. A slot has 1<<scale bytes.")
	table, scale := Load(Param("table"), GP64()), Load(Param("scale"), GP64())
	starts, length := Load(Param("starts"), RDX), Load(Param("length"), GP64())
	hs, n := Load(Param("hs"), GP64()), Load(Param("n"), GP64())
	mask := GP64()
	LEAQ(Mem{Base: length, Disp: -1}, mask)
	h, slot, lower, at := GP64(), GP64(), GP64(), GP64()
	Label("next")
	MOVQ(Mem{Base: hs}, h)
	MULXQ(h, lower, slot)
	SHLXQ(scale, slot, at)
	PREFETCHT0(Mem{Base: table, Index: at, Scale: 1})
	for _, shift := range shifts {
		ADDQ(length, slot)
		MOVQ(h, at)
		if shift > 0 {
			SHRQ(Imm(shift), at)
		}
		ANDQ(mask, at)
		XORQ(slot, at)
		SHLXQ(scale, at, at)
		PREFETCHT0(Mem{Base: table, Index: at, Scale: 1})
	}
	ADDQ(Imm(8), hs)
	DECQ(n)
	JNE(LabelRef("next"))
	RET()
	_ = starts
}

// aheadBits writes a function that asks for the bits of keys, each of which has
// two words: bit i is at (first + i·second) mod bits, as package redisbloom
// places them. inverse is floor(2^64 / bits): the quotient by multiplication is
// right or one too small.
func aheadBits() {
	TEXT("aheadBitsBMI2", NOSPLIT, "func(table *byte, bits, inverse uint64, pairs *uint64, n, k int)")
	Pragma("noescape")
	Doc("aheadBitsBMI2 prefetches k bits, at least one, of each of n keys, at least one.")
	table, bits := Load(Param("table"), GP64()), Load(Param("bits"), GP64())
	inverse := Load(Param("inverse"), RDX)
	pairs, n := Load(Param("pairs"), GP64()), Load(Param("n"), GP64())
	k := Load(Param("k"), GP64())
	x, step, left, quotient, lower, at, less := GP64(), GP64(), GP64(), GP64(), GP64(), GP64(), GP64()
	Label("next")
	MOVQ(Mem{Base: pairs}, x)
	MOVQ(Mem{Base: pairs, Disp: 8}, step)
	MOVQ(k, left)
	Label("probe")
	MULXQ(x, lower, quotient)
	IMULQ(bits, quotient)
	MOVQ(x, at)
	SUBQ(quotient, at)
	MOVQ(at, less)
	SUBQ(bits, less)
	CMOVQCC(less, at)
	SHRQ(Imm(3), at)
	PREFETCHT0(Mem{Base: table, Index: at, Scale: 1})
	ADDQ(step, x)
	DECQ(left)
	JNE(LabelRef("probe"))
	ADDQ(Imm(16), pairs)
	DECQ(n)
	JNE(LabelRef("next"))
	RET()
	_ = inverse
}

// aheadAt writes a function that asks for bytes of a table.
func aheadAt() {
	TEXT("aheadAtBMI2", NOSPLIT, "func(table *byte, at *uint64, n int)")
	Pragma("noescape")
	Doc("aheadAtBMI2 prefetches n bytes of table, at least one.")
	table, at, n := Load(Param("table"), GP64()), Load(Param("at"), GP64()), Load(Param("n"), GP64())
	place := GP64()
	Label("next")
	MOVQ(Mem{Base: at}, place)
	PREFETCHT0(Mem{Base: table, Index: place, Scale: 1})
	ADDQ(Imm(8), at)
	DECQ(n)
	JNE(LabelRef("next"))
	RET()
}
