package kernel

import "math/bits"

// Who notes what an add changes asks for lanes: they are at hand where bits are set, in a byte
// for each key, and with the hash they say which bits were new. Of a lane in which a key has two
// bits, both are named.

// MarkAll sets the bits of hs, in order, and lanes[i] to the lanes of its block that hs[i] has
// changed, bit j for lane j. It panics as Has does, and if lanes is shorter than hs.
func MarkAll(lanes []uint8, blocks []Block, k int, hs []uint64) {
	checkAll(blocks, k)
	lanes = lanes[:len(hs)]
	for vector(blocks) && len(hs) >= group {
		n := min(len(hs), chunk) &^ (group - 1)
		markGroups(lanes[:n], blocks, k, hs[:n])
		lanes, hs = lanes[n:], hs[n:]
	}
	for i, h := range hs {
		b := &blocks[BlockOf(uint64(len(blocks)), h)]
		before := *b
		lanes[i] = 0
		if !goSet(blocks, k, h) {
			continue
		}
		for j := range b {
			if b[j] != before[j] {
				lanes[i] |= 1 << j
			}
		}
	}
}

// MarkedBits appends to dst the positions of the bits of hs, in n blocks, in the lanes that
// MarkAll named: position p is bit p%64 of word p/64.
func MarkedBits(dst []uint64, n uint64, k int, hs []uint64, lanes []uint8) []uint64 {
	for i, h := range hs {
		block, low := bits.Mul64(h, n)
		start, y := low>>61, spread(h)
		dst = appendLanes(dst, block, start, y, min(k, 8), lanes[i])
		if k > 8 {
			dst = appendLanes(dst, block, start, spreadAgain(y), k-8, lanes[i])
		}
	}
	return dst
}

// appendLanes appends the positions in those of k lanes from start on that are named.
func appendLanes(dst []uint64, block, start, y uint64, k int, lanes uint8) []uint64 {
	for i := range uint64(k) {
		if lane := (start + i) & 7; lanes>>lane&1 == 1 {
			dst = append(dst, block<<9|lane<<6|y>>(8*lane)&63)
		}
	}
	return dst
}

// MarkAllSplit is MarkAll for the split layout.
func MarkAllSplit(lanes []uint8, blocks []SplitBlock, hs []uint64) {
	_ = blocks[0]
	lanes = lanes[:len(hs)]
	for vectorSplit(blocks) && len(hs) >= group {
		n := min(len(hs), chunk) &^ (group - 1)
		markGroupsSplit(lanes[:n], blocks, hs[:n])
		lanes, hs = lanes[n:], hs[n:]
	}
	for i, h := range hs {
		b := &blocks[splitIndex(len(blocks), h)]
		m := uint64(0)
		for j, w := range splitBits(uint32(h)) {
			fresh := w &^ b[j]
			m |= min(fresh&(1<<32-1), 1)<<(2*j) | min(fresh>>32, 1)<<(2*j+1)
			b[j] |= w
		}
		lanes[i] = uint8(m)
	}
}

// MarkedBitsSplit is MarkedBits for the split layout.
func MarkedBitsSplit(dst []uint64, n int, hs []uint64, lanes []uint8) []uint64 {
	for i, h := range hs {
		at := splitIndex(n, h) << 8
		for j, w := range splitBits(uint32(h)) {
			for half := range 2 {
				if v := w >> (32 * half) & (1<<32 - 1); lanes[i]>>(2*j+half)&1 == 1 {
					dst = append(dst, at+uint64(64*j+32*half+bits.TrailingZeros64(v)))
				}
			}
		}
	}
	return dst
}
