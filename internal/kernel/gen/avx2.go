package main

import (
	"github.com/mmcloughlin/avo/attr"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// avx2 holds a block in two registers of 4 lanes:
//
//	w       [ p0 p1 p2 p3 p4 p5 p6 p7 ]       8 positions in 8 bytes,
//	          |  |  |  |  |  |  |  |          brought to both halves of a
//	          |  |  |  |  |  |  |  |          register, then VPSHUFB:
//	count   [ p0 | p1 | p2 | p3 ]
//	                    [ p4 | p5 | p6 | p7 ]
//	bits    [ 1<<p0 | ... ]  [ 1<<p4 | ... ]  compared with the block
type avx2 struct {
	one       Op  // 1 in each lane
	low, high Op  // the shuffles for lanes 0 to 3 and 4 to 7
	table     Mem // the same three in memory

	// The constants of plan. Those in memory would need too many registers.
	n, limit                                    VecVirtual // see skipped
	first, firstHigh, second, secondHigh        Mem        // the multipliers
	six, seven, lowerHalf, startBytes, backward Mem
}

// half is one register of 4 lanes for each half of a block.
type half [2]VecVirtual

// newAVX2 writes the constants.
func newAVX2() *avx2 {
	t := &avx2{table: GLOBL("lanes", attr.RODATA|attr.NOPTR)}
	at := 0
	vector := func(word func(lane int) uint64) Mem {
		m := t.table.Offset(at)
		for lane := range 4 {
			DATA(at, U64(word(lane)))
			at += 8
		}
		return m
	}
	all := func(v uint64) Mem { return vector(func(int) uint64 { return v }) }
	all(1)
	// A shuffle takes 4 bytes of w to 4 lanes and zeroes the rest of each
	// lane. VPSHUFB works within halves of 16 bytes, which both hold all of w.
	vector(func(lane int) uint64 { return 0x8080808080808000 | uint64(lane) })
	vector(func(lane int) uint64 { return 0x8080808080808004 + uint64(lane) })
	t.first, t.firstHigh = all(mulFirst), all(mulFirst>>32)
	t.second, t.secondHigh = all(mulSecond), all(mulSecond>>32)
	t.six, t.seven, t.lowerHalf = all(positions), all(0x0707070707070707), all(1<<32-1)
	t.startBytes = vector(func(lane int) uint64 { return uint64(lane&1) * 0x0808080808080808 })
	t.backward = all(0x0001020304050607)
	return t
}

func (t *avx2) name() string { return "AVX2" }

func (t *avx2) exact() bool { return true }

func (t *avx2) start(once bool) {
	t.one, t.low, t.high = t.table, t.table.Offset(32), t.table.Offset(64)
	if !once {
		t.one, t.low, t.high = t.register(t.one), t.register(t.low), t.register(t.high)
	}
}

// register brings a constant to a register.
func (t *avx2) register(c Op) Op {
	if !IsM256(c) {
		return c
	}
	y := YMM()
	VMOVDQU(c, y)
	return y
}

// count spreads the bytes of w over the lanes of two registers.
func (t *avx2) count(w Op) half {
	c := half{YMM(), YMM()}
	word := YMM()
	if !IsM64(w) {
		// Through the stack it would take a store and a load that waits for
		// it: measured, and slower.
		x := XMM()
		VMOVQ(w, x)
		w = x
	}
	VPBROADCASTQ(w, word)
	VPSHUFB(t.low, word, c[0])
	VPSHUFB(t.high, word, c[1])
	return c
}

// bits returns the bits of a key.
func (t *avx2) bits(c class, k key) half {
	first, one := t.count(k.w), t.register(t.one)
	for i := range first {
		VPSLLVQ(first[i], one, first[i])
	}
	if c != more {
		return first
	}
	second := t.count(k.w2)
	for i := range second {
		VPSLLVQ(second[i], one, second[i])
		VPOR(second[i], first[i], first[i])
	}
	return first
}

// load returns the block of k.
func (t *avx2) load(k key) half {
	b := half{YMM(), YMM()}
	VMOVDQU(k.block, b[0])
	VMOVDQU(k.block.Offset(32), b[1])
	return b
}

func (t *avx2) has(c class, k key, out Op) {
	if c == eight {
		// Shifting the block to the right brings every asked bit to bit 0;
		// VPTEST sets the carry flag if none of them is clear.
		count, block := t.count(k.w), t.load(k)
		for i := range block {
			VPSRLVQ(count[i], block[i], block[i])
		}
		VPAND(block[1], block[0], block[0])
		VPTEST(t.one, block[0])
		SETCS(out)
		return
	}
	bits, block := t.bits(c, k), t.load(k)
	t.fresh(bits, block)
	SETEQ(out)
}

// fresh clears the zero flag if one of bits is not in block, and spoils bits.
func (t *avx2) fresh(bits, block half) {
	for i := range bits {
		VPANDN(bits[i], block[i], bits[i])
	}
	VPOR(bits[1], bits[0], bits[0])
	VPTEST(bits[0], bits[0])
}

// merge sets the bits of a key and returns them, and its block before and after.
func (t *avx2) merge(c class, k key) (bits, before, after half) {
	bits, before = t.bits(c, k), t.load(k)
	for i := range before {
		after[i] = YMM()
		VPOR(bits[i], before[i], after[i])
		VMOVDQU(after[i], k.block.Offset(32*i))
	}
	return bits, before, after
}

func (t *avx2) mark(c class, k key, out Op) {
	_, before, after := t.merge(c, k)
	same := [2]Register{GP32(), GP32()}
	for i := range before {
		VPCMPEQQ(before[i], after[i], after[i])
		VMOVMSKPD(after[i], same[i])
	}
	SHLL(Imm(4), same[1])
	ORL(same[1], same[0])
	NOTL(same[0])
	MOVB(same[0].(GPVirtual).As8(), out)
}

func (t *avx2) set(c class, k key, out Op) {
	bits, block, _ := t.merge(c, k)
	if out == nil {
		return
	}
	t.fresh(bits, block)
	SETNE(out)
}

func (t *avx2) blockBytes() int { return 64 }

func (t *avx2) find(c class, k key, blocks Mem, label string, out Op) {
	bits := t.bits(c, k)
	eachBlock(k.block, blocks, t.blockBytes(), label, out, func(line Mem, found Register) {
		block := t.load(key{block: line})
		for i := range bits {
			VPANDN(bits[i], block[i], block[i])
		}
		VPOR(block[1], block[0], block[0])
		VPTEST(block[0], block[0])
		SETEQ(found)
	})
}
