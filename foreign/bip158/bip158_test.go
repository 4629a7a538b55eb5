package bip158_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/foreign/bip158"
	"github.com/bloomery/bloomery/foreign/internal/formattest"
)

// none is the key of tests that do not care.
var none [bip158.KeySize]byte

func format() formattest.Format {
	return formattest.Format{
		Make: func(keys [][]byte, _ float64) (bloomery.Filter, error) { return bip158.Build(keys, none) },
		Open: func(data []byte) (bloomery.Filter, error) {
			f, err := bip158.Open(data, none)
			if err != nil {
				return nil, err
			}
			return f, nil
		},
		Marshal: func(f bloomery.Filter) ([]byte, error) { return f.(*bip158.Filter).MarshalBinary() },
		Sizes:   []int{10, 1000}, Rates: []float64{1.0 / 784931},
	}
}

func TestFormat(t *testing.T) { formattest.Run(t, format()) }

func FuzzOpen(f *testing.F) {
	formattest.Fuzz(f, format(), []byte{0}, []byte("\x01\x9d\xfc\xa8"), []byte("\xff\xff\xff\xff\xff\xff\xff\xff\xff"))
}

// blockKey is the key of a block: its hash is printed in reverse.
func blockKey(t *testing.T, hash string) [bip158.KeySize]byte {
	t.Helper()
	b := formattest.Unhex(t, hash)
	slices.Reverse(b)
	return [bip158.KeySize]byte(b)
}

// TestBytes has blocks of the test network with one script each.
func TestBytes(t *testing.T) {
	for _, c := range []struct{ block, script, want string }{
		{"000000000933ea01ad0ee984209779baaec3ced90fa3f408719526f8d77f4943", "4104678afdb0fe5548271967f1a67130b7105cd6a828e03909a67962e0ea1f61deb649f6bc3f4cef38c4f35504e51ec112de5c384df7ba0b8d578a4c702b6bf11d5fac", "\x01\x9d\xfc\xa8"},
		{"000000006c02c8ea6e4ff69651f7fcde348fb9d557a06e6957b65552002a7820", "21038a7f6ef1c8ca0c588aa53fa860128077c9e6c11e6830f4d7ee4e763a56b7718fac", "\x01\x74\xa1\x70"},
		{"000000008b896e272758da5297bcd98fdc6d97c9b765ecec401e286dc1fdbe10", "2103f6d9ff4c12959445ca5549c811683bf9c88e637b222dd2e0311154c4c85cf423ac", "\x01\x6c\xf7\xa0"},
		{"0000000038c44c703bae0f98cdd6bf30922326340a5996cc692aaae8bacf47ad", "2103f268e9ae07e0f8cb2f6e901d87c510d650b97230c0365b021df8f467363cafb1ac", "\x01\x3c\x37\x10"},
	} {
		key, script := blockKey(t, c.block), formattest.Unhex(t, c.script)
		f, err := bip158.Build([][]byte{script, script}, key)
		if err != nil {
			t.Fatal(err)
		}
		data, err := f.MarshalBinary()
		if err != nil || string(data) != c.want {
			t.Errorf("%s: %x, %v, want %x", c.block, data, err, c.want)
		}
		back, err := bip158.Open(data, key)
		if err != nil || !back.Contains(script) || back.Contains([]byte("another script")) {
			t.Errorf("%s: opened: %v", c.block, err)
		}
	}
}

// TestEmpty has no items, as a block without scripts has.
func TestEmpty(t *testing.T) {
	f, err := bip158.Build(nil, none)
	if err != nil {
		t.Fatal(err)
	}
	data, err := f.MarshalBinary()
	if err != nil || string(data) != "\x00" || f.Contains([]byte("alice")) || f.Stats().Predicted != 0 {
		t.Errorf("%x, %v, %+v", data, err, f.Stats())
	}
	if back, err := bip158.Open(data, none); err != nil || back.Contains(nil) {
		t.Errorf("opened: %v", err)
	}
	if new(bip158.Filter).Contains([]byte("alice")) {
		t.Error("a zero Filter contains a key")
	}
}

// TestGolomb has items whose differences are large: with two hashes at the ends of the
// range almost all of it lies between them.
func TestGolomb(t *testing.T) {
	for _, hashes := range [][]uint64{{0}, {1<<64 - 1}, {0, 1<<64 - 1}, {0, 0, 1 << 63}, {1<<64 - 1, 1<<64 - 2}} {
		f, err := bip158.BuildHashes(slices.Clone(hashes), none)
		if err != nil {
			t.Fatal(err)
		}
		data, err := f.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := bip158.Open(data, none); err != nil {
			t.Errorf("%x: %x: %v", hashes, data, err)
		}
	}
	// 100,000 hashes next to each other, and one far away: a difference of 2^17 ones.
	hashes := []uint64{1<<64 - 1}
	for i := range uint64(100_000) {
		hashes = append(hashes, i)
	}
	f, err := bip158.BuildHashes(hashes, none)
	if err != nil {
		t.Fatal(err)
	}
	data, err := f.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	if back, err := bip158.Open(data, none); err != nil || back.Stats().Items != 100_001 {
		t.Errorf("%v", err)
	}
}

func TestRefuses(t *testing.T) {
	for data, want := range map[string]error{
		"":                             bloomery.ErrCorrupt,
		"\x00\x00":                     bloomery.ErrCorrupt, // bytes behind no items
		"\x01":                         bloomery.ErrCorrupt,
		"\x01\x9d\xfc":                 bloomery.ErrCorrupt,
		"\x01\x9d\xfc\xa9":             bloomery.ErrCorrupt, // a bit behind the end
		"\x01\xff\xff\xff\xff\xff\xff": bloomery.ErrCorrupt,
		"\xfe\xff\xff\xff\xff\x00\x00": bloomery.ErrCorrupt,
		"\x01\xc0\x00\x00":             bloomery.ErrCorrupt, // beyond the range
	} {
		if _, err := bip158.Open([]byte(data), none); !errors.Is(err, want) {
			t.Errorf("%x: %v, want %v", data, err, want)
		}
	}
}
