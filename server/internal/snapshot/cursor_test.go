package snapshot

// Values that are cut short.

import "testing"

// TestCursorStaysBad asks that what is cut short is noticed, by every way to read, and
// that nothing is read behind it.
func TestCursorStaysBad(t *testing.T) {
	for name, read := range map[string]func(*cursor){
		"uvarint": func(c *cursor) { c.uvarint() },
		"varint":  func(c *cursor) { c.varint() },
		"take":    func(c *cursor) { c.take(2) },
	} {
		c := cursor{rest: []byte{0x80}} // a number that goes on, and one byte
		read(&c)
		if !c.bad || c.rest != nil {
			t.Errorf("%s: bad %v, %d bytes are left", name, c.bad, len(c.rest))
		}
		c.rest = []byte{1, 2, 3}
		if u, v, b := c.uvarint(), c.varint(), c.take(1); u != 0 || v != 0 || b != nil || !c.bad {
			t.Errorf("%s: behind it are %d, %d and %v", name, u, v, b)
		}
	}
	c := cursor{rest: []byte{1, 2, 3}}
	if b := c.take(3); len(b) != 3 || c.bad || len(c.rest) != 0 {
		t.Errorf("all bytes: %v, bad %v", b, c.bad)
	}
}
