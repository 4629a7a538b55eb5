package kernel

// half returns the blocks of h in all filters, of the split layout.
func (g *Generations) half(h uint64) []SplitBlock {
	return g.halves[splitIndex(int(g.each), h)*g.ways:][:g.ways]
}

// splitBits returns the bits of a key in its block.
func splitBits(x uint32) SplitBlock {
	return SplitBlock{
		splitMask(x, salt0, salt1), splitMask(x, salt2, salt3),
		splitMask(x, salt4, salt5), splitMask(x, salt6, salt7),
	}
}

// lacks returns the bits that are not set in block.
func lacks(bit, block *SplitBlock) uint64 {
	return bit[0]&^block[0] | bit[1]&^block[1] | bit[2]&^block[2] | bit[3]&^block[3]
}

// findSplit is Find for the split layout.
func (g *Generations) findSplit(h uint64) (found uint64) {
	bit := splitBits(uint32(h))
	blocks := g.half(h)
	for i := range blocks {
		if lacks(&bit, &blocks[i]) == 0 {
			found |= 1 << i
		}
	}
	return found
}

// goFindAllSplit is goFindAll for the split layout.
func (g *Generations) goFindAllSplit(dst []bool, hs []uint64) {
	for len(hs) > 0 {
		n := min(len(hs), touched)
		for i, h := range hs[:n] {
			var all uint64
			blocks := g.half(h)
			for i := range blocks {
				all |= blocks[i][0]
			}
			dst[i] = all != 0 // a use that the compiler keeps
		}
		for i, h := range hs[:n] {
			bit := splitBits(uint32(h))
			found := false
			blocks := g.half(h)
			for i := range blocks {
				found = found || lacks(&bit, &blocks[i]) == 0
			}
			dst[i] = found
		}
		dst, hs = dst[n:], hs[n:]
	}
}
