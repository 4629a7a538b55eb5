package main

import (
	"github.com/mmcloughlin/avo/attr"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// avx512 holds a block in one register of 8 lanes:
//
//	w       [ p0 p1 p2 ... p7 ]               8 positions in 8 bytes
//	          |  |  |      |     VPMOVZXBQ
//	count   [ p0 | p1 | p2 | ... | p7 ]       one in each lane
//	bits    [ 1<<p0 | 1<<p1 | ... | 1<<p7 ]   compared with the block
//
// A rotation takes its count modulo 64, so class eight needs no masking; a
// shift by 64 or more gives 0, which leaves out the lanes of skips.
type avx512 struct {
	one   Op  // 1 in each lane
	table Mem // the same in memory

	// The constants of plan, in each lane.
	n, first, second, secondHigh, six VecVirtual
	row                               VecVirtual // of skips
}

// The functions of VPTERNLOGQ: bit abc is the result for the bits a, b, c of
// destination, second and third operand.
const (
	aOrBWithoutC = 1<<0b010 | 1<<0b100 | 1<<0b110
	aOrBOrC      = 0xfe
	aAndBOrC     = 1<<0b001 | 1<<0b011 | 1<<0b101 | 1<<0b110 | 1<<0b111
)

// notEqual is the predicate of VPCMPQ.
const notEqual = 4

// newAVX512 writes the constants of a probe.
func newAVX512() *avx512 {
	table := GLOBL("ones", attr.RODATA|attr.NOPTR)
	for lane := range 8 {
		DATA(8*lane, U64(1))
	}
	return &avx512{table: table}
}

func (t *avx512) name() string { return "AVX512" }

func (t *avx512) exact() bool { return false }

func (t *avx512) start(once bool) {
	t.one = t.table
	if !once {
		t.one = t.register()
	}
}

// register returns a register with 1 in each lane.
func (t *avx512) register() Op {
	if !IsM512(t.one) {
		return t.one
	}
	z := ZMM()
	VMOVDQU64(t.table, z)
	return z
}

// count spreads the bytes of w over the lanes.
func (t *avx512) count(w Op) VecVirtual {
	z := ZMM()
	if !IsM64(w) {
		x := XMM()
		VMOVQ(w, x)
		w = x
	}
	VPMOVZXBQ(w, z)
	return z
}

// bits returns the first and second bits of a key; without second ones it
// returns the first twice.
func (t *avx512) bits(c class, k key) (first, second VecVirtual) {
	first, one := t.count(k.w), t.register()
	if c == fewer {
		VPSLLVQ(first, one, first)
		return first, first
	}
	VPROLVQ(first, one, first)
	if c == eight {
		return first, first
	}
	second = t.count(k.w2)
	VPSLLVQ(second, one, second)
	return first, second
}

func (t *avx512) has(c class, k key, out Op) {
	missing := K()
	if c == eight {
		// Rotating the block to the right brings every asked bit to bit 0:
		// an instruction less than making the bits.
		count, block := t.count(k.w), ZMM()
		VMOVDQU64(k.block, block)
		VPRORVQ(count, block, block)
		VPTESTNMQ(t.one, block, missing)
	} else {
		first, second := t.bits(c, k)
		VPTERNLOGQ(U8(aOrBWithoutC), k.block, second, first)
		VPTESTMQ(first, first, missing)
	}
	KORTESTB(missing, missing)
	SETEQ(out)
}

// merge sets the bits of a key, and returns its block before and after that.
func (t *avx512) merge(c class, k key) (before, after VecVirtual) {
	first, second := t.bits(c, k)
	before, after = ZMM(), ZMM()
	VMOVDQU64(k.block, before)
	if c == more {
		VMOVDQA64(before, after)
		VPTERNLOGQ(U8(aOrBOrC), second, first, after)
	} else {
		VPORQ(first, before, after)
	}
	VMOVDQU64(after, k.block)
	return before, after
}

func (t *avx512) mark(c class, k key, out Op) {
	before, after := t.merge(c, k)
	fresh := K()
	VPCMPQ(U8(notEqual), before, after, fresh)
	KMOVB(fresh, out)
}

func (t *avx512) set(c class, k key, out Op) {
	before, after := t.merge(c, k)
	if out == nil {
		return
	}
	fresh := K()
	VPCMPQ(U8(notEqual), before, after, fresh)
	KORTESTB(fresh, fresh)
	SETNE(out)
}

func (t *avx512) blockBytes() int { return 64 }

func (t *avx512) find(c class, k key, blocks Mem, label string, out Op) {
	bits, second := t.bits(c, k)
	if c == more {
		VPORQ(second, bits, bits)
	}
	eachBlock(k.block, blocks, t.blockBytes(), label, out, func(line Mem, found Register) {
		set, whole := ZMM(), K()
		VPANDQ(line, bits, set)
		VPCMPEQQ(set, bits, whole)
		KORTESTB(whole, whole) // sets the carry flag if all 8 are 1
		SETCS(found)
	})
}
