package kernel

import "math/bits"

// MaxWays is the number of filters that a Generations holds at most: Find
// answers with a bit for each.
const MaxWays = 64

// Generations is an array of several filters that have the same shape and know
// keys by the same hashes. The blocks of one number lie next to each other:
//
//	block 0                          block 1
//	[ filter 0 | filter 1 | ... ]    [ filter 0 | filter 1 | ... ]   ...
//
// A key has the same bits in the same block of every filter. So it is asked for
// in all of them at once: its bits are computed once, and the lines that are
// read are neighbours.
//
// The filters are of the blocked or of the split layout. Blocks of the split one
// are half as large, so half as many lines are read for a key.
type Generations struct {
	blocks []Block      // of all filters; or
	halves []SplitBlock // the same, of the split layout
	each   uint64       // blocks of one filter
	ways   uint64
}

// NewGenerations returns the Generations of an array with the blocks of so many
// filters of the blocked layout. It panics if ways is not in 1..MaxWays, or does
// not divide the number of blocks, or there are none.
func NewGenerations(blocks []Block, ways int) Generations {
	return Generations{blocks: blocks, each: each(len(blocks), ways), ways: uint64(ways)}
}

// NewSplitGenerations is NewGenerations for the split layout. What is called k
// has no meaning in it.
func NewSplitGenerations(blocks []SplitBlock, ways int) Generations {
	return Generations{halves: blocks, each: each(len(blocks), ways), ways: uint64(ways)}
}

// each returns the blocks of one filter.
func each(blocks, ways int) uint64 {
	if uint(ways-1) >= MaxWays || blocks == 0 || blocks%ways != 0 {
		panic("kernel: array of the wrong length")
	}
	return uint64(blocks / ways)
}

// place returns the bits of h in each lane of a block, and the lines of that
// block, one for each filter.
func (g *Generations) place(bit *Block, k int, h uint64) []Block {
	hi, lo := bits.Mul64(h, g.each)
	start, y := lo>>61, spread(h)
	if k < 8 {
		*bit = Block{}
		z := turn(y, start)
		for range k {
			bit[start&7] = 1 << (z & 63)
			start, z = start+1, z>>8
		}
	} else {
		for i := range bit {
			bit[i] = 1 << (y & 63)
			y >>= 8
		}
		if k > 8 {
			z := turn(spreadAgain(spread(h)), start)
			for range k - 8 {
				bit[start&7] |= 1 << (z & 63)
				start, z = start+1, z>>8
			}
		}
	}
	return g.blocks[hi*g.ways:][:g.ways]
}

// Find returns which filters hold all k bits of h: bit i stands for filter i. It
// panics if k is not in 1..MaxK.
func (g *Generations) Find(k int, h uint64) (found uint64) {
	if g.halves != nil {
		return g.findSplit(h)
	}
	if uint(k-1) >= MaxK {
		panic(badK)
	}
	var bit Block
	lines := g.place(&bit, k, h)
	for i := range lines {
		if missing(&bit, &lines[i]) == 0 {
			found |= 1 << i
		}
	}
	return found
}

// missing returns the bits that are not set in line.
func missing(bit, line *Block) uint64 {
	return bit[0]&^line[0] | bit[1]&^line[1] | bit[2]&^line[2] | bit[3]&^line[3] |
		bit[4]&^line[4] | bit[5]&^line[5] | bit[6]&^line[6] | bit[7]&^line[7]
}

// FindAll sets dst[i] to whether one of the filters holds hs[i]. It panics as
// Find does, and if dst is shorter than hs.
func (g *Generations) FindAll(dst []bool, k int, hs []uint64) {
	if uint(k-1) >= MaxK && g.halves == nil {
		panic(badK)
	}
	if len(dst) < len(hs) {
		panic(badDst)
	}
	dst = dst[:len(hs)]
	if !g.vector() {
		g.goFindAll(dst, k, hs)
		return
	}
	for len(hs) >= group {
		n := min(len(hs), chunk/int(g.ways)+group) &^ (group - 1)
		g.findGroups(dst[:n], k, hs[:n])
		dst, hs = dst[n:], hs[n:]
	}
	for i, h := range hs {
		dst[i] = g.Find(k, h) != 0
	}
}

// vector reports whether a batch runs in assembly.
func (g *Generations) vector() bool {
	if g.halves != nil {
		return vectorSplit(g.halves)
	}
	return vector(g.blocks)
}

// goFindAll is FindAll in Go. The lines of some keys are touched before the first
// of them is looked at.
func (g *Generations) goFindAll(dst []bool, k int, hs []uint64) {
	if g.halves != nil {
		g.goFindAllSplit(dst, hs)
		return
	}
	for len(hs) > 0 {
		n := min(len(hs), touched)
		for i, h := range hs[:n] {
			hi, _ := bits.Mul64(h, g.each)
			var all uint64
			lines := g.blocks[hi*g.ways:][:g.ways]
			for i := range lines {
				all |= lines[i][0]
			}
			dst[i] = all != 0 // a use that the compiler keeps
		}
		for i, h := range hs[:n] {
			var bit Block
			found := false
			lines := g.place(&bit, k, h)
			for i := range lines {
				found = found || missing(&bit, &lines[i]) == 0
			}
			dst[i] = found
		}
		dst, hs = dst[n:], hs[n:]
	}
}

// Set adds h to filter way and reports whether one of its bits was clear. It
// panics if there is no such filter, or as Find does.
func (g *Generations) Set(k, way int, h uint64) bool {
	if g.halves != nil {
		return fillSplit(&g.half(h)[way], uint32(h))
	}
	if uint(k-1) >= MaxK {
		panic(badK)
	}
	var bit Block
	line := &g.place(&bit, k, h)[way]
	fresh := missing(&bit, line)
	for i := range line {
		line[i] |= bit[i]
	}
	return fresh != 0
}

// Clear empties filter way.
func (g *Generations) Clear(way int) {
	for at := way; at < len(g.blocks); at += int(g.ways) {
		g.blocks[at] = Block{}
	}
	for at := way; at < len(g.halves); at += int(g.ways) {
		g.halves[at] = SplitBlock{}
	}
}

// ClearBlock empties block i of filter way.
func (g *Generations) ClearBlock(way int, i uint64) {
	if at := i*g.ways + uint64(way); g.halves != nil {
		g.halves[at] = SplitBlock{}
	} else {
		g.blocks[at] = Block{}
	}
}

// Span returns the words, from one up to another, that the blocks of h lie in.
func (g *Generations) Span(h uint64) (from, to int) {
	first, words := BlockOf(g.each, h), len(Block{})
	if g.halves != nil {
		first, words = SplitBlockOf(g.each, h), len(SplitBlock{})
	}
	words *= int(g.ways)
	return int(first) * words, (int(first) + 1) * words
}

// Ones returns how many bits are set in block i of filter way.
func (g *Generations) Ones(way int, i uint64) uint64 {
	at := i*g.ways + uint64(way)
	if g.halves != nil {
		return ones(g.halves[at][:])
	}
	return ones(g.blocks[at][:])
}

func ones(words []uint64) (n uint64) {
	for _, w := range words {
		n += uint64(bits.OnesCount64(w))
	}
	return n
}
