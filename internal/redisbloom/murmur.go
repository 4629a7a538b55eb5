package redisbloom

import (
	"encoding/binary"
	"math/bits"
)

const (
	murmurM   = 0xc6a4a7935bd1e995 // MurmurHash64A's multiplier; BF also takes it as the first seed
	murmurM32 = 0x5bd1e995         // MurmurHash2's multiplier; CF also takes it to derive the second bucket
	seed32    = 0x9747b28c         // first seed of a BF with 32-bit hashes
)

// Digest is all that a Bloom filter needs to know of a key: two hashes. It is
// 16 bytes in a log, and no part of the key can be read from it.
type Digest struct{ A, B uint64 }

// BloomDigest returns the digest of key for a Bloom filter with 64-bit hashes,
// which is every filter but those loaded from very old dumps: see
// [Bloom.Digest].
func BloomDigest(key []byte) Digest {
	n := len(key)
	if n <= 8 || n >= 16 {
		a := murmur64(key, murmurM)
		return Digest{a, murmur64(key, a)}
	}
	// A short key is read once for both hashes.
	k, rest, length := word(key), rest(key, n-8), uint64(n)*murmurM
	a := finish64((((murmurM^length)^k)*murmurM ^ rest) * murmurM)
	return Digest{a, finish64((((a^length)^k)*murmurM ^ rest) * murmurM)}
}

// BloomDigest32 returns the digest of key for a Bloom filter with 32-bit
// hashes: one for which [Bloom.Narrow] is true.
func BloomDigest32(key []byte) Digest {
	a := murmur32(key, seed32)
	return Digest{uint64(a), uint64(murmur32(key, a))}
}

// CuckooDigest returns the digest of key for a cuckoo filter.
func CuckooDigest(key []byte) uint64 { return murmur64(key, 0) }

// murmur64 is MurmurHash64A by Austin Appleby (public domain), read in
// little-endian order on every machine.
func murmur64(p []byte, seed uint64) uint64 {
	h := seed ^ uint64(len(p))*murmurM
	left := p
	for len(left) >= 8 {
		h = (h ^ word(left)) * murmurM
		left = left[8:]
	}
	switch {
	case len(left) == 0:
	case len(p) >= 8:
		h = (h ^ rest(p, len(left))) * murmurM
	default:
		h = (h ^ tail(p)) * murmurM
	}
	return finish64(h)
}

// word returns the first 8 bytes of p as murmur64 takes them.
func word(p []byte) uint64 {
	k := binary.LittleEndian.Uint64(p) * murmurM
	return (k ^ k>>47) * murmurM
}

// rest returns the last n bytes of p, 1 to 7 of at least 8, as a little-endian number.
func rest(p []byte, n int) uint64 {
	return binary.LittleEndian.Uint64(p[len(p)-8:]) >> (8 * uint(8-n) & 63)
}

func finish64(h uint64) uint64 {
	h = (h ^ h>>47) * murmurM
	return h ^ h>>47
}

// tail reads 1 to 7 bytes as a little-endian number. From 4 bytes on two reads
// overlap; the bytes they share are the same, so OR leaves them as they are.
func tail(p []byte) uint64 {
	n := len(p)
	if n >= 4 {
		lo := uint64(binary.LittleEndian.Uint32(p))
		hi := uint64(binary.LittleEndian.Uint32(p[n-4:]))
		return lo | hi<<(8*uint(n-4)&63)
	}
	mid := n / 2
	return uint64(p[0]) | uint64(p[mid])<<(8*uint(mid)&63) | uint64(p[n-1])<<(8*uint(n-1)&63)
}

// murmur32 is MurmurHash2 by Austin Appleby (public domain).
func murmur32(p []byte, seed uint32) uint32 {
	h := seed ^ uint32(len(p))
	for len(p) >= 4 {
		k := binary.LittleEndian.Uint32(p) * murmurM32
		k ^= k >> 24
		h = h*murmurM32 ^ k*murmurM32
		p = p[4:]
	}
	if len(p) > 0 {
		h = (h ^ uint32(tail(p))) * murmurM32
	}
	return finish32(h)
}

// rowSeeds is how many seeds murmurRows hashes with.
const rowSeeds = 4

// murmurRows is murmur32 with the seeds first … first+3: the rows of a sketch.
// One pass over the item serves all of them, and they do not wait for each
// other.
func murmurRows(p []byte, first uint32) (h0, h1, h2, h3 uint32) {
	n := uint32(len(p))
	h0, h1, h2, h3 = first^n, (first+1)^n, (first+2)^n, (first+3)^n
	for len(p) >= 4 {
		k := binary.LittleEndian.Uint32(p) * murmurM32
		k = (k ^ k>>24) * murmurM32
		h0, h1, h2, h3 = h0*murmurM32^k, h1*murmurM32^k, h2*murmurM32^k, h3*murmurM32^k
		p = p[4:]
	}
	if len(p) > 0 {
		k := uint32(tail(p))
		h0, h1, h2, h3 = (h0^k)*murmurM32, (h1^k)*murmurM32, (h2^k)*murmurM32, (h3^k)*murmurM32
	}
	return finish32(h0), finish32(h1), finish32(h2), finish32(h3)
}

// rowsOf is murmurRows as an array.
func rowsOf(p []byte, first uint32) (h [rowSeeds]uint32) {
	h[0], h[1], h[2], h[3] = murmurRows(p, first)
	return h
}

func finish32(h uint32) uint32 {
	h ^= h >> 13
	h *= murmurM32
	return h ^ h>>15
}

// columns maps hashes of 32 bits to the columns of a row: hash mod width.
type columns struct {
	width   uint64
	inverse uint64 // ceil(2^64 / width), 0 for a width of 1; for a width below 2^32
}

func newColumns(width uint64) columns { return columns{width, ^uint64(0)/width + 1} }

// of returns h mod width, by two multiplications (Lemire, Kaser and Kurz,
// "Faster remainder by direct computation", 2019).
func (c columns) of(h uint32) uint64 {
	if c.width > 1<<32-1 {
		return uint64(h)
	}
	hi, _ := bits.Mul64(c.inverse*uint64(h), c.width)
	return hi
}
