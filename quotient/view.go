package quotient

import (
	"fmt"
	"io"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/internal/envelope"
	"github.com/bloomery/bloomery/internal/memory"
)

var (
	_ bloomery.Hashed  = (*View)(nil)
	_ bloomery.Counter = (*View)(nil)
)

// View is a Filter that is read where it lies: in a mapped file or in a part of
// a larger buffer. It cannot be changed; Clone returns a Filter that can. The
// memory must stay as it is while the View is used. Make one with Config.View.
//
// Safe for concurrent use.
type View struct {
	core
	sealed envelope.Sealed
}

func (f *View) load(given hashing.Hasher, from *envelope.Source) error {
	err := f.core.load(given, from)
	f.sealed = from.Sealed
	return err
}

// Verify checks the whole payload: its checksums, and that it is the array of
// some multiset. The error wraps ErrCorrupt and names the offset of the damage
// in data, or its block.
func (f *View) Verify() error {
	err := f.sealed.Verify()
	if err == nil {
		err = f.verify()
	}
	if err != nil {
		return fmt.Errorf("quotient: verify: %w", err)
	}
	return nil
}

// AppendBinary appends the encoding to dst as it lies. The payload is not checked, and
// its checksums stay the same, so that damage is still detected in the copy. The error
// is nil but for a zero view.
func (f *View) AppendBinary(dst []byte) ([]byte, error) { return f.sealed.AppendTo(dst, "quotient") }

// MarshalBinary returns a copy of the encoding, see AppendBinary.
func (f *View) MarshalBinary() ([]byte, error) { return f.AppendBinary(nil) }

// WriteTo writes the encoding to w as it lies, see AppendBinary.
func (f *View) WriteTo(w io.Writer) (int64, error) { return f.sealed.WriteTo(w, "quotient") }

// Clone returns a Filter of its own memory with the same keys. It checks the
// payload first, since a damaged one must not be changed: errors are those of
// Verify.
func (f *View) Clone() (*Filter, error) {
	if err := f.Verify(); err != nil {
		return nil, err
	}
	own := &Filter{core: f.core}
	own.data = memory.Bytes(len(f.data))
	copy(own.data, f.data)
	return own, nil
}
