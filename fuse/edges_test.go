package fuse_test

import (
	"errors"
	"slices"
	"strconv"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/fuse"
	"github.com/bloomery/bloomery/hashing"
)

// TestContainsKeysOfEveryLength asks for no key, one, and more than are hashed at
// once.
func TestContainsKeysOfEveryLength(t *testing.T) {
	var keys [][]byte
	var hs []uint64
	for i := range 1000 {
		keys = append(keys, strconv.AppendInt(nil, int64(i), 10))
		hs = append(hs, hashing.Hasher{}.Hash(keys[i]))
	}
	f := built(t, fuse.Config[uint16]{}, hs[:999])
	for n := range keys {
		got := make([]bool, n)
		f.ContainsKeys(got, keys[:n])
		if slices.Contains(got, false) {
			t.Fatalf("of %d keys, number %d is not there", n, slices.Index(got, false))
		}
	}
	got := []bool{false, true, true}
	f.ContainsKeys(got, [][]byte{keys[0], []byte("absent")})
	if !slices.Equal(got, []bool{true, false, true}) {
		t.Errorf("a key that is there, and one that is not: %v", got)
	}
}

// TestAllocHoldsTheFilter asks that the fingerprints lie where Alloc says.
func TestAllocHoldsTheFilter(t *testing.T) {
	var given []byte
	hs := random(1000, 1)
	f := built(t, fuse.Config[uint8]{Alloc: func(bytes int) ([]byte, error) {
		given = make([]byte, bytes)
		return given, nil
	}}, hs)
	holds(t, f, hs)
	st := f.Stats()
	if uint64(len(given))*8 != st.Bits || st.Bytes < st.Bits/8 || st.Bytes > st.Bits/8+64 {
		t.Errorf("Alloc was asked for %d bytes, the filter has %d bits in %d bytes", len(given), st.Bits, st.Bytes)
	}
	clear(given)
	if wrong := slices.IndexFunc(hs, func(h uint64) bool { return !f.ContainsHash(h) }); wrong < 0 {
		t.Error("the filter does not lie in the memory of Alloc")
	}
}

// TestKeyedNeedsItsKey decodes a filter with a secret without it.
func TestKeyedNeedsItsKey(t *testing.T) {
	keyed := hashing.Keyed([16]byte{1})
	data := encoded(t, built(t, fuse.Config[uint8]{Hasher: keyed}, random(100, 2)))
	for name, c := range map[string]fuse.Config[uint8]{"none": {}, "another": {Hasher: hashing.Keyed([16]byte{2})}} {
		if _, err := c.Decode(data); !errors.Is(err, bloomery.ErrKey) {
			t.Errorf("Decode with the key %s: %v, want ErrKey", name, err)
		}
		if _, err := c.View(data); !errors.Is(err, bloomery.ErrKey) {
			t.Errorf("View with the key %s: %v, want ErrKey", name, err)
		}
	}
	if _, err := (fuse.Config[uint8]{Hasher: keyed}).Decode(data); err != nil {
		t.Errorf("Decode: %v", err)
	}
}

// TestViewOfDamagedData clones what cannot be verified.
func TestViewOfDamagedData(t *testing.T) {
	hs := random(1000, 3)
	data := encoded(t, built(t, fuse.Config[uint8]{}, hs))
	v, err := fuse.Config[uint8]{}.View(data)
	if err != nil {
		t.Fatal(err)
	}
	f, err := v.Clone()
	if err != nil {
		t.Fatal(err)
	}
	holds(t, f.(*fuse.Filter[uint8]), hs)
	data[len(data)-100] ^= 1
	if f, err := v.Clone(); f != nil || !errors.Is(err, bloomery.ErrCorrupt) {
		t.Errorf("Clone of damaged data: %v, want ErrCorrupt", err)
	}
}
