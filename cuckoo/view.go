package cuckoo

import (
	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/internal/envelope"
)

// view is a table over an encoding that stays where it lies.
type view struct {
	table
	envelope.Viewed
}

var _ bloomery.Counter = (*view)(nil)

// View returns a view of data, the encoding of a Filter; it is a bloomery.Counter,
// too. It checks header, lengths and that the number of items is possible, not the
// slots. Where data does not start at a multiple of 8 bytes, or the machine is
// big-endian, the array is copied. Of c only Hasher may be set. Errors are those of
// Decode.
func (c Config) View(data []byte) (bloomery.View, error) {
	return envelope.View(c.opening(), data, (*view).load)
}

// Verify checks the payload, and the number of items.
func (f *view) Verify() error { return f.VerifyAnd(f.check) }

// Clone returns a Filter, see bloomery.View.
func (f *view) Clone() (bloomery.Hashed, error) { return envelope.Cloned(f, f.clone) }
