package hashing_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"testing"

	"github.com/zeebo/xxh3"

	"github.com/bloomery/bloomery/hashing"
)

// sipKey is the key of the reference vectors: bytes 0 to 15.
var sipKey = [16]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}

// hashers has one of each kind.
func hashers() map[string]hashing.Hasher {
	return map[string]hashing.Hasher{
		"zero":   {},
		"seeded": hashing.Seeded(42),
		"keyed":  hashing.Keyed(sipKey),
		"func":   hashing.Func(xxh3.Hash),
	}
}

// The vectors of the SipHash-2-4 reference implementation: message i is the
// bytes 0 to i-1. The value for 15 bytes stands in the paper's appendix.
func TestSipHashVectors(t *testing.T) {
	want := map[int]uint64{
		0:  0x726fdb47dd0e0e31,
		1:  0x74f839c593dc67fd,
		7:  0xab0200f58b01d137,
		8:  0x93f5f5799a932462,
		15: 0xa129ca6149be45e5,
		63: 0x958a324ceb064572,
	}
	h := hashing.Keyed(sipKey)
	for n, w := range want {
		msg := make([]byte, n)
		for i := range msg {
			msg[i] = byte(i)
		}
		if got := h.Hash(msg); got != w {
			t.Errorf("SipHash of %d bytes = %#x, want %#x", n, got, w)
		}
	}
}

// The values of the XXH3 specification's reference implementation.
func TestXXH3Vectors(t *testing.T) {
	if got, want := (hashing.Hasher{}).Hash(nil), uint64(0x2d06800538d394c2); got != want {
		t.Errorf("XXH3 of nothing = %#x, want %#x", got, want)
	}
	if a, b := (hashing.Hasher{}).HashString("bloomery"), hashing.Seeded(0).HashString("bloomery"); a != b {
		t.Errorf("zero value hashes to %#x, Seeded(0) to %#x", a, b)
	}
}

func TestSpellingsAgree(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for name, h := range hashers() {
		for n := range 300 {
			key := make([]byte, n)
			for i := range key {
				key[i] = byte(r.Uint32())
			}
			if a, b := h.Hash(key), h.HashString(string(key)); a != b {
				t.Fatalf("%s: Hash = %#x, HashString = %#x for %d bytes", name, a, b, n)
			}
		}
	}
	for _, name := range []string{"keyed", "func"} {
		h := hashers()[name]
		var b [8]byte
		binary.LittleEndian.PutUint64(b[:], 0x0123456789abcdef)
		if got, want := h.HashUint64(0x0123456789abcdef), h.Hash(b[:]); got != want {
			t.Errorf("%s: HashUint64 = %#x, Hash of its 8 bytes = %#x", name, got, want)
		}
	}
}

// Flipping any input bit of HashUint64 must flip each output bit half of the time:
// over 20,000 inputs the share is 0.5 with a standard deviation of 0.0035, and
// 5 deviations leave 4096 cells a chance of 0.2% to fail at random.
func TestHashUint64Avalanche(t *testing.T) {
	const inputs = 20000
	sigma := 0.5 / math.Sqrt(inputs)
	for _, h := range []hashing.Hasher{{}, hashing.Seeded(7)} {
		for in := range 64 {
			var flips [64]int
			for x := range uint64(inputs) {
				d := h.HashUint64(x) ^ h.HashUint64(x^1<<in)
				for ; d != 0; d &= d - 1 {
					flips[bits.TrailingZeros64(d)]++
				}
			}
			for out, n := range flips {
				if f := float64(n) / inputs; math.Abs(f-0.5) > 5*sigma {
					t.Errorf("input bit %d flips output bit %d in %.3f of cases", in, out, f)
				}
			}
		}
	}
}

func TestCheck(t *testing.T) {
	seen := map[uint64]string{}
	for _, c := range []struct {
		name string
		h    hashing.Hasher
	}{
		{"seed 1", hashing.Seeded(1)},
		{"seed 2", hashing.Seeded(2)},
		{"key a", hashing.Keyed(sipKey)},
		{"key b", hashing.Keyed([16]byte{1})},
		{"func", hashing.Func(xxh3.Hash)},
	} {
		if other, ok := seen[c.h.Check()]; ok {
			t.Errorf("%s and %s have the same check value", c.name, other)
		}
		seen[c.h.Check()] = c.name
	}
	if got := hashing.Seeded(99).Check(); got != 99 {
		t.Errorf("Check of seed 99 = %d, want the seed", got)
	}
}

