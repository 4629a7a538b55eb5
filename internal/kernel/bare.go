package kernel

import (
	"encoding/binary"
	"math/bits"
)

// BlockBytes is the length of a block.
const BlockBytes = 64

// HasBare is Has for blocks as a file has them, little-endian words, which may begin
// at any address. There must be at least one block.
func HasBare(blocks []byte, k int, h uint64) bool {
	hi, lo := bits.Mul64(h, uint64(len(blocks)/BlockBytes))
	start := lo >> 61
	b := (*[BlockBytes]byte)(blocks[hi*BlockBytes:])
	y := spread(h)
	w := ^uint64(0)
	if k <= 8 {
		y = turn(y, start)
	} else {
		again := turn(spreadAgain(y), start)
		for i := range uint64(8) {
			w &= lane(b, i) >> (y & 63)
			y >>= 8
		}
		y, k = again, k-8
	}
	for range k {
		w &= lane(b, start) >> (y & 63)
		y >>= 8
		start++
	}
	return w&1 != 0
}

// lane returns a lane of a block; lanes are counted cyclically.
func lane(b *[BlockBytes]byte, i uint64) uint64 { return binary.LittleEndian.Uint64(b[i&7*8:]) }
