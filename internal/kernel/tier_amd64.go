//go:build !purego && !race

package kernel

import "golang.org/x/sys/cpu"

// The tiers that this CPU has. A flag of AVX-512 can be off while the others
// stay on, so each that the assembly relies on is asked for. Tests change the
// variables; nothing else does.
var (
	hasAVX512 = cpu.X86.HasAVX512F && cpu.X86.HasAVX512BW && cpu.X86.HasAVX512DQ &&
		cpu.X86.HasAVX512VL && cpu.X86.HasBMI2
	hasAVX2 = cpu.X86.HasAVX2 && cpu.X86.HasBMI2
)

// The functions for groups take 1 or more full groups, and a dst as long as hs.

func hasGroups(dst []bool, blocks []Block, k int, hs []uint64) {
	if hasAVX512 {
		hasAllAVX512(&dst[0], &blocks[0], len(blocks), k, &hs[0], len(hs)/group)
		return
	}
	hasAllAVX2(&dst[0], &blocks[0], len(blocks), k, &hs[0], len(hs)/group)
}

func setGroupsFresh(dst []bool, blocks []Block, k int, hs []uint64) {
	if hasAVX512 {
		setAllFreshAVX512(&dst[0], &blocks[0], len(blocks), k, &hs[0], len(hs)/group)
		return
	}
	setAllFreshAVX2(&dst[0], &blocks[0], len(blocks), k, &hs[0], len(hs)/group)
}

func setGroups(blocks []Block, k int, hs []uint64) {
	if hasAVX512 {
		setAllAVX512(&blocks[0], len(blocks), k, &hs[0], len(hs)/group)
		return
	}
	setAllAVX2(&blocks[0], len(blocks), k, &hs[0], len(hs)/group)
}

func markGroups(lanes []uint8, blocks []Block, k int, hs []uint64) {
	if hasAVX512 {
		markAllAVX512(&lanes[0], &blocks[0], len(blocks), k, &hs[0], len(hs)/group)
		return
	}
	markAllAVX2(&lanes[0], &blocks[0], len(blocks), k, &hs[0], len(hs)/group)
}

func (g *Generations) findGroups(dst []bool, k int, hs []uint64) {
	if g.halves != nil {
		findAllSplitAVX2(&dst[0], &g.halves[0], int(g.each), int(g.ways), &hs[0], len(hs)/group)
		return
	}
	if hasAVX512 {
		findAllAVX512(&dst[0], &g.blocks[0], int(g.each), int(g.ways), k, &hs[0], len(hs)/group)
		return
	}
	findAllAVX2(&dst[0], &g.blocks[0], int(g.each), int(g.ways), k, &hs[0], len(hs)/group)
}

func hasGroupsSplit(dst []bool, blocks []SplitBlock, hs []uint64) {
	hasAllSplitAVX2(&dst[0], &blocks[0], len(blocks), &hs[0], len(hs)/group)
}

func setGroupsFreshSplit(dst []bool, blocks []SplitBlock, hs []uint64) {
	setAllFreshSplitAVX2(&dst[0], &blocks[0], len(blocks), &hs[0], len(hs)/group)
}

func setGroupsSplit(blocks []SplitBlock, hs []uint64) {
	setAllSplitAVX2(&blocks[0], len(blocks), &hs[0], len(hs)/group)
}

func markGroupsSplit(lanes []uint8, blocks []SplitBlock, hs []uint64) {
	markAllSplitAVX2(&lanes[0], &blocks[0], len(blocks), &hs[0], len(hs)/group)
}

// andRowsVector takes one row or more, of whole quads.
func andRowsVector(dst, rows []uint64, at []uint64) {
	andRowsAVX2(&dst[0], &rows[0], len(dst)/quad, &at[0], len(at))
}

func hasGroupsBuckets(dst []bool, b *Buckets, hs []uint64) {
	if b.width > oneWord {
		hasWideBucketsAVX512(&dst[0], &b.words[0], b.n, b.width, b.values, b.ones, b.highs, &hs[0], len(hs)/group)
		return
	}
	hasBucketsAVX512(&dst[0], &b.words[0], b.n, b.width, b.values, b.ones, b.highs, &hs[0], len(hs)/group)
}
