package murmur

import (
	"encoding/binary"
	"math/bits"
)

// Sum32 is MurmurHash3_x86_32 (Appleby, 2011).
func Sum32(key []byte, seed uint32) uint32 {
	h, length := seed, uint32(len(key))
	for ; len(key) >= 4; key = key[4:] {
		h ^= scramble(binary.LittleEndian.Uint32(key))
		h = bits.RotateLeft32(h, 13)*5 + 0xe6546b64
	}
	var tail [4]byte
	copy(tail[:], key)
	h ^= scramble(binary.LittleEndian.Uint32(tail[:])) ^ length
	h = (h ^ h>>16) * 0x85ebca6b
	h = (h ^ h>>13) * 0xc2b2ae35
	return h ^ h>>16
}

func scramble(x uint32) uint32 { return bits.RotateLeft32(x*0xcc9e2d51, 15) * 0x1b873593 }

// LevelSeed is the seed of LevelDB's filters, and of those that follow it.
const LevelSeed = 0xbc9f1d34

// Level is the hash of LevelDB's filters, which is like the first Murmur.
func Level(key []byte, seed uint32) uint32 {
	h, tail := level(key, seed)
	for i, b := range tail {
		h += uint32(b) << (8 * i)
	}
	return levelFinish(h, len(tail))
}

// LevelSigned is Level as RocksDB and Pebble compute it: the last bytes of a key, those
// behind its last 4, are taken as signed.
func LevelSigned(key []byte, seed uint32) uint32 {
	h, tail := level(key, seed)
	for i, b := range tail {
		h += uint32(int8(b)) << (8 * i)
	}
	return levelFinish(h, len(tail))
}

const levelMul = 0xc6a4a793

// level mixes the whole words of a key, and returns what is behind them.
func level(key []byte, seed uint32) (h uint32, tail []byte) {
	h = seed ^ uint32(len(key))*levelMul
	for ; len(key) >= 4; key = key[4:] {
		h = (h + binary.LittleEndian.Uint32(key)) * levelMul
		h ^= h >> 16
	}
	return h, key
}

// levelFinish mixes a tail that was added, if there was one.
func levelFinish(h uint32, tail int) uint32 {
	if tail == 0 {
		return h
	}
	h *= levelMul
	return h ^ h>>24
}
