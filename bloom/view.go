package bloom

import (
	"fmt"
	"io"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/internal/envelope"
	"github.com/bloomery/bloomery/sizing"
)

var (
	_ bloomery.Hashed = (*View)(nil)
	_ bloomery.Hashed = (*StandardView)(nil)
	_ bloomery.Hashed = (*SplitView)(nil)
	_ bloomery.Hashed = (*PartitionedView)(nil)
)

// View is a Filter that is read where it lies: in a mapped file or in a part
// of a larger buffer. It cannot be changed; Clone returns a Filter that can.
// The memory must stay as it is while the View is used. Make one with
// Config.View.
//
// Safe for concurrent use.
type View struct {
	lines
	sealed envelope.Sealed
}

func (f *View) load(given hashing.Hasher, from *envelope.Source) error {
	err := f.lines.load(given, from)
	f.sealed = from.Sealed
	return err
}

// Verify checks the whole payload. The error wraps ErrCorrupt and names the
// offset of the damage in data.
func (f *View) Verify() error { return verify(f.sealed) }

// AppendBinary appends the encoding to dst as it lies. The payload is not checked, and
// its checksums stay the same, so that damage is still detected in the copy. The error
// is nil but for a zero view.
func (f *View) AppendBinary(dst []byte) ([]byte, error) { return f.sealed.AppendTo(dst, "bloom") }

// MarshalBinary returns a copy of the encoding, see AppendBinary.
func (f *View) MarshalBinary() ([]byte, error) { return f.AppendBinary(nil) }

// WriteTo writes the encoding to w as it lies, see AppendBinary.
func (f *View) WriteTo(w io.Writer) (int64, error) { return f.sealed.WriteTo(w, "bloom") }

// Clone returns a Filter of its own memory with the same keys. It checks the
// payload first: errors are those of Verify.
func (f *View) Clone() (*Filter, error) { return cloned(f.sealed, f.clone) }

// StandardView is a Standard that is read where it lies, see View.
//
// Safe for concurrent use.
type StandardView struct {
	flat
	sealed envelope.Sealed
}

func (f *StandardView) load(given hashing.Hasher, from *envelope.Source) error {
	err := f.loadAs(envelope.KindStandard, sizing.Standard, given, from)
	f.sealed = from.Sealed
	return err
}

// Verify is View.Verify.
func (f *StandardView) Verify() error { return verify(f.sealed) }

// AppendBinary is View.AppendBinary.
func (f *StandardView) AppendBinary(dst []byte) ([]byte, error) {
	return f.sealed.AppendTo(dst, "bloom")
}

// MarshalBinary returns a copy of the encoding, see AppendBinary.
func (f *StandardView) MarshalBinary() ([]byte, error) { return f.AppendBinary(nil) }

// WriteTo writes the encoding to w as it lies, see AppendBinary.
func (f *StandardView) WriteTo(w io.Writer) (int64, error) { return f.sealed.WriteTo(w, "bloom") }

// Clone is View.Clone for a Standard.
func (f *StandardView) Clone() (*Standard, error) {
	return cloned(f.sealed, func() *Standard { return &Standard{flatSet{f.copied()}} })
}

// PartitionedView is a Partitioned that is read where it lies, see View.
//
// Safe for concurrent use.
type PartitionedView struct {
	flat
	sealed envelope.Sealed
}

func (f *PartitionedView) load(given hashing.Hasher, from *envelope.Source) error {
	err := f.loadAs(envelope.KindPartitioned, sizing.Partitioned, given, from)
	f.sealed = from.Sealed
	return err
}

// Verify is View.Verify.
func (f *PartitionedView) Verify() error { return verify(f.sealed) }

// AppendBinary is View.AppendBinary.
func (f *PartitionedView) AppendBinary(dst []byte) ([]byte, error) {
	return f.sealed.AppendTo(dst, "bloom")
}

// MarshalBinary returns a copy of the encoding, see AppendBinary.
func (f *PartitionedView) MarshalBinary() ([]byte, error) { return f.AppendBinary(nil) }

// WriteTo writes the encoding to w as it lies, see AppendBinary.
func (f *PartitionedView) WriteTo(w io.Writer) (int64, error) { return f.sealed.WriteTo(w, "bloom") }

// Clone is View.Clone for a Partitioned.
func (f *PartitionedView) Clone() (*Partitioned, error) {
	return cloned(f.sealed, func() *Partitioned { return &Partitioned{flatSet{f.copied()}} })
}

// SplitView is a Split that is read where it lies, see View.
//
// Safe for concurrent use.
type SplitView struct {
	halves
	sealed envelope.Sealed
}

func (f *SplitView) load(given hashing.Hasher, from *envelope.Source) error {
	err := f.halves.load(given, from)
	f.sealed = from.Sealed
	return err
}

// Verify is View.Verify.
func (f *SplitView) Verify() error { return verify(f.sealed) }

// AppendBinary is View.AppendBinary.
func (f *SplitView) AppendBinary(dst []byte) ([]byte, error) { return f.sealed.AppendTo(dst, "bloom") }

// MarshalBinary returns a copy of the encoding, see AppendBinary.
func (f *SplitView) MarshalBinary() ([]byte, error) { return f.AppendBinary(nil) }

// WriteTo writes the encoding to w as it lies, see AppendBinary.
func (f *SplitView) WriteTo(w io.Writer) (int64, error) { return f.sealed.WriteTo(w, "bloom") }

// Clone is View.Clone for a Split.
func (f *SplitView) Clone() (*Split, error) { return cloned(f.sealed, f.clone) }

// SlicedView is a Sliced that is read where it lies, see View.
//
// Safe for concurrent use.
type SlicedView struct {
	rows
	sealed envelope.Sealed
}

func (f *SlicedView) load(given hashing.Hasher, from *envelope.Source) error {
	err := f.rows.load(given, from)
	f.sealed = from.Sealed
	return err
}

// Verify is View.Verify.
func (f *SlicedView) Verify() error { return verify(f.sealed) }

// AppendBinary is View.AppendBinary.
func (f *SlicedView) AppendBinary(dst []byte) ([]byte, error) { return f.sealed.AppendTo(dst, "bloom") }

// MarshalBinary returns a copy of the encoding, see AppendBinary.
func (f *SlicedView) MarshalBinary() ([]byte, error) { return f.AppendBinary(nil) }

// WriteTo writes the encoding to w as it lies, see AppendBinary.
func (f *SlicedView) WriteTo(w io.Writer) (int64, error) { return f.sealed.WriteTo(w, "bloom") }

// Clone is View.Clone for a Sliced. Bits of columns that are not in use are
// left out.
func (f *SlicedView) Clone() (*Sliced, error) { return cloned(f.sealed, f.clone) }

func verify(s envelope.Sealed) error {
	if err := s.Verify(); err != nil {
		return fmt.Errorf("bloom: verify: %w", err)
	}
	return nil
}

// cloned returns a clone of a view if its payload is sound.
func cloned[F any](s envelope.Sealed, clone func() *F) (*F, error) {
	if err := s.Verify(); err != nil {
		return nil, fmt.Errorf("bloom: clone: %w", err)
	}
	return clone(), nil
}
