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
// Make one with Build or Config.Build. A zero Filter is empty and cannot be
// encoded, but UnmarshalBinary and ReadFrom can replace it.
//
// Safe for concurrent readers; a writer needs exclusion.
type Filter struct{ table }

// View is a Filter that is read where it lies: in a mapped file or in a part
// of a larger buffer. The memory must stay as it is while the View is used.
// Clone returns a Filter in memory of its own. Make one with Config.View.
//
// Safe for concurrent use.
type View struct {
	table
	sealed envelope.Sealed
}

func (f *View) load(given hashing.Hasher, from *envelope.Source) error {
	err := f.table.load(given, from)
	f.sealed = from.Sealed
	return err
}

// Verify checks the whole payload. The error wraps ErrCorrupt and names the
// offset of the damage in data.
func (f *View) Verify() error {
	if err := f.sealed.Verify(); err != nil {
		return fmt.Errorf("ribbon: verify: %w", err)
	}
	return nil
}

// AppendBinary appends the encoding to dst as it lies. The payload is not checked, and
// its checksums stay the same, so that damage is still detected in the copy. The error
// is nil but for a zero view.
func (f *View) AppendBinary(dst []byte) ([]byte, error) { return f.sealed.AppendTo(dst, "ribbon") }

// MarshalBinary returns a copy of the encoding, see AppendBinary.
func (f *View) MarshalBinary() ([]byte, error) { return f.AppendBinary(nil) }

// WriteTo writes the encoding to w as it lies, see AppendBinary.
func (f *View) WriteTo(w io.Writer) (int64, error) { return f.sealed.WriteTo(w, "ribbon") }

// Clone returns a Filter of its own memory with the same keys. It checks the
// payload first: errors are those of Verify.
func (f *View) Clone() (*Filter, error) {
	if err := f.Verify(); err != nil {
		return nil, err
	}
	t := f.table
	if err := t.attach(f.sealed.Words()); err != nil {
		return nil, fmt.Errorf("ribbon: clone: %w", err)
	}
	return &Filter{t}, nil
}
