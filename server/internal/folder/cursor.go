package folder

// Reading values from bytes that may be cut short.

import "encoding/binary"

// Cursor reads values until one is cut short; from then on all are zero.
type Cursor struct {
	Rest []byte
	Bad  bool
}

// Uvarint reads a number without a sign.
func (c *Cursor) Uvarint() uint64 {
	v, n := binary.Uvarint(c.Rest)
	if c.skip(n, n > 0) == nil {
		return 0
	}
	return v
}

// Varint reads a number.
func (c *Cursor) Varint() int64 {
	v, n := binary.Varint(c.Rest)
	if c.skip(n, n > 0) == nil {
		return 0
	}
	return v
}

// Uint64 reads eight bytes.
func (c *Cursor) Uint64() uint64 {
	if b := c.Take(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// Take reads n bytes. They are a slice of those that are read; nil if they are not there.
func (c *Cursor) Take(n uint64) []byte { return c.skip(int(n), n <= uint64(len(c.Rest))) }

func (c *Cursor) skip(n int, ok bool) []byte {
	if c.Bad || !ok {
		c.Bad, c.Rest = true, nil
		return nil
	}
	v := c.Rest[:n:n]
	c.Rest = c.Rest[n:]
	return v
}
