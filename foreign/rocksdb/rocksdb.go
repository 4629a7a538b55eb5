// Package rocksdb reads and writes the full filters of RocksDB before format version 5
// of its tables. They are those that Pebble writes, too: rocksdb.BuiltinBloomFilter. All
// bits of a key lie within one line of the processor's cache.
//
// RocksDB's newer filters, which it calls FastLocalBloom and Ribbon, have another hash:
// Open refuses them by name.
package rocksdb

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/foreign"
	"github.com/bloomery/bloomery/foreign/internal/textbook"
	"github.com/bloomery/bloomery/internal/murmur"
)

// Format is the name of the format.
const Format = "rocksdb"

const (
	// trailerSize is the number of bits for a key, and the number of lines.
	trailerSize = 5
	// lineBytes is the size of a line that is written. Machines with larger ones have
	// written those.
	lineBytes = 64
	// mostProbes is the most bits for a key that RocksDB has.
	mostProbes = 30
)

// BitsPerKey is the size for a false positive rate, as the textbook has it: 10 for 1%.
// The error wraps bloomery.ErrParameter.
func BitsPerKey(p float64) (int, error) { return textbook.BitsPerKey(Format, p) }

// New returns an empty filter for n keys, with so many bits for each. Its false positive
// rate is higher than the textbook's, see docs/formats.md. Errors wrap
// bloomery.ErrParameter or bloomery.ErrTooLarge.
func New(n uint64, bitsPerKey int) (*foreign.Bloom, error) {
	if n < 1 || bitsPerKey < 1 {
		return nil, fmt.Errorf("rocksdb: new: %w: %d keys, %d bits for each", bloomery.ErrParameter, n, bitsPerKey)
	}
	hi, size := bits.Mul64(n, uint64(bitsPerKey))
	lines := size/(8*lineBytes) + min(size%(8*lineBytes), 1) | 1 // odd, so that all bits of a hash choose the line
	if hi > 0 || lines > math.MaxUint32 {
		return nil, fmt.Errorf("rocksdb: new: %w: %d keys, %d bits for each", bloomery.ErrTooLarge, n, bitsPerKey)
	}
	l := layout(lines, lineBytes, min(max(int(float64(bitsPerKey)*0.69), 1), mostProbes))
	l.Capacity = n
	return l.New()
}

// Open returns a filter. Errors wrap bloomery.ErrCorrupt, bloomery.ErrVersion (one of
// RocksDB's newer filters) or bloomery.ErrTooLarge.
func Open(data []byte) (*foreign.Bloom, error) {
	if len(data) < trailerSize {
		return nil, fmt.Errorf("rocksdb: open: %w: %d bytes, and a trailer has %d", bloomery.ErrCorrupt, len(data), trailerSize)
	}
	array, trailer := data[:len(data)-trailerSize], data[len(data)-trailerSize:]
	probes, lines := int(trailer[0]), uint64(binary.LittleEndian.Uint32(trailer[1:]))
	switch have := uint64(len(array)); {
	case trailer[0] == 0xff:
		return nil, fmt.Errorf("rocksdb: open: %w: a FastLocalBloom filter, whose hash is not known here", bloomery.ErrVersion)
	case trailer[0] == 0xfe:
		return nil, fmt.Errorf("rocksdb: open: %w: a Ribbon filter of RocksDB, whose hash is not known here", bloomery.ErrVersion)
	case probes == 0 || probes > mostProbes || lines == 0:
		return nil, fmt.Errorf("rocksdb: open: %w: %d lines, %d bits for a key", bloomery.ErrCorrupt, lines, probes)
	case have != lines*lineBytes && have != 2*lines*lineBytes && have != 4*lines*lineBytes:
		return nil, fmt.Errorf("rocksdb: open: %w: %d bytes in %d lines, which have 64, 128 or 256", bloomery.ErrCorrupt, have, lines)
	default:
		return layout(lines, have/lines, probes).Little(array)
	}
}

// layout is that of a filter of so many lines.
func layout(lines, lineBytes uint64, probes int) foreign.Layout {
	within := uint32(8*lineBytes - 1)
	rule := func(key []byte, _ uint64, probes int, visit func(uint64) bool) bool {
		h := murmur.LevelSigned(key, murmur.LevelSeed)
		step := bits.RotateLeft32(h, -17)
		line := uint64(h) % lines * 8 * lineBytes
		for range probes {
			if !visit(line + uint64(h&within)) {
				return false
			}
			h += step
		}
		return true
	}
	return foreign.Layout{
		Format: Format, Bits: 8 * lineBytes * lines, Probes: probes, Rule: rule,
		Append: func(dst []byte, b *foreign.Bloom) ([]byte, error) {
			dst = append(b.AppendLittle(dst, 8*b.Words()), byte(probes))
			return binary.LittleEndian.AppendUint32(dst, uint32(lines)), nil
		},
	}
}
