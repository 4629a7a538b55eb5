package bip37_test

import (
	"encoding/binary"
	"errors"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/foreign"
	"github.com/bloomery/bloomery/foreign/bip37"
	"github.com/bloomery/bloomery/foreign/internal/formattest"
)

func format() formattest.Format {
	f := formattest.Bloom(func(n uint64, p float64) (*foreign.Bloom, error) {
		return bip37.New(bip37.Config{Capacity: n, ErrorRate: p, Tweak: 7, Flags: 1})
	}, bip37.Open)
	f.Sizes = []int{10, 1000, 20_000}
	return f
}

func TestFormat(t *testing.T) { formattest.Run(t, format()) }

func FuzzOpen(f *testing.F) { formattest.Fuzz(f, format(), make([]byte, 10)) }

// TestBytes has the filters of Bitcoin's own tests.
func TestBytes(t *testing.T) {
	var keys []string
	for _, key := range []string{"99108ad8ed9bb6274d3980bab5a85c048f0950c8", "b5a2c786d9ef4658287ced5914b37a1b4aa32eee", "b9300670b4c5366e95b2699e8b18bc75e5f729c5"} {
		keys = append(keys, string(formattest.Unhex(t, key)))
	}
	for tweak, want := range map[uint32]string{0: "03614e9b050000000000000001", 2147483649: "03ce4299050000000100008001"} {
		b, err := bip37.New(bip37.Config{Capacity: 3, ErrorRate: 0.01, Tweak: tweak, Flags: 1})
		formattest.Equal(t, "three keys", b, err, want, keys...)
		if b.Contains(formattest.Unhex(t, "19108ad8ed9bb6274d3980bab5a85c048f0950c8")) {
			t.Error("another key is found")
		}
	}
	if b, err := bip37.New(bip37.Config{Capacity: 2, ErrorRate: 0.001}); err != nil || b.Layout().Bits != 24 || b.Layout().Probes != 8 {
		t.Errorf("two keys at 0.1%%: %+v, %v", b, err)
	}
}

// TestEmpty finds every key in a filter without bytes or without hash functions, as
// Bitcoin does.
func TestEmpty(t *testing.T) {
	for _, data := range []string{"\x00\x05\x00\x00\x00\x00\x00\x00\x00\x01", "\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01"} {
		b, err := bip37.Open([]byte(data))
		if err != nil {
			t.Fatal(err)
		}
		if s := b.Stats(); !b.Contains([]byte("alice")) || b.Add([]byte("alice")) || s.Predicted != 1 {
			t.Errorf("%x: %v, %+v", data, b.Contains([]byte("alice")), s)
		}
		if back, err := b.MarshalBinary(); err != nil || string(back) != data {
			t.Errorf("%x comes back as %x, %v", data, back, err)
		}
	}
}

// TestUnion unites filters of one tweak, and no others.
func TestUnion(t *testing.T) {
	fresh := func(tweak uint32, key string) *foreign.Bloom {
		b, err := bip37.New(bip37.Config{Capacity: 10, ErrorRate: 0.01, Tweak: tweak})
		if err != nil {
			t.Fatal(err)
		}
		b.Add([]byte(key))
		return b
	}
	a, b, other := fresh(1, "alice"), fresh(1, "bob"), fresh(2, "eve")
	if err := a.Union(b); err != nil || !a.Contains([]byte("alice")) || !a.Contains([]byte("bob")) {
		t.Errorf("Union: %v", err)
	}
	if err := a.Union(other); !errors.Is(err, bloomery.ErrIncompatible) || a.Contains([]byte("eve")) {
		t.Errorf("Union with another tweak: %v", err)
	}
}

func TestRefuses(t *testing.T) {
	for data, want := range map[string]error{
		"":                     bloomery.ErrCorrupt,
		"\xfe\xff\xff\xff\xff": bloomery.ErrCorrupt,
		"\x01\x00\x33\x00\x00\x00\x00\x00\x00\x00\x01": bloomery.ErrCorrupt, // 51 functions
		"\x01\x00\x32\x00\x00\x00\x00\x00\x00\x00\x01": nil,
	} {
		if _, err := bip37.Open([]byte(data)); !errors.Is(err, want) {
			t.Errorf("%x: %v, want %v", data, err, want)
		}
	}
	for size, want := range map[int]error{bip37.MaxBytes: nil, bip37.MaxBytes + 1: bloomery.ErrCorrupt} {
		data := binary.LittleEndian.AppendUint16([]byte{0xfd}, uint16(size))
		if _, err := bip37.Open(append(data, make([]byte, size+9)...)); !errors.Is(err, want) {
			t.Errorf("%d bytes: %v, want %v", size, err, want)
		}
	}
	if _, err := bip37.New(bip37.Config{ErrorRate: 0.01}); !errors.Is(err, bloomery.ErrParameter) {
		t.Errorf("no keys: %v", err)
	}
	if b, err := bip37.New(bip37.Config{Capacity: 1 << 40, ErrorRate: 1e-9}); err != nil || b.Layout().Bits != 8*bip37.MaxBytes || b.Layout().Probes != 1 {
		t.Errorf("the largest: %+v, %v", b, err)
	}
}
