package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// maxQuads is the number of registers of 4 words in the longest row.
const maxQuads = 4

// andRows writes a function that ANDs rows of 4, 8, 12 or 16 words into dst,
// at least one row. There is a loop for each length, which keeps dst in
// registers.
func andRows() {
	TEXT("andRowsAVX2", 0, "func(dst, rows *uint64, quads int, at *uint64, n int)")
	Pragma("noescape")
	Doc("andRowsAVX2 ANDs the rows at[0] to at[n-1] into dst. Rows and dst have 4*quads words.")
	dst, rows := Load(Param("dst"), GP64()), Load(Param("rows"), GP64())
	quads, at, n := Load(Param("quads"), GP64()), Load(Param("at"), GP64()), Load(Param("n"), GP64())
	names := [maxQuads + 1]string{"", "one", "two", "three", "four"}
	for q := 1; q < maxQuads; q++ {
		CMPQ(quads, Imm(uint64(q)))
		JEQ(LabelRef(names[q]))
	}
	for q := maxQuads; q > 0; q-- {
		Label(names[q])
		var acc [maxQuads]VecVirtual
		for i := range q {
			acc[i] = YMM()
			VMOVDQU(Mem{Base: dst, Disp: 32 * i}, acc[i])
		}
		row := GP64()
		Label(names[q] + "Next")
		MOVQ(Mem{Base: at}, row)
		if q == 3 {
			LEAQ(Mem{Base: row, Index: row, Scale: 2}, row)
			SHLQ(Imm(5), row)
		} else {
			SHLQ(Imm(map[int]uint64{1: 5, 2: 6, 4: 7}[q]), row)
		}
		for i := range q {
			VPAND(Mem{Base: rows, Index: row, Scale: 1, Disp: 32 * i}, acc[i], acc[i])
		}
		ADDQ(Imm(8), at)
		DECQ(n)
		JNE(LabelRef(names[q] + "Next"))
		for i := range q {
			VMOVDQU(acc[i], Mem{Base: dst, Disp: 32 * i})
		}
		VZEROUPPER()
		RET()
	}
}
