package wire_test

// Values that are cut short.

import (
	"testing"

	"github.com/bloomery/bloomery/server/internal/wire"
)

// TestReaderStaysBad asks that what is cut short is noticed, by every way to read, and
// that nothing is read behind it.
func TestReaderStaysBad(t *testing.T) {
	for name, read := range map[string]func(*wire.Reader){
		"uvarint": func(c *wire.Reader) { c.Uvarint() },
		"varint":  func(c *wire.Reader) { c.Varint() },
		"take":    func(c *wire.Reader) { c.Take(2) },
		"uint64":  func(c *wire.Reader) { c.Uint64() },
		"byte":    func(c *wire.Reader) { c.Byte(); c.Byte() },
		"bytes":   func(c *wire.Reader) { c.Bytes() },
	} {
		c := wire.Reader{Rest: []byte{0x80}} // a number that goes on, and one byte
		read(&c)
		if !c.Bad || c.Rest != nil {
			t.Errorf("%s: bad %v, %d bytes are left", name, c.Bad, len(c.Rest))
		}
		c.Rest = []byte{1, 2, 3}
		if u, v, b := c.Uvarint(), c.Varint(), c.Take(1); u != 0 || v != 0 || b != nil || !c.Bad {
			t.Errorf("%s: behind it are %d, %d and %v", name, u, v, b)
		}
	}
	c := wire.Reader{Rest: []byte{1, 2, 3}}
	if b := c.Take(3); len(b) != 3 || c.Bad || len(c.Rest) != 0 {
		t.Errorf("all bytes: %v, bad %v", b, c.Bad)
	}
}

// TestAppendBytes writes byte strings and reads them.
func TestAppendBytes(t *testing.T) {
	b := wire.AppendBytes(wire.AppendBytes(nil, "one"), []byte{})
	r := wire.Reader{Rest: append(wire.AppendBytes(b, make([]byte, 300)), 9)}
	if one, none, long, last := r.Bytes(), r.Bytes(), r.Bytes(), r.Byte(); string(one) != "one" || len(none) != 0 || len(long) != 300 || last != 9 || r.Bad || len(r.Rest) != 0 {
		t.Errorf("%q, %d, %d and %d, bad %v", one, len(none), len(long), last, r.Bad)
	}
}
