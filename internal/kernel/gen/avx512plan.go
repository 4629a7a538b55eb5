package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

func (t *avx512) startPlan(c class, n, k Register) {
	t.n, t.first = ZMM(), ZMM()
	VPBROADCASTQ(n, t.n)
	VPBROADCASTQ(first, t.first)
	if c == eight {
		return
	}
	t.six, t.row = ZMM(), ZMM()
	VPBROADCASTQ(six, t.six)
	rows := GP64()
	LEAQ(skips, rows)
	row := GP64()
	MOVQ(k, row)
	SHLQ(Imm(6), row)
	VMOVDQU64(Mem{Base: rows, Disp: c.row(), Index: row, Scale: 1}, t.row)
	if c == more {
		t.second, t.secondHigh = ZMM(), ZMM()
		VPBROADCASTQ(second, t.second)
		VPSRLQ(Imm(32), t.second, t.secondHigh)
	}
}

// plan has n below 1<<32. With hh and hl the halves of h,
//
//	h * n = hh * n << 32 + hl * n
//	sum   = hh * n + hl * n >> 32
//
// sum fits in 64 bits and is h * n without its 32 lowest bits: the upper half
// of sum is the block, and bits 29 to 31 are start.
func (t *avx512) plan(c class, hs, slot Mem) {
	h, high, sum, low := ZMM(), ZMM(), ZMM(), ZMM()
	VMOVDQU64(hs, h)
	VPSRLQ(Imm(32), h, high)
	VPMULUDQ(t.n, h, low)
	VPMULUDQ(t.n, high, sum)
	VPSRLQ(Imm(32), low, low)
	VPADDQ(low, sum, sum)
	block := ZMM()
	VPSRLQ(Imm(32), sum, block)
	VPSLLQ(Imm(6), block, block)
	// Two stores, since the prefetches read the offsets at once: a load
	// cannot have its bytes from a store of 64 bytes that is under way. With
	// one, a batch in the cache took 1.5 times as long.
	VMOVDQU(block.AsY(), slot.Offset(offsets))
	VEXTRACTI64X4(Imm(1), block, slot.Offset(offsets+32))

	w := ZMM()
	VPXORQ(high, h, w)
	VPMULLQ(t.first, w, w)
	switch c {
	case fewer:
		VMOVDQU64(t.skipped(w, sum), slot.Offset(firstWord))
	case eight:
		VMOVDQU64(w, slot.Offset(firstWord))
	case more:
		VMOVDQU64(w, slot.Offset(firstWord))
		VMOVDQU64(t.skipped(t.fold(w), sum), slot.Offset(secondWord))
	}
}

// skipped returns the positions w without the lanes to skip. VPERMQ looks at
// the 3 lowest bits of an index only.
func (t *avx512) skipped(w, sum VecVirtual) VecVirtual {
	start := ZMM()
	VPSRLQ(Imm(29), sum, start)
	VPERMQ(t.row, start, start)
	VPTERNLOGQ(U8(aAndBOrC), start, t.six, w)
	return w
}

// fold returns the upper xor the lower half of w * mulSecond, where the upper
// comes from the four products of 32-bit halves:
//
//	            [    ll     ]      lower times lower
//	      [    lh     ]            lower times upper
//	      [    hl     ]
//	[    hh     ]
//
// No sum overflows: (1<<32-1)^2 + 1<<32-1 is below 1<<64.
func (t *avx512) fold(w VecVirtual) VecVirtual {
	high, ll, lh, hl, hh := ZMM(), ZMM(), ZMM(), ZMM(), ZMM()
	VPSRLQ(Imm(32), w, high)
	VPMULUDQ(t.second, w, ll)
	VPMULUDQ(t.secondHigh, w, lh)
	VPMULUDQ(t.second, high, hl)
	VPMULUDQ(t.secondHigh, high, hh)
	carry, lower := ZMM(), ZMM()
	VPSRLQ(Imm(32), ll, carry)
	VPADDQ(carry, hl, hl)
	VPSRLQ(Imm(32), hl, carry)
	VPADDQ(carry, hh, hh)
	VPSLLQ(Imm(32), hl, hl)
	VPSRLQ(Imm(32), hl, hl)
	VPADDQ(hl, lh, lh)
	VPSRLQ(Imm(32), lh, carry)
	VPADDQ(carry, hh, hh)
	VPMULLQ(t.second, w, lower)
	VPXORQ(lower, hh, hh)
	return hh
}
