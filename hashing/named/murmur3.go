package named

import (
	"encoding/binary"
	"math/bits"
)

// Multipliers of Murmur3's 128-bit form for 64-bit machines.
const (
	murmurMul1 = 0x87c37b91114253d5
	murmurMul2 = 0x4cf5ad432745937f
)

// murmur3 is MurmurHash3_x64_128 (Appleby, 2011), its first and second half.
func murmur3(key []byte, seed uint64) (h1, h2 uint64) {
	h1, h2 = seed, seed
	length := uint64(len(key))
	for ; len(key) >= 16; key = key[16:] {
		h1 ^= murmurLow(binary.LittleEndian.Uint64(key))
		h1 = (bits.RotateLeft64(h1, 27)+h2)*5 + 0x52dce729
		h2 ^= murmurHigh(binary.LittleEndian.Uint64(key[8:]))
		h2 = (bits.RotateLeft64(h2, 31)+h1)*5 + 0x38495ab5
	}

	var rest [16]byte // zeros behind the end of the key mix to nothing
	copy(rest[:], key)
	h1 ^= murmurLow(binary.LittleEndian.Uint64(rest[:8])) ^ length
	h2 ^= murmurHigh(binary.LittleEndian.Uint64(rest[8:])) ^ length

	h1 += h2
	h2 += h1
	h1, h2 = murmurFinish(h1), murmurFinish(h2)
	h1 += h2
	return h1, h2 + h1
}

func murmurLow(x uint64) uint64 { return bits.RotateLeft64(x*murmurMul1, 31) * murmurMul2 }

func murmurHigh(x uint64) uint64 { return bits.RotateLeft64(x*murmurMul2, 33) * murmurMul1 }

// murmurFinish makes every bit of x move every bit of the result.
func murmurFinish(x uint64) uint64 {
	x = (x ^ x>>33) * 0xff51afd7ed558ccd
	x = (x ^ x>>33) * 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}
