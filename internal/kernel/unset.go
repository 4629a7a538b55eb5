package kernel

import (
	"math/bits"
	"slices"
)

// Unset appends to dst the positions of the bits that SetAll would set: position p is bit p%64
// of word p/64. One that several hashes share may be there as often. It panics as Has does.
func Unset(dst []uint64, blocks []Block, k int, hs []uint64) []uint64 {
	checkAll(blocks, k)
	n := uint64(len(blocks))
	at := len(dst)
	dst = slices.Grow(dst, k*len(hs))[:at+k*len(hs)]
	for _, h := range hs {
		block, low := bits.Mul64(h, n)
		start, y := low>>61, spread(h)
		b := &blocks[block]
		at = unset(dst, at, b, block, start, turn(y, start), min(k, len(b)))
		if k > len(b) {
			at = unset(dst, at, b, block, start, turn(spreadAgain(y), start), k-len(b))
		}
	}
	return dst[:at]
}

// unset puts those of the positions in k lanes from start on whose bits are clear into dst,
// from at on. It writes all, and goes on behind those that stay: a branch would be mispredicted
// half of the time.
func unset(dst []uint64, at int, b *Block, block, start, y uint64, k int) int {
	for range k {
		lane, bit := start&7, y&63
		dst[at] = block<<9 | lane<<6 | bit
		at += int(^b[lane] >> bit & 1)
		start++
		y >>= 8
	}
	return at
}

// UnsetSplit is Unset for the split layout and SetAllSplit.
func UnsetSplit(dst []uint64, blocks []SplitBlock, hs []uint64) []uint64 {
	for _, h := range hs {
		block := splitIndex(len(blocks), h)
		var bits SplitBlock
		fillSplit(&bits, uint32(h))
		for i, w := range bits {
			dst = appendOnes(dst, block<<8|uint64(i)<<6, w&^blocks[block][i])
		}
	}
	return dst
}

// appendOnes appends the positions of the ones of a word that begins at a position.
func appendOnes(dst []uint64, from, w uint64) []uint64 {
	for ; w != 0; w &= w - 1 {
		dst = append(dst, from+uint64(bits.TrailingZeros64(w)))
	}
	return dst
}
