package fuse

import (
	"fmt"
	"io"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/internal/envelope"
)

var _ bloomery.Hashed = (*View[uint8])(nil)

// View is a Filter that is read where it lies: in a mapped file or in a part
// of a larger buffer. The memory must stay as it is while the View is used.
// Clone returns a Filter in memory of its own. Make one with Config.View.
//
// Safe for concurrent use.
type View[T Fingerprint] struct {
	array[T]
	sealed envelope.Sealed
}

func (f *View[T]) load(given hashing.Hasher, from *envelope.Source) error {
	err := f.array.load(given, from)
	f.sealed = from.Sealed
	return err
}

// Verify checks the whole payload. The error wraps ErrCorrupt and names the
// offset of the damage in data.
func (f *View[T]) Verify() error {
	if err := f.sealed.Verify(); err != nil {
		return fmt.Errorf("fuse: verify: %w", err)
	}
	return nil
}

// AppendBinary appends the encoding to dst as it lies. The payload is not checked, and
// its checksums stay the same, so that damage is still detected in the copy. The error
// is nil but for a zero view.
func (f *View[T]) AppendBinary(dst []byte) ([]byte, error) { return f.sealed.AppendTo(dst, "fuse") }

// MarshalBinary returns a copy of the encoding, see AppendBinary.
func (f *View[T]) MarshalBinary() ([]byte, error) { return f.AppendBinary(nil) }

// WriteTo writes the encoding to w as it lies, see AppendBinary.
func (f *View[T]) WriteTo(w io.Writer) (int64, error) { return f.sealed.WriteTo(w, "fuse") }

// Clone returns a Filter of its own memory with the same keys. It checks the
// payload first: errors are those of Verify.
func (f *View[T]) Clone() (*Filter[T], error) {
	if err := f.Verify(); err != nil {
		return nil, err
	}
	a, err := f.parseShards(f.sealed.Header, f.sealed.Words())
	if err != nil {
		return nil, fmt.Errorf("fuse: clone: %w", err)
	}
	return &Filter[T]{a}, nil
}
