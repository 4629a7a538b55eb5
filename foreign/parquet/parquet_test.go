package parquet_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/foreign/internal/formattest"
	"github.com/bloomery/bloomery/foreign/parquet"
	"github.com/bloomery/bloomery/hashing/named"
)

func format() formattest.Format {
	return formattest.Format{
		Make: func(keys [][]byte, p float64) (bloomery.Filter, error) {
			f, err := parquet.New(len(keys), p)
			if err == nil {
				f.AddKeys(nil, keys)
			}
			return f, err
		},
		Open: func(data []byte) (bloomery.Filter, error) {
			f, err := parquet.Open(data)
			if err != nil {
				return nil, err
			}
			return f, nil
		},
		Marshal: func(f bloomery.Filter) ([]byte, error) { return parquet.Append(nil, f.(*bloom.Split)) },
		Sizes:   []int{10, 1000, 100_000},
		Allocs:  1, // hashing.Func copies keys
	}
}

func TestFormat(t *testing.T) { formattest.Run(t, format()) }

func FuzzOpen(f *testing.F) { formattest.Fuzz(f, format(), []byte("\x15\x80\x10")) }

// TestBytes compares a filter with that of parquet-testing.
func TestBytes(t *testing.T) {
	f, err := bloom.Config{Bits: 8192, Hashes: 8, Hasher: named.XXH64()}.NewSplit()
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"hello", "parquet", "bloom", "filter"} {
		f.AddString(key)
	}
	data, err := parquet.Append(nil, f)
	if err != nil {
		t.Fatal(err)
	}
	const header, sum = "1580101c1c00001c1c00001c1c000000", "1e7e1500b81d0f1b149fa8c3415c0f4c97e0c14cb9c8d125f0baec2b224492bf"
	if got := sha256.Sum256(data); hex.EncodeToString(data[:16]) != header || hex.EncodeToString(got[:]) != sum {
		t.Errorf("%d bytes, %x …, SHA-256 %x", len(data), data[:16], got)
	}
	if size, err := parquet.Size(append(data, "and more"...)); size != uint64(len(data)) || err != nil {
		t.Errorf("Size = %d, %v, want %d", size, err, len(data))
	}
}

func TestRefuses(t *testing.T) {
	const tail = "\x1c\x1c\x00\x00\x1c\x1c\x00\x00\x1c\x1c\x00\x00\x00"
	block := string(make([]byte, 32))
	for data, want := range map[string]error{
		"":                                bloomery.ErrCorrupt,
		"\x15":                            bloomery.ErrCorrupt,
		"PAR1":                            bloomery.ErrCorrupt,
		"\x15\x40" + tail + block:         nil,
		"\x15\x40" + tail:                 bloomery.ErrCorrupt,
		"\x15\x40" + tail + block + block: bloomery.ErrCorrupt, // a block more
		"\x15\x41" + tail + block:         bloomery.ErrCorrupt, // a negative size
		"\x15\x00" + tail:                 bloomery.ErrCorrupt,
		"\x15\x3e" + tail + block[:31]:    bloomery.ErrCorrupt, // not a whole block
		"\x15\xfe\xff\xff\xff\x0f" + tail + block:                              bloomery.ErrCorrupt, // 2 GiB
		"\x15\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff" + tail:              bloomery.ErrCorrupt,
		"\x15\x40\x1c\x2c\x00\x00\x1c\x1c\x00\x00\x1c\x1c\x00\x00\x00" + block: bloomery.ErrVersion,
	} {
		if _, err := parquet.Open([]byte(data)); !errors.Is(err, want) {
			t.Errorf("%x: %v, want %v", data, err, want)
		}
	}
	if size, err := parquet.Size([]byte("\x15\x80\x80\x80\x80\x10" + tail)); !errors.Is(err, bloomery.ErrCorrupt) {
		t.Errorf("2 GiB, which 32 bits with a sign do not hold: %d, %v", size, err)
	}
	if _, err := parquet.Append(nil, bloom.NewSplit(10, 0.01)); !errors.Is(err, bloomery.ErrIncompatible) {
		t.Errorf("a filter with another hash: %v", err)
	}
	if _, err := parquet.New(0, 0.01); !errors.Is(err, bloomery.ErrParameter) {
		t.Errorf("no keys: %v", err)
	}
}
