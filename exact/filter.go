package exact

import (
	"fmt"
	"io"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/internal/envelope"
)

var _ bloomery.Hashed = (*Filter)(nil)

// Filter is a set of keys that never changes, without errors on a known universe.
//
// Make one with Build or a method of Config. A zero Filter is empty and cannot be
// encoded, but UnmarshalBinary can replace it.
//
// Safe for concurrent readers; a writer needs exclusion.
type Filter struct{ table }

// AppendBinary appends the encoding of the filter to dst. The error is nil but for
// a zero filter.
func (f *Filter) AppendBinary(dst []byte) ([]byte, error) {
	if f.classes == nil {
		return dst, errZero("marshal")
	}
	return envelope.Append(dst, f.header(), f.words), nil
}

// MarshalBinary returns the encoding of the filter. The error is nil but for a
// zero filter.
func (f *Filter) MarshalBinary() ([]byte, error) { return f.AppendBinary(nil) }

// WriteTo writes the encoding of the filter to w.
func (f *Filter) WriteTo(w io.Writer) (int64, error) {
	if f.classes == nil {
		return 0, errZero("write")
	}
	return envelope.WriteTo(w, f.header(), f.words)
}

// UnmarshalBinary replaces f by the filter that data encodes. If that was made
// with a secret key or a function, f must have been made with the same, see
// Config.Decode. On error f stays as it was; the error wraps ErrCorrupt,
// ErrVersion, ErrIncompatible or ErrKey.
func (f *Filter) UnmarshalBinary(data []byte) error {
	return envelope.Unmarshal("exact", data, f.hasher, f.load)
}

// errZero is the error for the encoding of a filter that was never made.
func errZero(op string) error {
	return fmt.Errorf("exact: %s: %w: a zero filter has no encoding", op, bloomery.ErrParameter)
}

// view is a table over an encoding that stays where it lies.
type view struct {
	table
	envelope.Viewed
}

// Clone returns a Filter, see bloomery.View.
func (f *view) Clone() (bloomery.Hashed, error) {
	if err := f.Verify(); err != nil {
		return nil, err
	}
	t := f.table
	if err := t.attach(f.Sealed.Header, f.Sealed.Words()); err != nil {
		return nil, fmt.Errorf("exact: clone: %w", err)
	}
	return &Filter{t}, nil
}
