package kernel

import "math/bits"

// Places puts where the k bits of h lie in its block into dst, each of them
// once, and returns the number of the block, of n, and that of the places. A
// place is 64 times the lane plus the position in it. It is for arrays that
// keep more than a bit at each place. It panics if n is 0 or k is not in
// 1..MaxK.
func Places(dst *[MaxK]uint16, n uint64, k int, h uint64) (block uint64, places int) {
	if uint(k-1) >= MaxK {
		panic(badK)
	}
	if n == 0 {
		panic(noBlocks)
	}
	block, lo := bits.Mul64(h, n)
	start := lo >> 61
	y := spread(h)
	if k < 8 {
		z := turn(y, start)
		for i := range k {
			dst[i] = uint16((start+uint64(i))&7<<6 | z>>(8*uint(i)&63)&63)
		}
		return block, k
	}
	for i := range 8 {
		dst[i] = uint16(uint64(i)<<6 | y>>(8*uint(i)&63)&63)
	}
	places = 8
	if k > 8 {
		z := turn(spreadAgain(y), start)
		for i := range k - 8 {
			lane := (start + uint64(i)) & 7
			place := uint16(lane<<6 | z>>(8*uint(i)&63)&63)
			if place != dst[lane] { // one time in 64 it is the lane's first bit again
				dst[places&(MaxK-1)] = place
				places++
			}
		}
	}
	return block, places
}