// Equal is about what is hashed to what, not about where a key lies in memory.
func TestEqual(t *testing.T) {
	all := []hashing.Hasher{
		{}, hashing.Seeded(1), hashing.Keyed(sipKey), hashing.Keyed([16]byte{}),
		hashing.Func(func(b []byte) uint64 { return xxh3.Hash(b) + 1 }),
	}
	again := []hashing.Hasher{
		hashing.Seeded(0), hashing.Seeded(1), hashing.Keyed(sipKey), hashing.Keyed([16]byte{}),
		hashing.Func(func(b []byte) uint64 { return 1 + xxh3.Hash(b) }),
	}
	for i, a := range all {
		for j, b := range again {
			if got := a.Equal(b); got != (i == j) {
				t.Errorf("%v equals %v: %v, want %v", a, b, got, i == j)
			}
		}
	}
}

func TestHasherString(t *testing.T) {
	for want, h := range map[string]hashing.Hasher{
		"xxh3 seed 0":  {},
		"xxh3 seed 42": hashing.Seeded(42),
		fmt.Sprintf("siphash fingerprint %016x", hashing.Keyed(sipKey).Check()):  hashing.Keyed(sipKey),
		fmt.Sprintf("custom fingerprint %016x", hashing.Func(xxh3.Hash).Check()): hashing.Func(xxh3.Hash),
	} {
		if got := h.String(); got != want {
			t.Errorf("String() = %q, want %q", got, want)
		}
	}
}

func TestFuncNil(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("Func(nil) did not panic")
		}
	}()
	hashing.Func(nil)
}

// A key on the stack must stay there, whatever the kind: the copy that a Func
// gets is its one allocation.
func TestAllocs(t *testing.T) {
	for name, h := range hashers() {
		want := 0.0
		if name == "func" {
			want = 1
		}
		var sum uint64
		got := testing.AllocsPerRun(100, func() {
			var key [24]byte
			key[3] = byte(sum)
			sum += h.Hash(key[:])
		})
		if got != want {
			t.Errorf("%s: Hash allocates %v times, want %v", name, got, want)
		}
		if name == "func" {
			continue
		}
		got = testing.AllocsPerRun(100, func() { sum += h.HashString("a key of some length") + h.HashUint64(sum) })
		if got != 0 {
			t.Errorf("%s: HashString and HashUint64 allocate %v times, want 0", name, got)
		}
	}
}

func TestKindNames(t *testing.T) {
	for k, want := range map[hashing.Kind]string{
		hashing.XXH3: "xxh3", hashing.SipHash: "siphash", hashing.Custom: "custom", 9: "hash kind 9",
	} {
		if got := k.String(); got != want {
			t.Errorf("Kind(%d) = %q, want %q", k, got, want)
		}
	}
}

func ExampleKeyed() {
	secret := [16]byte([]byte("sixteen byte key"))
	h := hashing.Keyed(secret)
	fmt.Println(h.Kind(), h.HashString("alice") == h.Hash([]byte("alice")))
	// Output: siphash true
}

func BenchmarkHasher(b *testing.B) {
	key := []byte("user:0000000000000000042")
	for name, h := range hashers() {
		b.Run("hash="+name+"/len=24", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				h.Hash(key)
			}
		})
		b.Run("hash="+name+"/uint64", func(b *testing.B) {
			b.ReportAllocs()
			var x uint64
			for b.Loop() {
				x = h.HashUint64(x)
			}
		})
	}
}

// TestKeyless asks that a keyless hasher opens what its key opens, and hashes
// nothing.
func TestKeyless(t *testing.T) {
	key := hashing.Keyed([16]byte{1, 2, 3})
	p := hashing.Keyless(key.Check())
	if !p.Equal(key) || !p.IsKeyless() || key.IsKeyless() || (hashing.Hasher{}).IsKeyless() {
		t.Errorf("Equal %v, IsKeyless %v and of the key %v", p.Equal(key), p.IsKeyless(), key.IsKeyless())
	}
	if p.Hash([]byte("a")) != 0 || p.HashString("a") != 0 || p.HashUint64(1) != 0 {
		t.Error("a keyless hasher hashes")
	}
	if p.String() != key.String() {
		t.Errorf("String() = %q, want %q", p.String(), key.String())
	}
}
