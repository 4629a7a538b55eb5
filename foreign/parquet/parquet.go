// Package parquet reads and writes the Bloom filters of Apache Parquet: the bytes that
// the metadata of a column points to with bloom_filter_offset, which are a header and
// the bit set of a [bloom.Split].
//
//	f, err := parquet.Open(file[offset : offset+length])
//	if err != nil {
//		return err
//	}
//	found := f.Contains([]byte("alice"))
//
// A key is a value in the plain encoding: a string is its bytes, without a length, an
// INT64 is 8 bytes in little-endian order.
package parquet

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/hashing/named"
)

// Format is the name of the format.
const Format = "parquet"

// tail is what the header has behind the size: the algorithm BLOCK, the hash XXHASH and
// the compression UNCOMPRESSED, each a union with an empty struct in its first field.
const tail = "\x1c\x1c\x00\x00\x1c\x1c\x00\x00\x1c\x1c\x00\x00\x00"

// sizeField is the head of the first field, a number with 32 bits.
const sizeField = 0x15

// New returns an empty filter for n keys with false positive rate p, which hashes keys as
// Parquet does. Errors wrap bloomery.ErrParameter or bloomery.ErrTooLarge.
func New(n int, p float64) (*bloom.Split, error) {
	return bloom.Config{Capacity: n, ErrorRate: p, Hasher: named.XXH64()}.NewSplit()
}

// Open returns a filter: its header and bit set, and nothing behind them. Errors wrap
// bloomery.ErrCorrupt, bloomery.ErrVersion (another algorithm, hash or compression) or
// bloomery.ErrTooLarge.
func Open(data []byte) (*bloom.Split, error) {
	header, size, err := parse(data)
	if err != nil {
		return nil, err
	}
	bitset := data[header:]
	if uint64(len(bitset)) != size {
		return nil, fmt.Errorf("parquet: open: %w: %d bytes behind a header that has %d", bloomery.ErrCorrupt, len(bitset), size)
	}
	return bloom.Config{Hasher: named.XXH64()}.NewSplitFromBitset(bitset)
}

// Size returns how many bytes the filter takes that data begins with, header included:
// Parquet's metadata need not say it. Errors are those of Open.
func Size(data []byte) (uint64, error) {
	header, size, err := parse(data)
	return uint64(header) + size, err
}

// parse returns the lengths of the header and of the bit set.
func parse(data []byte) (header int, size uint64, err error) {
	if len(data) == 0 || data[0] != sizeField {
		return 0, 0, fmt.Errorf("parquet: open: %w: not the header of a filter", bloomery.ErrCorrupt)
	}
	zigzag, n := binary.Uvarint(data[1:])
	header = 1 + n + len(tail)
	if n <= 0 || len(data) < header {
		return 0, 0, fmt.Errorf("parquet: open: %w: the header is truncated", bloomery.ErrCorrupt)
	}
	if string(data[1+n:header]) != tail {
		return 0, 0, fmt.Errorf("parquet: open: %w: not a split-block filter hashed by XXH64 and uncompressed", bloomery.ErrVersion)
	}
	if size = zigzag / 2; zigzag%2 != 0 || size > math.MaxInt32 {
		return 0, 0, fmt.Errorf("parquet: open: %w: a bit set of %d bytes", bloomery.ErrCorrupt, size)
	}
	return header, size, nil
}

// Append appends the filter as it stands in a Parquet file. The error wraps
// bloomery.ErrIncompatible if keys were not hashed by XXH64, see New, or
// bloomery.ErrTooLarge from 2 GiB on.
func Append(dst []byte, f *bloom.Split) ([]byte, error) {
	if h := f.Hasher(); !h.Equal(named.XXH64()) {
		return dst, fmt.Errorf("parquet: append: %w: keys are hashed by %v, and Parquet has XXH64", bloomery.ErrIncompatible, h)
	}
	size := f.Shape().Bits / 8
	if size == 0 || size > math.MaxInt32 {
		return dst, fmt.Errorf("parquet: append: %w: a bit set of %d bytes, want at most %d", bloomery.ErrTooLarge, size, math.MaxInt32)
	}
	dst = binary.AppendUvarint(append(dst, sizeField), 2*size)
	return f.AppendBitset(append(dst, tail...)), nil
}
