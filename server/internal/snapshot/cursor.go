package snapshot

// Reading values from bytes that may be cut short.

import "encoding/binary"

// cursor reads values until one is cut short; from then on all are zero.
type cursor struct {
	rest []byte
	bad  bool
}

func (c *cursor) uvarint() uint64 {
	v, n := binary.Uvarint(c.rest)
	if n <= 0 || c.bad {
		c.bad, c.rest = true, nil
		return 0
	}
	c.rest = c.rest[n:]
	return v
}

func (c *cursor) varint() int64 {
	v, n := binary.Varint(c.rest)
	if n <= 0 || c.bad {
		c.bad, c.rest = true, nil
		return 0
	}
	c.rest = c.rest[n:]
	return v
}

func (c *cursor) take(n uint64) []byte {
	if c.bad || n > uint64(len(c.rest)) {
		c.bad, c.rest = true, nil
		return nil
	}
	v := c.rest[:n]
	c.rest = c.rest[n:]
	return v
}
