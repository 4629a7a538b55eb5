package codec

import (
	"encoding/binary"
	"math/bits"
)

// listBytes is how much of a chunk is listed at once: 16 KiB of positions stay
// in the nearest cache.
const listBytes = 512

// positions is a list of set bits, with room for a step behind the last.
type positions [8*listBytes + listStep]uint32

// listStep is how many bits of a word are listed without asking whether there
// are that many: a branch for each bit would be one that nobody can predict.
const listStep = 8

// find lists the set bits of raw, whose words are xored with flip, and returns
// their number.
func (p *positions) find(raw []byte, flip uint64) int {
	count := 0
	for base := uint32(0); len(raw) >= 8; raw, base = raw[8:], base+64 {
		x := binary.LittleEndian.Uint64(raw) ^ flip
		end := count + bits.OnesCount64(x)
		for ; count < end; count += listStep {
			step := (*[listStep]uint32)(p[count:])
			// Written out, since the compiler does not unroll loops.
			step[0] = base + uint32(bits.TrailingZeros64(x))
			x &= x - 1
			step[1] = base + uint32(bits.TrailingZeros64(x))
			x &= x - 1
			step[2] = base + uint32(bits.TrailingZeros64(x))
			x &= x - 1
			step[3] = base + uint32(bits.TrailingZeros64(x))
			x &= x - 1
			step[4] = base + uint32(bits.TrailingZeros64(x))
			x &= x - 1
			step[5] = base + uint32(bits.TrailingZeros64(x))
			x &= x - 1
			step[6] = base + uint32(bits.TrailingZeros64(x))
			x &= x - 1
			step[7] = base + uint32(bits.TrailingZeros64(x))
			x &= x - 1
		}
		count = end
	}
	return count
}
