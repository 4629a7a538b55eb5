package main

import (
	"fmt"
	"log"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// lanes is the number of keys that are planned together, and of lanes in a
// block.
const lanes = 8

// A plan is what the second stage of a batch needs to know about a group of 8
// keys. There is room for 4 of them on the stack, each on lines of its own:
//
//	slot   0                64               128              192     256
//	       | 8 offsets of   | 8 words w      | 8 words w2     |       |
//	       | blocks         | (see key)      | (class more)   |       |
const (
	offsets    = 0
	firstWord  = 64
	secondWord = 128
	slotSize   = 256
	slots      = 4
)

// tier is an instruction set.
type tier interface {
	// name is that of its variable in package kernel, without has.
	name() string
	// exact reports whether shifts need positions below 64 (true), or take
	// them modulo 64 by themselves (false).
	exact() bool
	// start makes the constants of a probe ready: in registers, or in memory
	// if they are used once.
	start(once bool)
	// has sets out to 1 if all bits of the key are set, else to 0.
	has(c class, k key, out Op)
	// set sets the bits of the key, and out, unless it is nil, to 1 if one
	// of them was clear, else to 0.
	set(c class, k key, out Op)
	// mark sets the bits of the key, and out to the lanes of its block, a bit
	// each, in which one of them was clear.
	mark(c class, k key, out Op)

	// startPlan makes the constants of plan ready.
	startPlan(c class, n, k Register)
	// plan writes the plan of the 8 hashes at hs to the slot.
	plan(c class, hs, slot Mem)
}

// finder is a tier that can look into several filters at once.
type finder interface {
	// find sets out to 1 if one of so many blocks, the first of which is the
	// key's, has all bits of the key, else to 0. label is for its loop.
	find(c class, k key, blocks Mem, label string, out Op)
	// blockBytes returns the size of a block.
	blockBytes() int
}

// op is one function of a tier: a name without the tier, a comment for the
// stub, and which of has and set it does.
type op struct {
	name, doc string
	sets, dst bool
	marks     bool // lanes instead of answers
	// finds is for arrays in which the blocks of several filters follow each
	// other, as many as the parameter ways says.
	finds bool
}

var (
	hasAll      = op{name: "hasAll", dst: true, doc: "sets dst[i] to the answer of goHas for hs[i]."}
	setAll      = op{name: "setAll", sets: true, doc: "sets the bits of hs[0], hs[1], and so on."}
	setAllFresh = op{name: "setAllFresh", sets: true, dst: true, doc: "sets dst[i] to the answer of goSet for hs[i], in order."}
	markAll     = op{name: "markAll", marks: true, dst: true, doc: "sets the bits of hs[i], and dst[i] to the lanes that this changed, in order."}
	findAll     = op{name: "findAll", finds: true, dst: true, doc: "sets dst[i] to whether a filter of Generations holds hs[i]."}
	has         = op{name: "hasOne", doc: "is Has."}
	set         = op{name: "setOne", sets: true, doc: "is Set."}
)

// probe is what every function does with a key.
func (o op) probe(t tier, c class, k key, out Op) {
	switch {
	case o.marks:
		t.mark(c, k, out)
	case o.sets:
		t.set(c, k, out)
	default:
		t.has(c, k, out)
	}
}

// parameter returns the parameter dst of a function over groups, if it has one.
func (o op) parameter() string {
	switch {
	case o.marks:
		return "dst *uint8, "
	case o.dst:
		return "dst *bool, "
	}
	return ""
}

// batch writes a function over groups of 8 keys, groups > 0 and n < 1<<32.
// Each group passes two stages:
//
//	plan    8 hashes -> 8 block numbers, 8 words of positions, with vector
//	        arithmetic over keys, to a slot; the 8 blocks are prefetched
//	probe   for each of the 8 keys, vector arithmetic over lanes
//
// and the plan runs 3 groups ahead of the probe:
//
//	plan    0 1 2 3   4   5   6   7
//	probe           0   1   2   3   4 5 6 7
//	               \_ lead is below 0 from here on
//
// so that a block has the time of 24 keys to arrive (16 less is slower beyond
// the caches, 32 more is no faster). Where all stays in the cache, computing
// the plan key by key with scalar code took 1.4 times as long.
//
// Registers: hs and dst, which move on by a group; plans and probes, the
// groups that are left to each stage; at and from, the offsets in ring of the
// next slot to write and to read; lead; base.
func batch(t tier, o op) {
	dst := o.parameter()
	ways := ""
	if o.finds {
		ways = "ways, "
	}
	signature := fmt.Sprintf("func(%sblocks *[8]uint64, n, %sk int, hs *uint64, groups int)", dst, ways)
	TEXT(o.name+t.name(), 0, signature)
	Pragma("noescape")
	Doc(o.name + t.name() + " " + o.doc)
	room := AllocLocal(slots*slotSize + 64)
	k := Load(Param("k"), GP64())
	CMPQ(k, Imm(8))
	JEQ(LabelRef("eight"))
	JGT(LabelRef("more"))
	for _, c := range []class{fewer, eight, more} {
		Label(c.String())
		stages(t, o, c, k, room)
	}
}

// stages writes both stages for one class, and the end of the function.
func stages(t tier, o op, c class, k Register, room Mem) {
	t.start(false)
	t.startPlan(c, Load(Param("n"), GP64()), k)
	base, hs := Load(Param("blocks"), GP64()), Load(Param("hs"), GP64())
	var dst Register
	if o.dst {
		dst = Load(Param("dst"), GP64())
	}
	ring := GP64()
	LEAQ(room.Offset(63), ring)
	ANDQ(I8(-64), ring)
	plans := Load(Param("groups"), GP64())
	probes, lead, at, from, slot := GP64(), GP64(), GP64(), GP64(), GP64()
	MOVQ(plans, probes)
	ahead := slots - 1
	if o.finds {
		ahead = 1 // a group has the lines of several filters: enough on their way
	}
	MOVQ(U32(ahead), lead)
	XORQ(at, at)
	XORQ(from, from)

	next, probe := c.String()+"Next", c.String()+"Probe"
	Label(next)
	TESTQ(plans, plans)
	JEQ(LabelRef(probe))
	LEAQ(Mem{Base: ring, Index: at, Scale: 1}, slot)
	t.plan(c, Mem{Base: hs}, Mem{Base: slot})
	for i := range lanes {
		block := GP64()
		MOVQ(Mem{Base: slot, Disp: offsets + 8*i}, block)
		if o.finds {
			prefetchLines(base, block, t.(finder).blockBytes(), fmt.Sprintf("%sAhead%d", c, i))
			continue
		}
		PREFETCHT0(Mem{Base: base, Index: block, Scale: 1})
	}
	ADDQ(Imm(8*lanes), hs)
	advance(at)
	DECQ(plans)
	DECQ(lead)
	JGE(LabelRef(next))

	Label(probe)
	LEAQ(Mem{Base: ring, Index: from, Scale: 1}, slot)
	for i := range lanes {
		block := GP64()
		MOVQ(Mem{Base: slot, Disp: offsets + 8*i}, block)
		k := key{
			block: Mem{Base: base, Index: block, Scale: 1},
			w:     Mem{Base: slot, Disp: firstWord + 8*i},
			w2:    Mem{Base: slot, Disp: secondWord + 8*i},
		}
		var out Op
		if o.dst {
			out = Mem{Base: dst, Disp: i}
		}
		if o.finds {
			IMULQ(ways(), block)
			t.(finder).find(c, k, ways(), fmt.Sprintf("%sLine%d", c, i), out)
			continue
		}
		o.probe(t, c, k, out)
	}
	if o.dst {
		ADDQ(Imm(lanes), dst)
	}
	advance(from)
	DECQ(probes)
	JNE(LabelRef(next))
	VZEROUPPER()
	RET()
}

// ways returns the parameter of that name where it is: there is no register left
// for it.
func ways() Mem {
	param, err := Param("ways").Resolve()
	if err != nil {
		log.Fatal(err)
	}
	return param.Addr
}

// prefetchLines prefetches the lines of a key in all filters, given the offset
// that its block has in one of them. Blocks of half a line begin in the middle
// of one only if their number is odd, and then end with a line: they never take
// more lines than half their number, rounded up.
func prefetchLines(base, block Register, bytes int, label string) {
	left := GP64()
	IMULQ(ways(), block)
	ADDQ(base, block)
	MOVQ(ways(), left)
	if bytes < 64 {
		INCQ(left)
		SHRQ(Imm(1), left)
	}
	Label(label)
	PREFETCHT0(Mem{Base: block})
	ADDQ(Imm(64), block)
	DECQ(left)
	JNE(LabelRef(label))
}

// eachBlock runs probe for so many blocks, the first of which is given, and ORs
// what it puts into the register it is given to out.
func eachBlock(first, blocks Mem, bytes int, label string, out Op, probe func(block Mem, found Register)) {
	block, left, any := GP64(), GP64(), GP64()
	LEAQ(first, block)
	MOVQ(blocks, left)
	XORQ(any, any)
	Label(label)
	found := GP8()
	probe(Mem{Base: block}, found)
	ORB(found, any.As8())
	ADDQ(U8(bytes), block)
	DECQ(left)
	JNE(LabelRef(label))
	MOVB(any.As8(), out)
}

// advance moves the offset of a slot to the next one.
func advance(offset Register) {
	ADDQ(U32(slotSize), offset)
	ANDQ(U32(slots*slotSize-1), offset)
}
