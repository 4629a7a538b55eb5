package cuckoo

import (
	"fmt"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/internal/envelope"
)

var (
	_ bloomery.Hashed  = (*View)(nil)
	_ bloomery.Counter = (*View)(nil)
)

// View is a Filter that is read where it lies: in a mapped file or in a part
// of a larger buffer. It cannot be changed; Clone gives a Filter that can.
// The memory must stay as it is while the View is used.
//
// Safe for concurrent use.
type View struct {
	table
	sealed envelope.Sealed
}

// NewView returns a View of data, the encoding of a Filter. It checks header
// and lengths, and that the number of items is possible; it does not read the
// slots: opening costs the same for every size, and a damaged payload can make
// the filter forget keys. Verify checks it. Where
// data does not begin at a multiple of 8 bytes, or the machine is big-endian,
// the array is copied.
//
// Errors are those of UnmarshalBinary. A filter with a secret key or a
// function for its hash is opened by Config.NewView.
func NewView(data []byte) (*View, error) { return Config{}.NewView(data) }

// NewView is the function NewView for filters that were made with c.Hasher.
func (c Config) NewView(data []byte) (*View, error) {
	t, sealed, err := open(data, c.Hasher)
	if err == nil {
		t, err = t.over(envelope.WordsOf(sealed.Payload))
	}
	if err != nil {
		return nil, fmt.Errorf("cuckoo: view: %w", err)
	}
	return &View{t, sealed}, nil
}

// Verify checks the whole payload. The error wraps ErrCorrupt and names the
// offset of the damage in data.
func (v *View) Verify() error {
	err := v.sealed.Verify()
	if err == nil {
		err = v.check()
	}
	if err != nil {
		return fmt.Errorf("cuckoo: verify: %w", err)
	}
	return nil
}

// Clone returns a Filter of its own memory with the same keys. It counts the
// slots that are taken, whatever the encoding claims.
func (v *View) Clone() *Filter {
	f := v.table.Clone()
	f.items = f.buckets.Used()
	return f
}
