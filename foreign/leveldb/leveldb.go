// Package leveldb reads and writes the filters of LevelDB: those of its BloomFilterPolicy,
// and of goleveldb and Badger, which are the same bytes. A table of LevelDB has one for
// each 2 KiB of its data, under the name leveldb.BuiltinBloomFilter2; goleveldb calls it
// leveldb.BuiltinBloomFilter. Those of RocksDB and Pebble are others: see package rocksdb.
package leveldb

import (
	"fmt"
	"math/bits"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/foreign"
	"github.com/bloomery/bloomery/foreign/internal/textbook"
	"github.com/bloomery/bloomery/internal/murmur"
)

// Format is the name of the format.
const Format = "leveldb"

const (
	// leastBytes is the smallest array: less has too many false positives.
	leastBytes = 8
	// mostProbes is the most bits for a key; higher numbers are kept for other formats.
	mostProbes = 30
)

// BitsPerKey is the size for a false positive rate, as the textbook has it: 10 for 1%.
// The error wraps bloomery.ErrParameter.
func BitsPerKey(p float64) (int, error) { return textbook.BitsPerKey(Format, p) }

// New returns an empty filter for n keys, with so many bits for each. The rate of
// LevelDB's usual 10 bits is 1%. Errors wrap bloomery.ErrParameter or
// bloomery.ErrTooLarge.
func New(n uint64, bitsPerKey int) (*foreign.Bloom, error) {
	if n < 1 || bitsPerKey < 1 {
		return nil, fmt.Errorf("leveldb: new: %w: %d keys, %d bits for each", bloomery.ErrParameter, n, bitsPerKey)
	}
	hi, size := bits.Mul64(n, uint64(bitsPerKey))
	if hi > 0 || size>>62 > 0 {
		return nil, fmt.Errorf("leveldb: new: %w: %d keys, %d bits for each", bloomery.ErrTooLarge, n, bitsPerKey)
	}
	l := layout(max((size+7)/8, leastBytes), min(max(int(float64(bitsPerKey)*0.69), 1), mostProbes))
	l.Capacity = n
	return l.New()
}

// Open returns a filter. Nothing in it shows that it is one: all bytes but the last are
// its array. Errors wrap bloomery.ErrCorrupt, bloomery.ErrVersion or
// bloomery.ErrTooLarge.
func Open(data []byte) (*foreign.Bloom, error) {
	if len(data) < 2 {
		return nil, fmt.Errorf("leveldb: open: %w: a filter of %d bytes", bloomery.ErrCorrupt, len(data))
	}
	array, probes := data[:len(data)-1], int(data[len(data)-1])
	switch {
	case probes > mostProbes:
		return nil, fmt.Errorf("leveldb: open: %w: %d bits for a key, and LevelDB has at most %d", bloomery.ErrVersion, probes, mostProbes)
	case probes == 0:
		return nil, fmt.Errorf("leveldb: open: %w: no bits for a key", bloomery.ErrCorrupt)
	}
	return layout(uint64(len(array)), probes).Little(array)
}

// layout is that of a filter of so many bytes.
func layout(size uint64, probes int) foreign.Layout {
	return foreign.Layout{
		Format: Format, Bits: 8 * size, Probes: probes, Rule: rule,
		Append: func(dst []byte, b *foreign.Bloom) ([]byte, error) {
			return append(b.AppendLittle(dst, int(size)), byte(probes)), nil
		},
	}
}

// rule steps through the array by the hash, rotated.
func rule(key []byte, size uint64, probes int, visit func(uint64) bool) bool {
	h := murmur.Level(key, murmur.LevelSeed)
	step := bits.RotateLeft32(h, -17)
	for range probes {
		if !visit(uint64(h) % size) {
			return false
		}
		h += step
	}
	return true
}
