package leveldb_test

import (
	"errors"
	"math"
	"strconv"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/foreign"
	"github.com/bloomery/bloomery/foreign/internal/formattest"
	"github.com/bloomery/bloomery/foreign/leveldb"
)

func format() formattest.Format {
	f := formattest.Bloom(func(n uint64, p float64) (*foreign.Bloom, error) {
		bits, err := leveldb.BitsPerKey(p)
		if err != nil {
			return nil, err
		}
		return leveldb.New(n, bits)
	}, leveldb.Open)
	f.Bare = true
	return f
}

func TestFormat(t *testing.T) { formattest.Run(t, format()) }

func FuzzOpen(f *testing.F) { formattest.Fuzz(f, format()) }

// TestBytes compares filters with those that LevelDB 1.23 writes.
func TestBytes(t *testing.T) {
	var many []string
	for i := range 20 {
		many = append(many, "key"+strconv.Itoa(i))
	}
	for want, keys := range map[string][]string{
		"114000414410401006": {"hello", "world"},
		"3a16785c0477c434680a18e40040393be12025c813234247e406": many,
		"0258080521008cd006": {"é", "€", "café"},
	} {
		b, err := leveldb.New(uint64(len(keys)), 10)
		formattest.Equal(t, keys[0], b, err, want, keys...)
	}
}

func TestRefuses(t *testing.T) {
	for data, want := range map[string]error{"": bloomery.ErrCorrupt, "\x06": bloomery.ErrCorrupt, "abc\x00": bloomery.ErrCorrupt, "abc\x1f": bloomery.ErrVersion, "abc\x1e": nil} {
		if _, err := leveldb.Open([]byte(data)); !errors.Is(err, want) {
			t.Errorf("%q: %v, want %v", data, err, want)
		}
	}
	for _, c := range []struct {
		n    uint64
		bits int
		want error
	}{{0, 10, bloomery.ErrParameter}, {10, 0, bloomery.ErrParameter}, {math.MaxUint64, 10, bloomery.ErrTooLarge}, {1 << 58, 10, bloomery.ErrTooLarge}} {
		if _, err := leveldb.New(c.n, c.bits); !errors.Is(err, c.want) {
			t.Errorf("New(%d, %d): %v, want %v", c.n, c.bits, err, c.want)
		}
	}
	if _, err := leveldb.BitsPerKey(0); !errors.Is(err, bloomery.ErrParameter) {
		t.Errorf("BitsPerKey(0): %v", err)
	}
	if bits, err := leveldb.BitsPerKey(0.01); bits != 10 || err != nil {
		t.Errorf("BitsPerKey(1%%) = %d, %v", bits, err)
	}
}
