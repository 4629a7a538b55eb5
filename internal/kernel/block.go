package kernel

import "math/bits"

// BlockOf returns the block of a key with hash h in n blocks of the blocked layout. It grows
// with h.
func BlockOf(n, h uint64) uint64 {
	block, _ := bits.Mul64(h, n)
	return block
}

// SplitBlockOf is BlockOf for the split layout.
func SplitBlockOf(n, h uint64) uint64 { return (h >> 32) * n >> 32 }

// InBlock reports whether all k bits of h are set in b, its block of n: Has for who has no
// other block.
func InBlock(b *Block, n uint64, k int, h uint64) bool {
	start, y := h*n>>61, spread(h)
	w := uint64(1)
	for i := range uint64(min(k, len(b))) {
		lane := (start + i) & 7
		w &= b[lane] >> (y >> (8 * lane) & 63)
	}
	if k <= len(b) {
		return w != 0
	}
	y = spreadAgain(y)
	for i := range uint64(k - len(b)) {
		lane := (start + i) & 7
		w &= b[lane] >> (y >> (8 * lane) & 63)
	}
	return w != 0
}
