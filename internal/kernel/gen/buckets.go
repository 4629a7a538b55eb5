package main

import (
	"github.com/mmcloughlin/avo/attr"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// hasBuckets writes the lookup in buckets of a cuckoo filter for groups of 8
// keys, groups > 0 and n < 1<<31, for buckets of one word or, wide, of two: all
// arithmetic is over keys, and a bucket of 8 keys is one gather or two. Nothing
// waits for a gather but the answers, so the loads of several groups are under
// way at once, and a stage that fetches ahead would only cost.
//
// The names are those of buckets.go.
func hasBuckets(name string, wide bool) {
	TEXT(name, attr.NOSPLIT,
		"func(dst *bool, words *uint64, n, width, values, ones, highs uint64, hs *uint64, groups int)")
	Pragma("noescape")
	Doc(name + " sets dst[i] to the answer of Has for hs[i].")
	dst, words, hs := Load(Param("dst"), GP64()), Load(Param("words"), GP64()), Load(Param("hs"), GP64())
	groups := Load(Param("groups"), GP64())
	b := buckets{
		wide: wide, words: words, n: parameter("n"), width: parameter("width"), values: parameter("values"),
		ones: parameter("ones"), highs: parameter("highs"),
		one: constant(1), first: constant(0x9fb21c651e98df25),
		second: constant(0x9e3779b97f4a7c15), third: constant(0xd6e8feb86659fd93),
		shift: XMM(), double: XMM(), half: ZMM(), last: ZMM(),
	}
	w := Load(Param("width"), GP64())
	VMOVQ(w, b.shift)
	ADDQ(w, w)
	VMOVQ(w, b.double)
	VPSRLQ(Imm(1), b.n, b.half)
	VPSUBQ(b.one, b.n, b.last)
	spread := GP64()
	MOVQ(U64(0x0101010101010101), spread)

	Label("next")
	answers := b.has(Mem{Base: hs})
	PDEPQ(spread, answers, answers)
	MOVQ(answers, Mem{Base: dst})
	ADDQ(Imm(8*lanes), hs)
	ADDQ(Imm(lanes), dst)
	DECQ(groups)
	JNE(LabelRef("next"))
	VZEROUPPER()
	RET()
}

// parameter returns a parameter in all lanes, constant a number.
func parameter(name string) VecVirtual {
	z := ZMM()
	VPBROADCASTQ(Load(Param(name), GP64()), z)
	return z
}

func constant(x uint64) VecVirtual {
	r, z := GP64(), ZMM()
	MOVQ(U64(x), r)
	VPBROADCASTQ(r, z)
	return z
}

// buckets holds what is the same for all keys.
type buckets struct {
	wide                       bool
	words                      Register
	n, half, last              VecVirtual // n/2 and n-1
	width, values, ones, highs VecVirtual
	one, first, second, third  VecVirtual // the multipliers
	shift, double              VecVirtual // width and twice of it, as counts of shifts
}

// has returns the answers for 8 hashes, a bit each.
func (b *buckets) has(hs Mem) GPVirtual {
	h, fingerprint := ZMM(), ZMM()
	VMOVDQU64(hs, h)
	VPSRLQ(Imm(32), h, fingerprint)
	VPXORQ(h, fingerprint, fingerprint)
	VPMULLQ(b.first, fingerprint, fingerprint)
	VPSRLQ(Imm(32), fingerprint, fingerprint)
	VPMULUDQ(b.values, fingerprint, fingerprint)
	VPSRLQ(Imm(32), fingerprint, fingerprint)
	VPADDQ(b.one, fingerprint, fingerprint)
	i := upper(h, b.n)
	j := b.other(i, fingerprint)

	pattern, more := ZMM(), ZMM()
	VPSLLQ(b.shift, fingerprint, pattern)
	VPORQ(fingerprint, pattern, pattern)
	if !b.wide {
		VPSLLQ(b.double, pattern, more)
		VPORQ(more, pattern, pattern)
	}
	found := b.zero(b.word(i), pattern)
	VPORQ(b.zero(b.word(j), pattern), found, found)
	if b.wide {
		VPORQ(b.zero(b.next(i), pattern), found, found)
		VPORQ(b.zero(b.next(j), pattern), found, found)
	}
	k, answers := K(), GP64()
	VPTESTMQ(b.highs, found, k)
	KMOVB(k, answers.As32())
	return answers
}

// upper returns the upper 64 bits of x * n, for n below 2^32.
func upper(x, n VecVirtual) VecVirtual {
	low, high := ZMM(), ZMM()
	VPMULUDQ(n, x, low)
	VPSRLQ(Imm(32), low, low)
	VPSRLQ(Imm(32), x, high)
	VPMULUDQ(n, high, high)
	VPADDQ(low, high, high)
	VPSRLQ(Imm(32), high, high)
	return high
}

// other is Other. A number below 0 is a large one, so that the smaller of j and
// j+n is the right one.
func (b *buckets) other(i, fingerprint VecVirtual) VecVirtual {
	x, y := ZMM(), ZMM()
	VPMULLQ(b.second, fingerprint, x)
	VPSRLQ(Imm(32), x, y)
	VPXORQ(y, x, x)
	VPMULLQ(b.third, x, x)
	r := upper(x, b.half)
	j, around := ZMM(), ZMM()
	VPADDQ(r, r, r)
	VPSUBQ(i, b.last, j)
	VPSUBQ(r, j, j)
	VPADDQ(b.n, j, around)
	VPMINUQ(around, j, j)
	return j
}

// word is word.
func (b *buckets) word(i VecVirtual) VecVirtual {
	at, part := ZMM(), ZMM()
	VPMULUDQ(b.width, i, at)
	VPANDQ(b.one, at, part)
	VPSLLQ(Imm(2), part, part)
	VPSRLQ(Imm(1), at, at)
	return b.gather(at, part)
}

// next is second.
func (b *buckets) next(i VecVirtual) VecVirtual {
	at, part := ZMM(), ZMM()
	VPADDQ(i, i, at)
	VPADDQ(b.one, at, at)
	VPMULUDQ(b.width, at, at)
	VPSLLQ(Imm(62), at, part) // the lowest 2 bits, alone
	VPSRLQ(Imm(61), part, part)
	VPSRLQ(Imm(2), at, at)
	return b.gather(at, part)
}

// gather returns the words that begin at bytes, without their lowest bits.
func (b *buckets) gather(at, bits VecVirtual) VecVirtual {
	w, k := ZMM(), K()
	KXNORW(k, k, k)
	VPXORQ(w, w, w) // a gather waits for what was in its register
	VPGATHERQQ(Mem{Base: b.words, Index: at, Scale: 1}, k, w)
	VPSRLVQ(bits, w, w)
	return w
}

// zero is zero of w ^ pattern.
func (b *buckets) zero(w, pattern VecVirtual) VecVirtual {
	less := ZMM()
	VPXORQ(pattern, w, w)
	VPSUBQ(b.ones, w, less)
	VPANDNQ(less, w, w)
	return w
}
