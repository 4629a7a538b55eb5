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
