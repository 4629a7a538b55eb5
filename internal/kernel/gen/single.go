package main

import (
	"github.com/mmcloughlin/avo/attr"
	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/ir"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// single writes a function for one key, with all tiers in it:
//
//	AVX-512 here? --no--> AVX2 here? --no--> jump to the Go code
//	     |                     |                    ^
//	     v                     v                    |
//	k in 1..16 and a block at all? --no: it panics--+
//	     |
//	k = 8, k < 8 or k > 8: a probe each
//
// A call takes about 4 ns, most of it for arguments that go to the stack and
// back. Choosing the tier in Go would pass them twice; the Go code finds
// them where they are, so it can be jumped to.
func single(tiers []tier, o op, fallback string) {
	TEXT(o.name, attr.NOSPLIT, "func(blocks [][8]uint64, k int, h uint64) bool")
	Pragma("noescape")
	Doc(o.name + " " + o.doc)
	for _, t := range tiers {
		other := LabelRef("not" + t.name())
		CMPB(variable("has"+t.name()), Imm(0))
		JEQ(other)
		one(t, o)
		Label(string(other))
	}
	Label("slow")
	// avo's own JMP knows labels only.
	Instruction(&ir.Instruction{Opcode: "JMP", Operands: []Op{variable(fallback)}, IsTerminal: true})
}

// one writes the probes of a tier.
func one(t tier, o op) {
	k := Load(Param("k"), GP64())
	Load(Param("blocks").Len(), RDX)
	TESTQ(RDX, RDX)
	JEQ(LabelRef("slow"))
	skip := GP64()
	CMPQ(k, Imm(8))
	JGT(LabelRef("more" + t.name()))
	JLT(LabelRef("fewer" + t.name()))
	probeOne(t, o, &filter{class: eight})
	Label("fewer" + t.name())
	CMPQ(k, Imm(1))
	JLT(LabelRef("slow"))
	LEAQ(skips, skip)
	probeOne(t, o, &filter{class: fewer, skip: skip, k: k})
	Label("more" + t.name())
	CMPQ(k, Imm(16))
	JGT(LabelRef("slow"))
	LEAQ(skips, skip)
	probeOne(t, o, &filter{class: more, skip: skip, k: k})
}

func probeOne(t tier, o op, f *filter) {
	f.base = Load(Param("blocks").Base(), GP64())
	f.exact = t.exact()
	h := Load(Param("h"), GP64())
	t.start(true)
	out, err := ReturnIndex(0).Resolve()
	if err != nil {
		panic(err) // a function without result
	}
	o.probe(t, f.class, f.key(h), out.Addr)
	VZEROUPPER()
	RET()
}

// variable is a name of package kernel.
func variable(name string) Mem { return NewDataAddr(Symbol{Name: "·" + name}, 0) }
