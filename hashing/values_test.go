package hashing_test

import (
	"encoding/binary"
	"testing"

	"github.com/bloomery/bloomery/hashing"
)

// The hashes of integers and the fingerprints of keys are part of the file
// format: files that hold them are read by later versions.
func TestValues(t *testing.T) {
	x, seeded := hashing.Hasher{}, hashing.Seeded(7)
	for _, c := range []struct {
		got, want uint64
	}{
		{x.HashUint64(0), 0xe220a8397b1dcdaf},
		{x.HashUint64(1), 0x910a2dec89025cc1},
		{x.HashUint64(1 << 63), 0x481ec0a212a9f3db},
		{seeded.HashUint64(0), 0xc584133ac916ab3c},
		{hashing.Keyed([16]byte{1, 2, 3}).Check(), 0x73267d0592a7d757},
	} {
		if c.got != c.want {
			t.Errorf("hash %#x, want %#x", c.got, c.want)
		}
	}
}

// A function's hashes are taken as they are, whatever the key is written as.
func TestFuncIsTakenAsItIs(t *testing.T) {
	f := hashing.Func(func(key []byte) uint64 { return uint64(len(key))<<32 | uint64(key[0]) })
	want := uint64(5)<<32 | 'h'
	if got := f.Hash([]byte("hello")); got != want {
		t.Errorf("Hash = %#x, want %#x", got, want)
	}
	if got := f.HashString("hello"); got != want {
		t.Errorf("HashString = %#x, want %#x", got, want)
	}
	if got := f.HashUint64(42); got != 8<<32|42 {
		t.Errorf("HashUint64 = %#x, want the hash of its 8 bytes", got)
	}
	if got, want := f.Check(), f.HashString("bloomery: fingerprint of a hash key"); got != want {
		t.Errorf("Check() = %#x, want %#x", got, want)
	}
}

// HashKeys returns how many keys it hashed: as many as there is room for.
func TestHashKeysCounts(t *testing.T) {
	var h hashing.Hasher
	keys := [][]byte{[]byte("a"), []byte("b"), binary.LittleEndian.AppendUint64(nil, 3)}
	for room := range 5 {
		dst := make([]uint64, room)
		n := h.HashKeys(dst, keys)
		if want := min(room, len(keys)); n != want {
			t.Errorf("room for %d: HashKeys = %d, want %d", room, n, want)
		}
		for i := range min(n, room) {
			if dst[i] != h.Hash(keys[i]) {
				t.Errorf("room for %d: key %d has another hash", room, i)
			}
		}
	}
}
