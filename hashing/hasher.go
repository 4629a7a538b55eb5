// Package hashing turns keys into the 64-bit hashes that filters work with.
//
// A [Hasher] is a small struct that every filter owns a copy of. Its zero
// value is XXH3 with seed 0, the default everywhere, so that filters made
// apart can be united. Three more ways to make one:
//
//	hashing.Seeded(42)        // XXH3, another seed: other false positives
//	hashing.Keyed(secret)     // SipHash-2-4: nobody without the key can aim at a filter
//	hashing.Func(myHash)      // a function of your own
//
// XXH3 is fast and not secret: anyone can make keys that collide. Use Keyed for
// untrusted input, where adversarial keys could drive up the false positive
// rate; it takes about four times as long (go test -bench Hasher ./hashing).
package hashing

import (
	"encoding/binary"
	"fmt"

	"github.com/zeebo/xxh3"
)

// Kind numbers the hash functions in file headers. Numbers are never reused.
type Kind uint8

// The kinds of hash functions.
const (
	XXH3    Kind = 0 // XXH3-64 with a seed
	SipHash Kind = 1 // SipHash-2-4 with a secret key
	Custom  Kind = 2 // a function given to Func
)

// String returns the name of the hash function.
func (k Kind) String() string {
	switch k {
	case XXH3:
		return "xxh3"
	case SipHash:
		return "siphash"
	case Custom:
		return "custom"
	}
	return fmt.Sprintf("hash kind %d", uint8(k))
}

// Hasher hashes keys to 64 bits. The zero value is XXH3 with seed 0.
//
// It is a struct, not an interface, because a key that passes through an
// interface or a function value is moved to the heap, which costs more than
// the hash itself. Compare Hashers with Equal.
//
// Printing a Hasher, or anything that holds one, never shows a secret key.
//
// Safe for concurrent use.
type Hasher struct {
	_ [0]func() // == would compare pointers to secrets; see Equal

	seed   uint64   // of XXH3
	secret **secret // of the other kinds
	kind   Kind
}

// secret is what must not be seen. fmt prints unexported fields, and follows a
// pointer to a struct when a verb does not fit (%!s(*T=&{...})), but never two
// pointers. It also hides the function, see callCustom.
type secret struct {
	k0, k1 uint64 // the key of SipHash
	f      func(key []byte) uint64
}

// Seeded returns XXH3 with a seed. Filters with different seeds have
// different false positives and cannot be united.
func Seeded(seed uint64) Hasher { return Hasher{kind: XXH3, seed: seed} }

// Keyed returns SipHash-2-4 with a secret key. A file written by a filter with
// this hasher holds a fingerprint of the key, never the key.
func Keyed(key [16]byte) Hasher {
	return hiding(SipHash, &secret{
		k0: binary.LittleEndian.Uint64(key[:8]),
		k1: binary.LittleEndian.Uint64(key[8:]),
	})
}

// Keyless returns a stand-in for the Keyed hasher whose fingerprint is check, for a
// program that does not have the key. Filters that were made with that key can be
// opened with it, kept, written and looked up by hash. It cannot hash: Hash returns 0
// for every key.
func Keyless(check uint64) Hasher { return Hasher{kind: SipHash, seed: check} }

// IsKeyless reports whether h cannot hash, see Keyless.
func (h Hasher) IsKeyless() bool { return h.kind != XXH3 && h.secret == nil }

// Func returns a Hasher that calls f. All 64 bits that f returns must be well
// mixed, and f must always return the same for the same key. f gets a copy of
// the key, so each key costs an allocation. It panics if f is nil.
func Func(f func(key []byte) uint64) Hasher {
	if f == nil {
		panic("hashing: Func of nil")
	}
	return hiding(Custom, &secret{f: f})
}

func hiding(k Kind, s *secret) Hasher { return Hasher{kind: k, secret: &s} }

// Hash returns the hash of key.
func (h Hasher) Hash(key []byte) uint64 {
	if h.kind == XXH3 {
		return xxh3.HashSeed(key, h.seed)
	}
	return h.bytesSlow(key)
}

