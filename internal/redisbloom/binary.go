package redisbloom

import (
	"encoding"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"iter"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/internal/memory"
)

// The binary form is that of a dump in one piece, with a beginning and an end:
//
//	0      6 bytes   "blmrBF" or "blmrCF"
//	6      u16       version, 1
//	8      u32       length of the header
//	12     header    as in a dump
//	…      data      all layers, or sub-filters, end to end
//	…      u32       CRC-32C of all before
//
// All numbers are little-endian. The header of a dump holds the whole state, so
// the filter that comes back is equal to the last bit.
const (
	bloomMagic  = "blmrBF"
	cuckooMagic = "blmrCF"
	version     = 1
	prefixBytes = 12
	crcBytes    = 4
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

var (
	_ encoding.BinaryAppender    = (*Bloom)(nil)
	_ encoding.BinaryMarshaler   = (*Bloom)(nil)
	_ encoding.BinaryUnmarshaler = (*Bloom)(nil)
	_ encoding.BinaryAppender    = (*Cuckoo)(nil)
	_ encoding.BinaryMarshaler   = (*Cuckoo)(nil)
	_ encoding.BinaryUnmarshaler = (*Cuckoo)(nil)
)

// MarshalBinary returns the binary form of the filter. The error wraps
// bloomery.ErrParameter for a zero Bloom; there is no other.
func (b *Bloom) MarshalBinary() ([]byte, error) { return b.AppendBinary(nil) }

// AppendBinary appends the binary form of the filter to dst. Its error is that
// of MarshalBinary. For a filter too large to be copied under a lock see Freeze.
func (b *Bloom) AppendBinary(dst []byte) ([]byte, error) {
	if b.zero() {
		return dst, errZero("marshal", "Bloom")
	}
	return appendBinary(dst, b.prefix(), b.Arrays()), nil
}

// UnmarshalBinary replaces the filter by one in binary form, in the Arena that
// the filter was made with. Its error is that of DecodeBloom, and then nothing has
// changed.
func (b *Bloom) UnmarshalBinary(data []byte) error {
	n, err := DecodeBloom(data, b.memory)
	if err != nil {
		return err
	}
	b.Release()
	*b = *n
	return nil
}

// DecodeBloom returns a filter in binary form. A nil m means the Go heap. The
// error wraps bloomery.ErrCorrupt or bloomery.ErrVersion, bloomery.ErrTooLarge,
// or is that of Alloc. It allocates no more than the filter that data holds.
func DecodeBloom(data []byte, m *memory.Arena) (*Bloom, error) {
	header, rest, err := openBinary(bloomMagic, data)
	if err != nil {
		return nil, err
	}
	h, err := ParseBloomHeader(header)
	if err != nil {
		return nil, fmt.Errorf("redisbloom: unmarshal: %w: %w", bloomery.ErrCorrupt, err)
	}
	if uint64(len(rest)) != h.data {
		return nil, fmt.Errorf("redisbloom: unmarshal: %w: %d bytes of data instead of %d", bloomery.ErrCorrupt, len(rest), h.data)
	}
	b, err := h.New(m)
	if err != nil {
		return nil, err
	}
	for a := range b.Arrays() {
		rest = rest[copy(a, rest):]
	}
	return b, nil
}

// MarshalBinary returns the binary form of the filter. The error wraps
// bloomery.ErrParameter for a zero Cuckoo; there is no other.
func (c *Cuckoo) MarshalBinary() ([]byte, error) { return c.AppendBinary(nil) }

// AppendBinary appends the binary form of the filter to dst. Its error is that
// of MarshalBinary. For a filter too large to be copied under a lock see Freeze.
func (c *Cuckoo) AppendBinary(dst []byte) ([]byte, error) {
	if len(c.subs) == 0 {
		return dst, errZero("marshal", "Cuckoo")
	}
	return appendBinary(dst, c.prefix(), c.Arrays()), nil
}

// UnmarshalBinary replaces the filter by one in binary form, in the Arena that
// the filter was made with. Its error is that of DecodeCuckoo, and then nothing has
// changed.
func (c *Cuckoo) UnmarshalBinary(data []byte) error {
	n, err := DecodeCuckoo(data, c.memory)
	if err != nil {
		return err
	}
	c.Release()
	*c = *n
	return nil
}

// DecodeCuckoo returns a filter in binary form. A nil m means the Go heap. The
// error wraps bloomery.ErrCorrupt or bloomery.ErrVersion, bloomery.ErrTooLarge,
// or is that of Alloc. It allocates no more than the filter that data holds.
func DecodeCuckoo(data []byte, m *memory.Arena) (*Cuckoo, error) {
	header, rest, err := openBinary(cuckooMagic, data)
	if err != nil {
		return nil, err
	}
	h, err := ParseCuckooHeader(header)
	if err != nil {
		return nil, fmt.Errorf("redisbloom: unmarshal: %w: %w", bloomery.ErrCorrupt, err)
	}
	if uint64(len(rest)) != h.slots() {
		return nil, fmt.Errorf("redisbloom: unmarshal: %w: %d bytes of data instead of %d", bloomery.ErrCorrupt, len(rest), h.slots())
	}
	c, err := h.New(m)
	if err != nil {
		return nil, err
	}
	for a := range c.Arrays() {
		rest = rest[copy(a, rest):]
	}
	return c, nil
}

// prefix returns the binary form up to the data.
func (b *Bloom) prefix() []byte {
	n := bloomHeaderBytes + layerHeaderBytes*b.Layers()
	return b.AppendHeader(appendPrefix(make([]byte, 0, prefixBytes+n), bloomMagic, n))
}

func (c *Cuckoo) prefix() []byte {
	p := make([]byte, 0, prefixBytes+cuckooHeaderBytes)
	return c.AppendHeader(appendPrefix(p, cuckooMagic, cuckooHeaderBytes))
}

func appendPrefix(dst []byte, magic string, header int) []byte {
	dst = append(dst, magic...)
	dst = binary.LittleEndian.AppendUint16(dst, version)
	return binary.LittleEndian.AppendUint32(dst, uint32(header))
}

func appendBinary(dst, prefix []byte, arrays iter.Seq[[]byte]) []byte {
	start := len(dst)
	dst = append(dst, prefix...)
	for a := range arrays {
		dst = append(dst, a...)
	}
	return binary.LittleEndian.AppendUint32(dst, crc32.Checksum(dst[start:], castagnoli))
}

// openBinary checks frame and checksum, and returns header and data.
func openBinary(magic string, data []byte) (header, rest []byte, err error) {
	le := binary.LittleEndian
	if len(data) < prefixBytes+crcBytes || string(data[:len(magic)]) != magic {
		return nil, nil, fmt.Errorf("redisbloom: unmarshal: %w: not %q", bloomery.ErrCorrupt, magic)
	}
	if v := le.Uint16(data[len(magic):]); v != version {
		return nil, nil, fmt.Errorf("redisbloom: unmarshal: %w %d", bloomery.ErrVersion, v)
	}
	body, sum := data[:len(data)-crcBytes], le.Uint32(data[len(data)-crcBytes:])
	if crc32.Checksum(body, castagnoli) != sum {
		return nil, nil, fmt.Errorf("redisbloom: unmarshal: %w: checksum", bloomery.ErrCorrupt)
	}
	n := uint64(le.Uint32(data[8:]))
	body = body[prefixBytes:]
	if n > uint64(len(body)) {
		return nil, nil, fmt.Errorf("redisbloom: unmarshal: %w: header of %d bytes", bloomery.ErrCorrupt, n)
	}
	return body[:n], body[n:], nil
}
