package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/attr"
	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/ir"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// salts are those of split.go, one for each lane of a block.
var salts = [lanes]uint32{
	0x47b6137b, 0x44974d91, 0x8824ad5b, 0xa2b7289d,
	0x705495c7, 0x2df1424b, 0x9efc4947, 0x5c6bfb31,
}

// splitOps are the functions over groups of keys, splitHas and splitSet those
// for one key.
var (
	splitOps = []op{
		{name: "hasAllSplit", dst: true, doc: "sets dst[i] to the answer of goHasSplit for hs[i]."},
		{name: "setAllSplit", sets: true, doc: "sets the bits of hs[0], hs[1], and so on."},
		{name: "setAllFreshSplit", sets: true, dst: true, doc: "sets dst[i] to the answer of goSetSplit for hs[i], in order."},
		{name: "markAllSplit", marks: true, dst: true, doc: "sets the bits of hs[i], and dst[i] to the lanes that this changed, in order."},
	}
	splitFind = op{name: "findAllSplit", finds: true, dst: true, doc: "sets dst[i] to whether a filter of Generations of the split layout holds hs[i]."}
	splitHas  = op{name: "hasOneSplit", doc: "is HasSplit."}
	splitSet  = op{name: "setOneSplit", sets: true, doc: "is SetSplit."}
)

// split is the split layout on AVX2: a block is one register of 8 lanes.
//
//	w       the hash; its lower 32 bits come to all 8 lanes
//	bits    [ 1 << (w*salt0 >> 27) | ... | 1 << (w*salt7 >> 27) ]
//
// It stands in for a tier whose keys are all of class eight: the two stages of
// a batch are the same, only what happens to a key differs.
type split struct {
	table     Mem // salts, then ones
	salt, one Op  // the same, in registers or in memory
	n         VecVirtual
}

// newSplit writes the constants.
func newSplit() *split {
	t := &split{table: GLOBL("splitLanes", attr.RODATA|attr.NOPTR)}
	for i, s := range salts {
		DATA(4*i, U32(s))
	}
	for i := range lanes {
		DATA(32+4*i, U32(1))
	}
	return t
}

func (t *split) name() string { return "AVX2" }

func (t *split) exact() bool { return false }

func (t *split) start(once bool) {
	t.salt, t.one = t.table, t.table.Offset(32)
	if !once {
		t.salt, t.one = t.register(t.salt), t.register(t.one)
	}
}

func (t *split) register(c Op) Op {
	y := YMM()
	VMOVDQU(c, y)
	return y
}

// bits returns the bits of a key.
func (t *split) bits(k key) VecVirtual {
	w := k.w
	if !IsM64(w) {
		x := XMM()
		VMOVQ(w, x)
		w = x
	}
	bits, one := YMM(), t.one
	VPBROADCASTD(w, bits)
	VPMULLD(t.salt, bits, bits)
	VPSRLD(Imm(27), bits, bits)
	if IsM256(one) {
		one = t.register(one)
	}
	VPSLLVD(bits, one, bits)
	return bits
}

// load returns the block of k.
func (t *split) load(k key) VecVirtual {
	b := YMM()
	VMOVDQU(k.block, b)
	return b
}

// has asks VPTEST, which sets the carry flag if none of bits is clear in the
// block.
func (t *split) has(_ class, k key, out Op) {
	bits, block := t.bits(k), t.load(k)
	VPTEST(bits, block)
	SETCS(out)
}

func (t *split) blockBytes() int { return 32 }

func (t *split) find(_ class, k key, blocks Mem, label string, out Op) {
	bits := t.bits(k)
	eachBlock(k.block, blocks, t.blockBytes(), label, out, func(block Mem, found Register) {
		set := t.load(key{block: block})
		VPTEST(bits, set)
		SETCS(found)
	})
}

// merge sets the bits of a key and returns them, and its block before and after.
func (t *split) merge(k key) (bits, before, after VecVirtual) {
	bits, before, after = t.bits(k), t.load(k), YMM()
	VPOR(bits, before, after)
	VMOVDQU(after, k.block)
	return bits, before, after
}

func (t *split) mark(_ class, k key, out Op) {
	_, before, after := t.merge(k)
	same := GP32()
	VPCMPEQD(before, after, after)
	VMOVMSKPS(after, same)
	NOTL(same)
	MOVB(same.As8(), out)
}

func (t *split) set(_ class, k key, out Op) {
	bits, block, _ := t.merge(k)
	if out == nil {
		return
	}
	VPTEST(bits, block)
	SETCC(out)
}

func (t *split) startPlan(_ class, n, _ Register) {
	x := XMM()
	t.n = YMM()
	VMOVQ(n, x)
	VPBROADCASTQ(x, t.n)
}

// plan writes block offsets, and the hashes as they are. They are copied, so
// that a key has no other memory than its slot and its block.
func (t *split) plan(_ class, hs, slot Mem) {
	for half := range 2 {
		h, block := YMM(), YMM()
		VMOVDQU(hs.Offset(32*half), h)
		VMOVDQU(h, slot.Offset(firstWord+32*half))
		VPSRLQ(Imm(32), h, block)
		VPMULUDQ(t.n, block, block)
		VPSRLQ(Imm(32), block, block)
		VPSLLQ(Imm(5), block, block)
		VMOVDQU(block, slot.Offset(offsets+32*half))
	}
}

// splitBatch writes a function over groups of 8 keys, see batch.
func splitBatch(t *split, o op) {
	dst := o.parameter()
	ways := ""
	if o.finds {
		ways = ", ways"
	}
	name := o.name + t.name()
	TEXT(name, 0, fmt.Sprintf("func(%sblocks *[4]uint64, n%s int, hs *uint64, groups int)", dst, ways))
	Pragma("noescape")
	Doc(name + " " + o.doc)
	stages(t, o, eight, nil, AllocLocal(slots*slotSize+64))
}

// splitSingle writes a function for one key. It jumps to the Go code where
// there is no AVX2, and where there is no block, for it to panic.
func splitSingle(t *split, o op, fallback string) {
	TEXT(o.name, attr.NOSPLIT, "func(blocks [][4]uint64, h uint64) bool")
	Pragma("noescape")
	Doc(o.name + " " + o.doc)
	CMPB(variable("hasAVX512"), Imm(0))
	JNE(LabelRef("vector"))
	CMPB(variable("hasAVX2"), Imm(0))
	JEQ(LabelRef("slow"))
	Label("vector")
	n := Load(Param("blocks").Len(), GP64())
	TESTQ(n, n)
	JEQ(LabelRef("slow"))
	base, h, block := Load(Param("blocks").Base(), GP64()), Load(Param("h"), GP64()), GP64()
	MOVQ(h, block)
	SHRQ(Imm(32), block)
	IMULQ(n, block)
	SHRQ(Imm(32), block)
	SHLQ(Imm(5), block)
	t.start(true)
	out, err := ReturnIndex(0).Resolve()
	if err != nil {
		panic(err) // a function without result
	}
	o.probe(t, eight, key{block: Mem{Base: base, Index: block, Scale: 1}, w: h}, out.Addr)
	VZEROUPPER()
	RET()
	Label("slow")
	Instruction(&ir.Instruction{Opcode: "JMP", Operands: []Op{variable(fallback)}, IsTerminal: true})
}
