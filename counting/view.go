package counting

import (
	"fmt"
	"io"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/internal/envelope"
)

var (
	_ bloomery.Hashed  = (*View)(nil)
	_ bloomery.Counter = (*View)(nil)
	_ bloomery.Hashed  = (*SpectralView)(nil)
	_ bloomery.Counter = (*SpectralView)(nil)
	_ bloomery.Hashed  = (*StableView)(nil)
)

// View is a Filter that is read where it lies: in a mapped file or in a part
// of a larger buffer. It cannot be changed; Clone returns a Filter that can.
// The memory must stay as it is while the View is used. Make one with
// Config.View.
//
// Safe for concurrent use.
type View struct {
	counted
	sealed envelope.Sealed
}

func (f *View) load(given hashing.Hasher, from *envelope.Source) error {
	err := f.counted.load(given, from)
	f.sealed = from.Sealed
	return err
}

// Verify checks the whole payload. The error wraps ErrCorrupt and names the
// offset of the damage in data.
func (f *View) Verify() error { return verify(&f.table, f.sealed) }

// AppendBinary appends the encoding to dst as it lies. The payload is not checked, and
// its checksums stay the same, so that damage is still detected in the copy. The error
// is nil but for a zero view.
func (f *View) AppendBinary(dst []byte) ([]byte, error) { return f.sealed.AppendTo(dst, "counting") }

// MarshalBinary returns a copy of the encoding, see AppendBinary.
func (f *View) MarshalBinary() ([]byte, error) { return f.AppendBinary(nil) }

// WriteTo writes the encoding to w as it lies, see AppendBinary.
func (f *View) WriteTo(w io.Writer) (int64, error) { return f.sealed.WriteTo(w, "counting") }

// Clone returns a Filter of its own memory with the same keys. It checks the
// payload first: errors are those of Verify.
func (f *View) Clone() (*Filter, error) {
	if err := f.Verify(); err != nil {
		return nil, err
	}
	return f.clone(), nil
}

// SpectralView is a Spectral that is read where it lies, see View.
//
// Safe for concurrent use.
type SpectralView struct {
	spectrum
	sealed envelope.Sealed
}

func (f *SpectralView) load(given hashing.Hasher, from *envelope.Source) error {
	err := f.spectrum.load(given, from)
	f.sealed = from.Sealed
	return err
}

// Verify is View.Verify.
func (f *SpectralView) Verify() error { return verify(&f.table, f.sealed) }

// AppendBinary is View.AppendBinary.
func (f *SpectralView) AppendBinary(dst []byte) ([]byte, error) {
	return f.sealed.AppendTo(dst, "counting")
}

// MarshalBinary returns a copy of the encoding, see AppendBinary.
func (f *SpectralView) MarshalBinary() ([]byte, error) { return f.AppendBinary(nil) }

// WriteTo writes the encoding to w as it lies, see AppendBinary.
func (f *SpectralView) WriteTo(w io.Writer) (int64, error) { return f.sealed.WriteTo(w, "counting") }

// Clone is View.Clone for a Spectral.
func (f *SpectralView) Clone() (*Spectral, error) {
	if err := f.Verify(); err != nil {
		return nil, err
	}
	return f.clone(), nil
}

// StableView is a Stable that is read where it lies, see View.
//
// Safe for concurrent use.
type StableView struct {
	memories
	sealed envelope.Sealed
}

func (f *StableView) load(given hashing.Hasher, from *envelope.Source) error {
	err := f.memories.load(given, from)
	f.sealed = from.Sealed
	return err
}

// Verify is View.Verify.
func (f *StableView) Verify() error { return verify(&f.table, f.sealed) }

// AppendBinary is View.AppendBinary.
func (f *StableView) AppendBinary(dst []byte) ([]byte, error) {
	return f.sealed.AppendTo(dst, "counting")
}

// MarshalBinary returns a copy of the encoding, see AppendBinary.
func (f *StableView) MarshalBinary() ([]byte, error) { return f.AppendBinary(nil) }

// WriteTo writes the encoding to w as it lies, see AppendBinary.
func (f *StableView) WriteTo(w io.Writer) (int64, error) { return f.sealed.WriteTo(w, "counting") }

// Clone is View.Clone for a Stable.
func (f *StableView) Clone() (*Stable, error) {
	if err := f.Verify(); err != nil {
		return nil, err
	}
	return f.clone(), nil
}

func verify(t *table, s envelope.Sealed) error {
	err := s.Verify()
	if err == nil {
		err = t.check()
	}
	if err != nil {
		return fmt.Errorf("counting: verify: %w", err)
	}
	return nil
}
