package ribbon

import (
	"fmt"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/internal/envelope"
)

// view is a table over an encoding that stays where it lies.
type view struct {
	table
	envelope.Viewed
}

// View returns a view of data, the encoding of a Filter. It checks header, lengths
// and the directory of the shards, not the arrays. Where data does not start at a
// multiple of 8 bytes, or the machine is big-endian, the array is copied. Of c only
// Hasher may be set. Errors are those of Decode.
func (c Config) View(data []byte) (bloomery.View, error) {
	return envelope.View(c.opening(), data, (*view).load)
}

// Clone returns a Filter, see bloomery.View.
func (f *view) Clone() (bloomery.Hashed, error) {
	if err := f.Verify(); err != nil {
		return nil, err
	}
	t := f.table
	if err := t.attach(f.Sealed.Words()); err != nil {
		return nil, fmt.Errorf("ribbon: clone: %w", err)
	}
	return &Filter{t}, nil
}
