package redisbloom

import (
	"encoding"
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/bloomery/bloomery"
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

// MarshalBinary returns the binary form of the filter. It never fails.
func (b *Bloom) MarshalBinary() ([]byte, error) { return b.AppendBinary(nil) }

// AppendBinary appends the binary form of the filter to dst. It never fails.
// For a filter too large to be copied under a lock see Freeze.
func (b *Bloom) AppendBinary(dst []byte) ([]byte, error) {
	return appendBinary(dst, b.prefix(), b.arrays()), nil
}

// UnmarshalBinary replaces the filter by one in binary form. The error wraps
// bloomery.ErrCorrupt, or bloomery.ErrVersion, and then nothing has changed. It
// allocates no more than the filter that data holds.
func (b *Bloom) UnmarshalBinary(data []byte) error {
	header, rest, err := openBinary(bloomMagic, data)
	if err != nil {
		return err
	}
	h, err := ParseBloomHeader(header)
	if err != nil {
		return fmt.Errorf("redisbloom: unmarshal: %w: %w", bloomery.ErrCorrupt, err)
	}
	if uint64(len(rest)) != h.data {
		return fmt.Errorf("redisbloom: unmarshal: %w: %d bytes for layers of %d", bloomery.ErrCorrupt, len(rest), h.data)
	}
	n := h.New()
	for _, a := range n.arrays() {
		rest = rest[copy(a, rest):]
	}
	*b = *n
	return nil
}

// MarshalBinary returns the binary form of the filter. It never fails.
func (c *Cuckoo) MarshalBinary() ([]byte, error) { return c.AppendBinary(nil) }

// AppendBinary appends the binary form of the filter to dst. It never fails.
// For a filter too large to be copied under a lock see Freeze.
func (c *Cuckoo) AppendBinary(dst []byte) ([]byte, error) {
	return appendBinary(dst, c.prefix(), c.arrays()), nil
}

// UnmarshalBinary replaces the filter by one in binary form. The error wraps
// bloomery.ErrCorrupt, or bloomery.ErrVersion, and then nothing has changed. It
// allocates no more than the filter that data holds.
func (c *Cuckoo) UnmarshalBinary(data []byte) error {
	header, rest, err := openBinary(cuckooMagic, data)
	if err != nil {
		return err
	}
	h, err := ParseCuckooHeader(header)
	if err != nil {
		return fmt.Errorf("redisbloom: unmarshal: %w: %w", bloomery.ErrCorrupt, err)
	}
	if uint64(len(rest)) != h.slots() {
		return fmt.Errorf("redisbloom: unmarshal: %w: %d bytes for %d slots", bloomery.ErrCorrupt, len(rest), h.slots())
	}
	n := h.New()
	for _, a := range n.arrays() {
		rest = rest[copy(a, rest):]
	}
	*c = *n
	return nil
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

// arrays returns the layers, oldest first.
func (b *Bloom) arrays() [][]byte {
	a := make([][]byte, b.Layers())
	for i := range a {
		a[i] = b.layer(i).data
	}
	return a
}

func (c *Cuckoo) arrays() [][]byte {
	a := make([][]byte, len(c.subs))
	for i := range a {
		a[i] = c.subs[i].data
	}
	return a
}

func appendBinary(dst, prefix []byte, arrays [][]byte) []byte {
	start := len(dst)
	dst = append(dst, prefix...)
	for _, a := range arrays {
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
