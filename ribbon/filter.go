package ribbon

import (
	"fmt"
	"io"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/internal/envelope"
)

var (
	_ bloomery.Hashed = (*Filter)(nil)
	_ bloomery.Hashed = (*View)(nil)
)

// Filter is a bumped ribbon filter: a set of keys that never changes, in
// hardly more space than any filter needs.
//
// Make one with Build or Config.Build; a zero Filter is only good for
// UnmarshalBinary and ReadFrom.
//
// Safe for concurrent readers; a writer needs exclusion.
type Filter struct{ table }

// UnmarshalBinary replaces f by the filter that data encodes. If that was made
// with a secret key or a function, f must have been made with the same. On
// error f stays as it was; the error wraps ErrCorrupt, ErrVersion,
// ErrIncompatible or ErrKey.
func (f *Filter) UnmarshalBinary(data []byte) error {
	t, sealed, err := open(data, f.hasher)
	if err == nil {
		err = sealed.Verify()
	}
	if err == nil {
		err = t.attach(sealed.Words())
	}
	if err != nil {
		return fmt.Errorf("ribbon: unmarshal: %w", err)
	}
	*f = Filter{t}
	return nil
}

// ReadFrom replaces f by a filter that it reads from r, and reads no byte
// more than that. Memory grows with what has arrived. On error f stays as it
// was; errors are those of UnmarshalBinary, ErrTooLarge, or those of r.
func (f *Filter) ReadFrom(r io.Reader) (int64, error) {
	var t table
	_, words, n, err := envelope.Read(r, func(h envelope.Header) (err error) {
		t, err = parse(h, f.hasher)
		return err
	})
	if err == nil {
		err = t.attach(words)
	}
	if err != nil {
		return n, fmt.Errorf("ribbon: read: %w", err)
	}
	*f = Filter{t}
	return n, nil
}

// View is a Filter that is read where it lies: in a mapped file or in a part
// of a larger buffer. The memory must stay as it is while the View is used.
//
// Safe for concurrent use.
type View struct {
	table
	sealed envelope.Sealed
}

// NewView returns a View of data, the encoding of a Filter. It checks header,
// directory, lengths and the order of the lists, not the tables: opening takes
// a moment for every size, and a damaged table can make the filter forget keys.
// Verify checks them. Where data does not begin at a multiple of 8 bytes, or the machine is
// big-endian, the tables are copied.
//
// Errors are those of UnmarshalBinary. A filter with a secret key or a
// function for its hash is opened by Config.NewView.
func NewView(data []byte) (*View, error) { return Config{}.NewView(data) }

// NewView is the function NewView for filters that were made with c.Hasher.
func (c Config) NewView(data []byte) (*View, error) {
	t, sealed, err := open(data, c.Hasher)
	if err == nil {
		err = t.attach(envelope.WordsOf(sealed.Payload))
	}
	if err != nil {
		return nil, fmt.Errorf("ribbon: view: %w", err)
	}
	return &View{t, sealed}, nil
}

// Verify checks the whole payload. The error wraps ErrCorrupt and names the
// offset of the damage in data.
func (v *View) Verify() error {
	if err := v.sealed.Verify(); err != nil {
		return fmt.Errorf("ribbon: verify: %w", err)
	}
	return nil
}

// open checks header and lengths of one encoding.
func open(data []byte, given hashing.Hasher) (table, envelope.Sealed, error) {
	sealed, err := envelope.Open(data)
	if err != nil {
		return table{}, sealed, err
	}
	t, err := parse(sealed.Header, given)
	return t, sealed, err
}
