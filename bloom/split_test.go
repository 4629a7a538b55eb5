package bloom_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math/bits"
	"strings"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/sizing"
)

// shortXXH64 is XXH64 with seed 0 for keys of less than 32 bytes, the hash of
// Parquet.
func shortXXH64(key []byte) uint64 {
	const p1, p2, p3, p4, p5 = 11400714785074694791, 14029467366897019727, 1609587929392839161, 9650029242287828579, 2870177450012600261
	h := uint64(p5) + uint64(len(key))
	for ; len(key) >= 8; key = key[8:] {
		h ^= bits.RotateLeft64(binary.LittleEndian.Uint64(key)*p2, 31) * p1
		h = bits.RotateLeft64(h, 27)*p1 + p4
	}
	if len(key) >= 4 {
		h ^= uint64(binary.LittleEndian.Uint32(key)) * p1
		h = bits.RotateLeft64(h, 23)*p2 + p3
		key = key[4:]
	}
	for _, b := range key {
		h ^= uint64(b) * p5
		h = bits.RotateLeft64(h, 11) * p1
	}
	h = (h ^ h>>33) * p2
	h = (h ^ h>>29) * p3
	return h ^ h>>32
}

// parquetWords are the strings in bloom_filter.xxhash.bin, a filter of 1024
// bytes in the repository apache/parquet-testing.
var parquetWords = []string{"hello", "parquet", "bloom", "filter"}

// TestSplitIsParquet holds the array to that file, byte for byte: its bitset
// has this SHA-256.
func TestSplitIsParquet(t *testing.T) {
	for key, want := range map[string]uint64{"": 0xef46db3751d8e999, "a": 0xd24ec4f1a98c6e5b, "abc": 0x44bc2cf5ad770999, "hello": 0x26c7827d889f6da3} {
		if got := shortXXH64([]byte(key)); got != want {
			t.Fatalf("shortXXH64(%q) = %x, want %x", key, got, want)
		}
	}
	s, err := bloom.Config{Bits: 1024 * 8, Hashes: 8, Hasher: hashing.Func(shortXXH64)}.NewSplit()
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range parquetWords {
		s.AddString(word)
	}
	bitset := s.AppendBitset([]byte("before"))
	if string(bitset[:6]) != "before" || len(bitset) != 6+1024 {
		t.Fatalf("AppendBitset gave %d bytes behind %q", len(bitset)-6, bitset[:6])
	}
	bitset = bitset[6:]
	const want = "cf4916a4184794b91ad924df908d6abbd751ae47b2e7af07fe236463af1bc8f3"
	if sum := sha256.Sum256(bitset); hex.EncodeToString(sum[:]) != want {
		t.Errorf("SHA-256 of the bitset = %x, want %s", sum, want)
	}

	again, err := bloom.Config{Hasher: hashing.Func(shortXXH64)}.NewSplitFromBitset(bitset)
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range parquetWords {
		if !again.ContainsString(word) {
			t.Errorf("%q is missing", word)
		}
	}
	if again.ContainsString("something else") || again.EstimateCount() != 4 {
		t.Errorf("%d keys, want 4", again.EstimateCount())
	}
	// The array is a copy: what is added does not show in the source.
	before := bytes.Clone(bitset)
	again.AddString("more")
	if !bytes.Equal(before, bitset) {
		t.Error("NewSplitFromBitset did not copy")
	}
}

// TestSplitBytes is one key in one block, computed by hand from the rule: with
// lower half 1 the bits are the upper 5 bits of the salts.
func TestSplitBytes(t *testing.T) {
	s, err := bloom.Config{Bits: 512, Hashes: 8}.NewSplit()
	if err != nil {
		t.Fatal(err)
	}
	s.AddHash(1<<63 | 1)
	want := strings.Repeat("00", 32) + "00010000" + "00010000" + "00000200" + "00001000" + "00400000" + "20000000" + "00000800" + "00080000"
	if got := hex.EncodeToString(s.AppendBitset(nil)); got != want {
		t.Errorf("bitset = %s, want %s", got, want)
	}
}

func TestSplitFromBadBitset(t *testing.T) {
	whole := make([]byte, 64)
	for _, c := range []struct {
		name   string
		config bloom.Config
		bitset []byte
		want   error
	}{
		{"nil", bloom.Config{}, nil, bloomery.ErrCorrupt},
		{"empty", bloom.Config{}, []byte{}, bloomery.ErrCorrupt},
		{"half a block", bloom.Config{}, whole[:16], bloomery.ErrCorrupt},
		{"a byte too many", bloom.Config{}, whole[:33], bloomery.ErrCorrupt},
		{"a byte too few", bloom.Config{}, whole[:63], bloomery.ErrCorrupt},
		{"negative capacity", bloom.Config{Capacity: -1}, whole, bloomery.ErrParameter},
		{"rate", bloom.Config{ErrorRate: 0.1}, whole, bloomery.ErrParameter},
		{"bits", bloom.Config{Bits: 512, Hashes: 8}, whole, bloomery.ErrParameter},
	} {
		s, err := c.config.NewSplitFromBitset(c.bitset)
		if s != nil || !errors.Is(err, c.want) || !strings.HasPrefix(err.Error(), "bloom: new split: ") {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
}

func ExampleNewSplit() {
	s := bloom.NewSplit(1_000_000, 0.01)
	s.AddString("alice")
	fmt.Println(s.ContainsString("alice"), s.ContainsString("bob"))
	fmt.Println(s.Shape().Bits/sizing.SplitBits, "blocks")
	// Output:
	// true false
	// 41130 blocks
}

func ExampleConfig_NewSplitFromBitset() {
	written := bloom.NewSplit(100, 0.01)
	written.AddString("alice")
	bitset := written.AppendBitset(nil) // what follows the header in a Parquet file

	read, err := bloom.Config{Capacity: 100}.NewSplitFromBitset(bitset)
	fmt.Println(len(bitset), read.ContainsString("alice"), err)
	// Output: 160 true <nil>
}
