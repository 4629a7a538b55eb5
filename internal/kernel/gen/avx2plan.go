package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

func (t *avx2) startPlan(c class, n, k Register) {
	x := XMM()
	t.n = YMM()
	VMOVQ(n, x)
	VPBROADCASTQ(x, t.n)
	if c == eight {
		return
	}
	lanes := 8
	if c == more {
		lanes = 16
	}
	limit := GP64()
	MOVQ(U32(lanes), limit)
	SUBQ(k, limit)
	t.limit = YMM()
	VMOVQ(limit, x)
	VPBROADCASTB(x, t.limit)
}

// plan does what that of avx512 does, on 4 hashes at a time and with products
// of 32 bits only.
func (t *avx2) plan(c class, hs, slot Mem) {
	for half := range 2 {
		t.planHalf(c, hs.Offset(32*half), slot.Offset(32*half))
	}
}

func (t *avx2) planHalf(c class, hs, slot Mem) {
	h, high, sum, low := YMM(), YMM(), YMM(), YMM()
	VMOVDQU(hs, h)
	VPSRLQ(Imm(32), h, high)
	VPMULUDQ(t.n, h, low)
	VPMULUDQ(t.n, high, sum)
	VPSRLQ(Imm(32), low, low)
	VPADDQ(low, sum, sum)
	block := YMM()
	VPSRLQ(Imm(32), sum, block)
	VPSLLQ(Imm(6), block, block)
	VMOVDQU(block, slot.Offset(offsets))

	// The lower half of a product of 64 bits, from three of 32.
	w, cross := YMM(), YMM()
	VPXOR(high, h, h)
	VPMULUDQ(t.firstHigh, h, cross)
	VPMULUDQ(t.first, high, high)
	VPADDQ(high, cross, cross)
	VPSLLQ(Imm(32), cross, cross)
	VPMULUDQ(t.first, h, w)
	VPADDQ(cross, w, w)
	if c == more {
		w2 := t.fold(w)
		VPAND(t.six, w2, w2)
		VPOR(t.skipped(sum), w2, w2)
		VMOVDQU(w2, slot.Offset(secondWord))
	}
	VPAND(t.six, w, w)
	if c == fewer {
		VPOR(t.skipped(sum), w, w)
	}
	VMOVDQU(w, slot.Offset(firstWord))
}

// skipped returns 255 in the bytes of the lanes to skip, of which there are
// limit = 8-m for m lanes. With start in all bytes, byte j of start + 7 - j,
// modulo 8, is 7 for the first lane, 6 for the next, and so on: the lanes to
// skip are those below limit.
func (t *avx2) skipped(sum VecVirtual) VecVirtual {
	VPSRLQ(Imm(29), sum, sum)
	VPSHUFB(t.startBytes, sum, sum)
	VPADDB(t.backward, sum, sum)
	VPAND(t.seven, sum, sum)
	VPCMPGTB(sum, t.limit, sum)
	return sum
}

// fold does what that of avx512 does.
func (t *avx2) fold(w VecVirtual) VecVirtual {
	high, ll, lh, hl, hh, carry := YMM(), YMM(), YMM(), YMM(), YMM(), YMM()
	VPSRLQ(Imm(32), w, high)
	VPMULUDQ(t.second, w, ll)
	VPMULUDQ(t.secondHigh, w, lh)
	VPMULUDQ(t.second, high, hl)
	VPMULUDQ(t.secondHigh, high, hh)
	VPSRLQ(Imm(32), ll, carry)
	VPADDQ(carry, hl, hl)
	VPSRLQ(Imm(32), hl, carry)
	VPADDQ(carry, hh, hh)
	VPAND(t.lowerHalf, hl, hl)
	VPADDQ(hl, lh, lh) // its lower half is the upper one of the lower product
	VPSRLQ(Imm(32), lh, carry)
	VPADDQ(carry, hh, hh)
	VPSLLQ(Imm(32), lh, lh)
	VPBLENDD(Imm(0b01010101), ll, lh, lh)
	VPXOR(lh, hh, hh)
	return hh
}
