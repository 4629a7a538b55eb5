package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

// marks writes a function that compares 64 bytes at a time with one.
func marks() {
	TEXT("marksAVX2", NOSPLIT, "func(dst *uint64, data *byte, n int, b *byte)")
	Pragma("noescape")
	Doc("marksAVX2 sets the bits of dst[0] to dst[n-1] to whether the bytes of data, 64 for each word, are b. There is at least one word.")
	dst, data := Load(Param("dst"), GP64()), Load(Param("data"), GP64())
	n, b := Load(Param("n"), GP64()), Load(Param("b"), GP64())
	wanted, low, high := YMM(), YMM(), YMM()
	VPBROADCASTB(Mem{Base: b}, wanted)
	first, second := GP32(), GP32()
	Label("next")
	VPCMPEQB(Mem{Base: data}, wanted, low)
	VPCMPEQB(Mem{Base: data, Disp: 32}, wanted, high)
	VPMOVMSKB(low, first)
	VPMOVMSKB(high, second)
	MOVL(first, Mem{Base: dst})
	MOVL(second, Mem{Base: dst, Disp: 4})
	ADDQ(Imm(64), data)
	ADDQ(Imm(8), dst)
	DECQ(n)
	JNE(LabelRef("next"))
	VZEROUPPER()
	RET()
}