// HashString returns the hash of key, the same as Hash of its bytes.
func (h Hasher) HashString(key string) uint64 {
	if h.kind == XXH3 {
		return xxh3.HashStringSeed(key, h.seed)
	}
	return h.stringSlow(key)
}

// HashUint64 returns the hash of an integer key. With XXH3 it is a mixer of its
// own, a bijection three times as fast as hashing 8 bytes, so it differs from
// Hash of any encoding of x; otherwise it is Hash of the 8 bytes of x in
// little-endian order.
func (h Hasher) HashUint64(x uint64) uint64 {
	if h.kind == XXH3 {
		return mix(x ^ h.seed*golden)
	}
	return h.uint64Slow(x)
}

// HashKeys puts the hashes of keys into dst, as many as there is room for, and
// returns their number.
func (h Hasher) HashKeys(dst []uint64, keys [][]byte) int {
	n := min(len(dst), len(keys))
	for i, key := range keys[:n] {
		dst[i] = h.Hash(key)
	}
	return n
}

// HashStrings is HashKeys for strings.
func (h Hasher) HashStrings(dst []uint64, keys []string) int {
	n := min(len(dst), len(keys))
	for i, key := range keys[:n] {
		dst[i] = h.HashString(key)
	}
	return n
}

// HashBatch is HashKeys or HashStrings, by the type of the keys.
func HashBatch[K []byte | string](h Hasher, dst []uint64, keys []K) int {
	switch keys := any(keys).(type) {
	case [][]byte:
		return h.HashKeys(dst, keys)
	case []string:
		return h.HashStrings(dst, keys)
	}
	return 0 // there are no other keys
}

// Kind returns the kind of hash function.
func (h Hasher) Kind() Kind { return h.kind }

// Check is what a file header stores of a Hasher beside its kind: the seed of
// XXH3; for SipHash and functions a fingerprint, the hash of a fixed text.
func (h Hasher) Check() uint64 {
	if h.kind == XXH3 || h.secret == nil {
		return h.seed
	}
	return h.HashString(fingerprintText)
}

// Equal reports whether h and o give every key the same hash: both have the
// same kind and the same Check. Two functions with the same fingerprint count
// as equal.
func (h Hasher) Equal(o Hasher) bool { return h.kind == o.kind && h.Check() == o.Check() }

// String describes the hash function: its kind, and the seed of XXH3 or the
// fingerprint of a key or function, never the key.
func (h Hasher) String() string {
	if h.kind == XXH3 {
		return fmt.Sprintf("%v seed %d", h.kind, h.seed)
	}
	return fmt.Sprintf("%v fingerprint %016x", h.kind, h.Check())
}

const fingerprintText = "bloomery: fingerprint of a hash key"

//go:noinline
func (h Hasher) bytesSlow(key []byte) uint64 {
	if h.secret == nil {
		return 0
	}
	if h.kind == SipHash {
		s := *h.secret
		return sip(s.k0, s.k1, key)
	}
	return h.callCustom(append([]byte(nil), key...))
}

//go:noinline
func (h Hasher) stringSlow(key string) uint64 {
	if h.secret == nil {
		return 0
	}
	if h.kind == SipHash {
		s := *h.secret
		return sip(s.k0, s.k1, key)
	}
	return h.callCustom([]byte(key))
}

//go:noinline
func (h Hasher) uint64Slow(x uint64) uint64 {
	if h.secret == nil {
		return 0
	}
	if h.kind == SipHash {
		var b [8]byte
		binary.LittleEndian.PutUint64(b[:], x)
		s := *h.secret
		return sip(s.k0, s.k1, b[:])
	}
	return h.callCustom(binary.LittleEndian.AppendUint64(nil, x))
}

// callCustom calls the user's function. Its argument goes to the heap, since
// nobody knows what the function does with it; the callers above pass a copy,
// so that keys of other hashers stay where they are.
func (h Hasher) callCustom(key []byte) uint64 { return (*h.secret).f(key) }

const golden = 0x9e3779b97f4a7c15

// mix is a bijection in which every bit of x moves every bit of the result:
// two rounds of xorshift and multiply (the constants of Stafford's mixer 13),
// after an addition that takes 0 away from its fixed point.
func mix(x uint64) uint64 {
	x += golden
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
