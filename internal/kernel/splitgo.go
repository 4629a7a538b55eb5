package kernel

// touched is the number of keys whose blocks are touched before the first is
// probed, as in the loops of probes.go.
const touched = 16

// splitIndex returns the number of the block of h.
func splitIndex(n int, h uint64) uint64 { return (h >> 32) * uint64(n) >> 32 }

// splitPosition returns the bit in a lane, the lower one of its word.
func splitPosition(x, salt uint32) uint64 { return uint64(x * salt >> 27) }

// splitMask returns the bits in the two lanes of a word.
func splitMask(x, lower, upper uint32) uint64 {
	return 1<<splitPosition(x, lower) | 1<<32<<splitPosition(x, upper)
}

// goHasSplit is HasSplit in Go.
func goHasSplit(blocks []SplitBlock, h uint64) bool {
	b := &blocks[splitIndex(len(blocks), h)]
	return probeSplit(b, b[0], uint32(h))
}

// probeSplit reports whether all bits of a key are set in its block, whose
// first word has been read before.
func probeSplit(b *SplitBlock, first uint64, x uint32) bool {
	w := first >> splitPosition(x, salt0)
	w &= first >> 32 >> splitPosition(x, salt1)
	w &= b[1] >> splitPosition(x, salt2)
	w &= b[1] >> 32 >> splitPosition(x, salt3)
	w &= b[2] >> splitPosition(x, salt4)
	w &= b[2] >> 32 >> splitPosition(x, salt5)
	w &= b[3] >> splitPosition(x, salt6)
	w &= b[3] >> 32 >> splitPosition(x, salt7)
	return w&1 != 0
}

// goSetSplit is SetSplit in Go.
func goSetSplit(blocks []SplitBlock, h uint64) bool {
	return fillSplit(&blocks[splitIndex(len(blocks), h)], uint32(h))
}

// fillSplit sets the bits of a key in its block and reports whether one of
// them was clear.
func fillSplit(b *SplitBlock, x uint32) bool {
	w0 := splitMask(x, salt0, salt1)
	w1 := splitMask(x, salt2, salt3)
	w2 := splitMask(x, salt4, salt5)
	w3 := splitMask(x, salt6, salt7)
	fresh := w0&^b[0] | w1&^b[1] | w2&^b[2] | w3&^b[3]
	b[0] |= w0
	b[1] |= w1
	b[2] |= w2
	b[3] |= w3
	return fresh != 0
}

// goHasAllSplit is HasAllSplit in Go; dst is at least as long as hs.
func goHasAllSplit(dst []bool, blocks []SplitBlock, hs []uint64) {
	dst = dst[:len(hs)]
	var at [touched]*SplitBlock
	var word [touched]uint64
	for ; len(hs) >= touched; hs, dst = hs[touched:], dst[touched:] {
		g, d := (*[touched]uint64)(hs), (*[touched]bool)(dst)
		for i, h := range g {
			at[i] = &blocks[splitIndex(len(blocks), h)]
			word[i] = at[i][0]
		}
		for i, h := range g {
			d[i] = probeSplit(at[i], word[i], uint32(h))
		}
	}
	for i, h := range hs {
		dst[i] = goHasSplit(blocks, h)
	}
}

// goSetAllSplit is SetAllSplit in Go; dst is at least as long as hs.
func goSetAllSplit(dst []bool, blocks []SplitBlock, hs []uint64) {
	dst = dst[:len(hs)]
	var at [touched]*SplitBlock
	for ; len(hs) >= touched; hs, dst = hs[touched:], dst[touched:] {
		g, d := (*[touched]uint64)(hs), (*[touched]bool)(dst)
		for i, h := range g {
			at[i] = &blocks[splitIndex(len(blocks), h)]
			d[i] = at[i][0] != 0 // a load that the compiler keeps: it brings the line
		}
		for i, h := range g {
			d[i] = fillSplit(at[i], uint32(h))
		}
	}
	for i, h := range hs {
		dst[i] = goSetSplit(blocks, h)
	}
}
