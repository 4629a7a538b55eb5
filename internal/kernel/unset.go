package kernel

import "math/bits"

// Unset sets masks[i] to which bits of hs[i] are clear: bit j stands for the first bit in lane
// j, bit 8+j for the second one. Lanes in which a key has no bit do not count. It panics as Has does,
// and if masks is shorter than hs.
func Unset(masks []uint16, blocks []Block, k int, hs []uint64) {
	checkAll(blocks, k)
	masks = masks[:len(hs)]
	n := uint64(len(blocks))
	var at [touched]*Block
	var first [touched]uint64 // read before any is used, so that the reads overlap
	for len(hs) > 0 {
		group := hs[:min(len(hs), touched)]
		for i, h := range group {
			at[i] = &blocks[BlockOf(n, h)]
			first[i] = at[i][0]
		}
		for i, h := range group {
			y := spread(h)
			m := clearLanes(at[i], first[i], y)
			if k > len(Block{}) {
				m |= clearLanes(at[i], first[i], spreadAgain(y)) << 8
			}
			masks[i] = uint16(m)
		}
		hs, masks = hs[len(group):], masks[len(group):]
	}
}

// clearLanes returns in which lanes the bit that y names is clear, of a block whose first word
// was read before.
func clearLanes(b *Block, first, y uint64) uint64 {
	m := first >> (y & 63) & 1
	m |= b[1] >> (y >> 8 & 63) & 1 << 1
	m |= b[2] >> (y >> 16 & 63) & 1 << 2
	m |= b[3] >> (y >> 24 & 63) & 1 << 3
	m |= b[4] >> (y >> 32 & 63) & 1 << 4
	m |= b[5] >> (y >> 40 & 63) & 1 << 5
	m |= b[6] >> (y >> 48 & 63) & 1 << 6
	m |= b[7] >> (y >> 56 & 63) & 1 << 7
	return m ^ 0xff
}

// UnsetBits appends to dst the positions of the bits of hs, in n blocks, that masks of Unset
// name: position p is bit p%64 of word p/64.
func UnsetBits(dst []uint64, n uint64, k int, hs []uint64, masks []uint16) []uint64 {
	for i, h := range hs {
		block, low := bits.Mul64(h, n)
		start, y := low>>61, spread(h)
		dst = appendLanes(dst, block, start, y, min(k, 8), masks[i])
		if k > 8 {
			dst = appendLanes(dst, block, start, spreadAgain(y), k-8, masks[i]>>8)
		}
	}
	return dst
}

// appendLanes appends the positions in k lanes from start on that a mask names.
func appendLanes(dst []uint64, block, start, y uint64, k int, mask uint16) []uint64 {
	for i := range uint64(k) {
		if lane := (start + i) & 7; mask>>lane&1 == 1 {
			dst = append(dst, block<<9|lane<<6|y>>(8*lane)&63)
		}
	}
	return dst
}

// UnsetSplit is Unset for the split layout: bit j stands for the bit in lane j.
func UnsetSplit(masks []uint16, blocks []SplitBlock, hs []uint64) {
	masks = masks[:len(hs)]
	for i, h := range hs {
		b := &blocks[splitIndex(len(blocks), h)]
		m, x := uint64(0), uint32(h)
		for j, w := range splitWords(x) {
			free := w &^ b[j]
			m |= min(free&(1<<32-1), 1)<<(2*j) | min(free>>32, 1)<<(2*j+1)
		}
		masks[i] = uint16(m)
	}
}

// splitWords returns the bits of a key in the words of its block.
func splitWords(x uint32) (b SplitBlock) {
	fillSplit(&b, x)
	return b
}

// UnsetBitsSplit is UnsetBits for the split layout.
func UnsetBitsSplit(dst []uint64, n int, hs []uint64, masks []uint16) []uint64 {
	for i, h := range hs {
		at := splitIndex(n, h) << 8
		for j, w := range splitWords(uint32(h)) {
			for half := range 2 {
				if v := w >> (32 * half) & (1<<32 - 1); masks[i]>>(2*j+half)&1 == 1 {
					dst = append(dst, at+uint64(64*j+32*half+bits.TrailingZeros64(v)))
				}
			}
		}
	}
	return dst
}
