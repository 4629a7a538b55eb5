// Package envelope is the file format that all families share: a header of 64
// bytes, the payload, and a table of checksums at the end, so that damage has
// an offset. docs/format.md is its contract.
//
//	0          64                 64+payload
//	| header   | payload ...      | CRC-32C per 1 MiB | CRC-32C of the table |
//
// The payload is a sequence of 64-bit words in little-endian order and begins
// at a cache line, so that a mapped file can be used where it lies.
package envelope

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/hashing"
)

// The kinds of filters by their number in the header. Numbers are never
// reused.
const (
	KindBloom       = 1
	KindStandard    = 2
	KindPartitioned = 3
	KindSplit       = 4
	KindScalable    = 5
	KindSliced      = 6
	KindCounting    = 7
	KindSpectral    = 8
	KindStable      = 9
	KindCuckoo      = 10
	KindQuotient    = 11
	KindFuse8       = 12
	KindFuse16      = 13
	KindFuse32      = 14
	KindRibbon      = 15
	KindGrowing     = 16
	KindWindow      = 17
	KindQuorum      = 18
	KindStriped     = 19
	KindMap         = 20
	KindExact       = 21
	KindCorrected   = 22
	KindLayers      = 23
)

const (
	// HeaderSize is the size of the header in bytes.
	HeaderSize = 64
	// Version is the version of the format that is written.
	Version = 1
	// ChunkSize is how many bytes of payload share a checksum.
	ChunkSize = chunk

	chunk = 1 << 20

	// Magic is what every encoding begins with.
	Magic = "bloomery"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Header says what a filter is; the payload is its array.
type Header struct {
	Kind     uint16       // a Kind constant
	Hash     hashing.Kind // how keys are hashed
	Check    uint64       // the seed of the hash, or the fingerprint of its key
	K        uint8        // bits per key, or another small number of the kind
	Extra    uint32       // of the kind's own choice
	Capacity uint64       // keys the filter was made for
	Rate     float64      // error rate asked for
	Size     uint64       // of the kind's own choice, as a rule the bits of the array
	Payload  uint64       // bytes of payload, a multiple of 8
}

// AppendTo appends the 64 bytes of the header to dst.
func (h Header) AppendTo(dst []byte) []byte {
	start := len(dst)
	le := binary.LittleEndian
	dst = append(dst, Magic...)
	dst = le.AppendUint16(dst, Version)
	dst = le.AppendUint16(dst, h.Kind)
	dst = append(dst, byte(h.Hash), h.K, 0, 0)
	dst = le.AppendUint64(dst, h.Check)
	dst = le.AppendUint64(dst, h.Capacity)
	dst = le.AppendUint64(dst, math.Float64bits(h.Rate))
	dst = le.AppendUint64(dst, h.Size)
	dst = le.AppendUint64(dst, h.Payload)
	dst = le.AppendUint32(dst, h.Extra)
	return le.AppendUint32(dst, crc32.Checksum(dst[start:], castagnoli))
}

// ParseHeader reads a header and checks all that can be checked without
// knowing the kind.
func ParseHeader(b []byte) (Header, error) {
	if len(b) < HeaderSize {
		return Header{}, fmt.Errorf("%w: %d bytes, a header has %d", bloomery.ErrCorrupt, len(b), HeaderSize)
	}
	b = b[:HeaderSize]
	le := binary.LittleEndian
	if string(b[:8]) != Magic {
		return Header{}, fmt.Errorf("%w: not a bloomery file: it starts with %q", bloomery.ErrCorrupt, b[:8])
	}
	if got, want := crc32.Checksum(b[:60], castagnoli), le.Uint32(b[60:]); got != want {
		return Header{}, fmt.Errorf("%w: header checksum is %08x, should be %08x", bloomery.ErrCorrupt, got, want)
	}
	if v := le.Uint16(b[8:]); v != Version {
		return Header{}, fmt.Errorf("%w: format %d, this program reads %d", bloomery.ErrVersion, v, Version)
	}
	h := Header{
		Kind:     le.Uint16(b[10:]),
		Hash:     hashing.Kind(b[12]),
		K:        b[13],
		Check:    le.Uint64(b[16:]),
		Capacity: le.Uint64(b[24:]),
		Rate:     math.Float64frombits(le.Uint64(b[32:])),
		Size:     le.Uint64(b[40:]),
		Payload:  le.Uint64(b[48:]),
		Extra:    le.Uint32(b[56:]),
	}
	switch {
	case b[14] != 0 || b[15] != 0:
		return Header{}, fmt.Errorf("%w: reserved bytes of the header are not zero", bloomery.ErrCorrupt)
	case h.Hash > hashing.Custom:
		return Header{}, fmt.Errorf("%w: %v", bloomery.ErrVersion, h.Hash)
	case h.Payload%8 != 0 || h.Payload > math.MaxInt64/2:
		return Header{}, fmt.Errorf("%w: payload of %d bytes", bloomery.ErrCorrupt, h.Payload)
	case math.IsNaN(h.Rate) || math.Signbit(h.Rate) || h.Rate >= 1:
		return Header{}, fmt.Errorf("%w: error rate %v", bloomery.ErrCorrupt, h.Rate)
	}
	return h, nil
}

// hashTexts are the words for the kinds of hash functions. Every Hasher that was not made
// otherwise is of the first kind.
var hashTexts = [...]struct{ is, call, given string }{
	hashing.XXH3:    {"a seed", "hashing.Seeded", "none was given"},
	hashing.SipHash: {"a secret key", "hashing.Keyed", "a secret key was given"},
	hashing.Custom:  {"a hash function of a program", "hashing.Func", "a hash function was given"},
}

// Hasher returns the hasher of a filter with this header. XXH3 is made from
// the seed in the header; other hashers cannot be, so given must be the one
// that the filter was made with, else the error wraps ErrKey.
func (h Header) Hasher(given hashing.Hasher) (hashing.Hasher, error) {
	if h.Hash == hashing.XXH3 {
		return hashing.Seeded(h.Check), nil
	}
	if given.Kind() != h.Hash {
		return given, fmt.Errorf("%w: the filter was made with %s (%s), and %s", bloomery.ErrKey, hashTexts[h.Hash].is, hashTexts[h.Hash].call, hashTexts[given.Kind()].given)
	}
	if given.Check() != h.Check {
		return given, fmt.Errorf("%w: fingerprint of the %v is %016x, the filter's is %016x", bloomery.ErrKey, h.Hash, given.Check(), h.Check)
	}
	return given, nil
}

// SameHash returns nil if two filters with these hashers know keys by the same
// hashes, else an error that wraps ErrIncompatible and names the difference.
func SameHash(a, b hashing.Hasher) error {
	switch {
	case a.Kind() != b.Kind():
		return fmt.Errorf("%w: %v and %v", bloomery.ErrIncompatible, a.Kind(), b.Kind())
	case a.Check() != b.Check() && a.Kind() == hashing.XXH3:
		return fmt.Errorf("%w: seed %d and seed %d", bloomery.ErrIncompatible, a.Check(), b.Check())
	case a.Check() != b.Check():
		return fmt.Errorf("%w: different keys of %v", bloomery.ErrIncompatible, a.Kind())
	}
	return nil
}

// EncodedSize returns the length of the whole encoding.
func (h Header) EncodedSize() uint64 { return HeaderSize + h.Payload + h.TableSize() }

// TableSize returns the length of the checksum table with its own checksum.
func (h Header) TableSize() uint64 { return (h.Payload+chunk-1)/chunk*4 + 4 }
