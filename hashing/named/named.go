package named

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"sync"

	"github.com/cespare/xxhash/v2"
	farm "github.com/dgryski/go-farm"
	"github.com/go-faster/city"
	"golang.org/x/crypto/blake2b"
	"lukechampine.com/blake3"

	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/internal/murmur"
)

// XXH64 returns xxHash with 64 bits and seed 0.
func XXH64() hashing.Hasher { return hashing.Func(xxhash.Sum64) }

// Murmur3 returns the first 64 bits of MurmurHash3_x64_128 with seed 0.
func Murmur3() hashing.Hasher {
	return hashing.Func(func(key []byte) uint64 {
		h, _ := murmur.Sum128(key, 0)
		return h
	})
}

// FNV1a returns FNV-1a with 64 bits. Filters made with it have too many false positives for
// some keys, see the table in the package doc: it is for hashes that come from
// elsewhere. Take FNV1aMixed for filters.
func FNV1a() hashing.Hasher { return hashing.Func(fnv1a) }

// FNV1aMixed returns FNV-1a with the finalizer of Murmur3, which spreads over all
// bits what FNV-1a leaves in the low ones.
func FNV1aMixed() hashing.Hasher {
	return hashing.Func(func(key []byte) uint64 { return murmur.Finish(fnv1a(key)) })
}

// City64 returns CityHash64 of version 1.1, the last one.
func City64() hashing.Hasher { return hashing.Func(city.Hash64) }

// Farm64 returns FarmHash's Fingerprint64, the form that never changes.
func Farm64() hashing.Hasher { return hashing.Func(farm.Fingerprint64) }

// BLAKE2b returns the first 8 bytes of BLAKE2b-512 in little-endian order.
func BLAKE2b() hashing.Hasher {
	return hashing.Func(func(key []byte) uint64 {
		sum := blake2b.Sum512(key)
		return binary.LittleEndian.Uint64(sum[:])
	})
}

// BLAKE3 returns the first 8 bytes of BLAKE3 in little-endian order.
func BLAKE3() hashing.Hasher {
	return hashing.Func(func(key []byte) uint64 {
		sum := blake3.Sum256(key)
		return binary.LittleEndian.Uint64(sum[:])
	})
}

// HMACSHA256 returns the first 8 bytes of HMAC-SHA-256 under a secret, in
// little-endian order. The secret should have 16 bytes at least; it is copied.
func HMACSHA256(secret []byte) hashing.Hasher {
	secret = append([]byte(nil), secret...)
	// A state is made once for each processor and not for each key.
	states := sync.Pool{New: func() any { return hmac.New(sha256.New, secret) }}
	return hashing.Func(func(key []byte) uint64 {
		state := states.Get().(hash.Hash)
		defer states.Put(state)
		state.Reset()
		state.Write(key)
		var sum [sha256.Size]byte
		return binary.LittleEndian.Uint64(state.Sum(sum[:0]))
	})
}

// fnv1a is hash/fnv's 64-bit form without its interface.
func fnv1a(key []byte) uint64 {
	h := uint64(0xcbf29ce484222325)
	for _, b := range key {
		h = (h ^ uint64(b)) * 0x100000001b3
	}
	return h
}
