package rocksdb_test

import (
	"encoding/binary"
	"errors"
	"math"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/foreign"
	"github.com/bloomery/bloomery/foreign/internal/formattest"
	"github.com/bloomery/bloomery/foreign/rocksdb"
	"github.com/bloomery/bloomery/internal/murmur"
)

func format() formattest.Format {
	f := formattest.Bloom(func(n uint64, p float64) (*foreign.Bloom, error) {
		bits, err := rocksdb.BitsPerKey(p)
		if err != nil {
			return nil, err
		}
		return rocksdb.New(n, bits)
	}, rocksdb.Open)
	return f
}

func TestFormat(t *testing.T) { formattest.Run(t, format()) }

func FuzzOpen(f *testing.F) {
	formattest.Fuzz(f, format(), append(make([]byte, 128), 6, 1, 0, 0, 0), append(make([]byte, 64), 0xff, 0, 6, 0, 0))
}

// TestBytes compares filters with those of RocksDB and Pebble: one line, and the hashes
// of whole filters that RocksDB's own test has.
func TestBytes(t *testing.T) {
	b, err := rocksdb.New(2, 10)
	formattest.Equal(t, "two keys", b, err, "0000000100000000004000400000000010000000000000000000000000000010000000000400000001000000000040000000000000100000010000004400000006"+"01000000", "hello", "world")
	for bits, want := range map[int]uint32{2: 1567096579, 3: 2707206547, 5: 515748486, 8: 1302145999, 9: 2092755149} {
		b, err := rocksdb.New(2087, bits)
		if err != nil {
			t.Fatal(err)
		}
		for i := range uint32(2087) {
			b.Add(binary.LittleEndian.AppendUint32(nil, i))
		}
		data, err := b.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		if got := murmur.LevelSigned(data, murmur.LevelSeed); got != want {
			t.Errorf("%d bits for a key: the filter's hash is %d, want %d", bits, got, want)
		}
	}
}

// TestLines reads filters of machines with longer lines.
func TestLines(t *testing.T) {
	for _, size := range []int{64, 128, 256} {
		b, err := rocksdb.Open(append(make([]byte, 3*size), 6, 3, 0, 0, 0))
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range formattest.Keys(100, 1) {
			if b.Add(key); !b.Contains(key) {
				t.Fatal("a key is lost")
			}
		}
		if s := b.Stats(); s.Bits != uint64(8*3*size) || s.Predicted <= 0 {
			t.Errorf("lines of %d bytes: %+v", size, s)
		}
	}
}

func TestRefuses(t *testing.T) {
	line := string(make([]byte, 64))
	for data, want := range map[string]error{
		"": bloomery.ErrCorrupt, "\x06\x00\x00\x00\x00": bloomery.ErrCorrupt,
		line + "\x06\x02\x00\x00\x00": bloomery.ErrCorrupt,
		line + "\x06\xff\xff\xff\xff": bloomery.ErrCorrupt,
		line + "\x00\x01\x00\x00\x00": bloomery.ErrCorrupt,
		line + "\x1f\x01\x00\x00\x00": bloomery.ErrCorrupt,
		line + "\xff\x00\x06\x00\x00": bloomery.ErrVersion,
		line + "\xfe\x00\x06\x00\x00": bloomery.ErrVersion,
		line + "\x06\x01\x00\x00\x00": nil,
	} {
		if _, err := rocksdb.Open([]byte(data)); !errors.Is(err, want) {
			t.Errorf("%q: %v, want %v", data, err, want)
		}
	}
	for _, c := range []struct {
		n    uint64
		bits int
		want error
	}{{0, 10, bloomery.ErrParameter}, {10, -1, bloomery.ErrParameter}, {math.MaxUint64, 10, bloomery.ErrTooLarge}, {1 << 40, 10, bloomery.ErrTooLarge}} {
		if _, err := rocksdb.New(c.n, c.bits); !errors.Is(err, c.want) {
			t.Errorf("New(%d, %d): %v, want %v", c.n, c.bits, err, c.want)
		}
	}
	if _, err := rocksdb.BitsPerKey(1); !errors.Is(err, bloomery.ErrParameter) {
		t.Errorf("BitsPerKey(1): %v", err)
	}
}
