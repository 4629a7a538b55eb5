// Package murmur has the hash functions of the Murmur family by which other systems
// place keys: Murmur3 with 128 and 32 bits, and LevelDB's.
package murmur

import (
	"encoding/binary"
	"math/bits"
)

// Multipliers of Murmur3's 128-bit form for 64-bit machines.
const (
	mul1 = 0x87c37b91114253d5
	mul2 = 0x4cf5ad432745937f
)

// Sum128 is MurmurHash3_x64_128 (Appleby, 2011), its first and second half.
func Sum128(key []byte, seed uint64) (h1, h2 uint64) {
	h1, h2, rest := blocks(key, seed)
	var tail [16]byte // zeros behind the end of the key mix to nothing
	copy(tail[:], rest)
	return finish128(h1, h2, binary.LittleEndian.Uint64(tail[:8]), binary.LittleEndian.Uint64(tail[8:]), len(key))
}

// Sum128Suffixed is Sum128 of key followed by one more byte, with seed 0.
func Sum128Suffixed(key []byte, suffix byte) (h1, h2 uint64) {
	h1, h2, rest := blocks(key, 0)
	var tail [16]byte
	n := copy(tail[:], rest)
	tail[n] = suffix
	if n == len(tail)-1 { // a whole block now
		h1, h2 = block(h1, h2, tail[:])
		tail = [16]byte{}
	}
	return finish128(h1, h2, binary.LittleEndian.Uint64(tail[:8]), binary.LittleEndian.Uint64(tail[8:]), len(key)+1)
}

// Sum128Signed is Sum128 with seed 0 as Cassandra computes it: the last bytes of a key,
// those behind its last 16, are taken as signed, which changes the hash of keys that
// have one of 128 or more there.
func Sum128Signed(key []byte) (h1, h2 uint64) {
	h1, h2, rest := blocks(key, 0)
	var tail [2]uint64
	for i, b := range rest {
		tail[i/8] ^= uint64(int8(b)) << (8 * (i % 8))
	}
	return finish128(h1, h2, tail[0], tail[1], len(key))
}

// blocks mixes the whole blocks of a key, and returns what is behind them.
func blocks(key []byte, seed uint64) (h1, h2 uint64, rest []byte) {
	h1, h2 = seed, seed
	for ; len(key) >= 16; key = key[16:] {
		h1, h2 = block(h1, h2, key)
	}
	return h1, h2, key
}

// block mixes 16 bytes.
func block(h1, h2 uint64, b []byte) (uint64, uint64) {
	h1 ^= low(binary.LittleEndian.Uint64(b))
	h1 = (bits.RotateLeft64(h1, 27)+h2)*5 + 0x52dce729
	h2 ^= high(binary.LittleEndian.Uint64(b[8:]))
	h2 = (bits.RotateLeft64(h2, 31)+h1)*5 + 0x38495ab5
	return h1, h2
}

// finish128 mixes the tail and the length of a key.
func finish128(h1, h2, tail1, tail2 uint64, length int) (uint64, uint64) {
	h1 ^= low(tail1) ^ uint64(length)
	h2 ^= high(tail2) ^ uint64(length)
	h1 += h2
	h2 += h1
	h1, h2 = Finish(h1), Finish(h2)
	h1 += h2
	return h1, h2 + h1
}

func low(x uint64) uint64 { return bits.RotateLeft64(x*mul1, 31) * mul2 }

func high(x uint64) uint64 { return bits.RotateLeft64(x*mul2, 33) * mul1 }

// Finish is Murmur3's finalizer: every bit of x moves every bit of the result.
func Finish(x uint64) uint64 {
	x = (x ^ x>>33) * 0xff51afd7ed558ccd
	x = (x ^ x>>33) * 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}
