package bloom

import (
	"fmt"

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

func (v *View) load(given hashing.Hasher, from *envelope.Source) error {
	err := v.lines.load(given, from)
	v.sealed = from.Sealed
	return err
}

// Verify checks the whole payload. The error wraps ErrCorrupt and names the
// offset of the damage in data.
func (v *View) Verify() error { return verify(v.sealed) }

// Clone returns a Filter of its own memory with the same keys. It checks the
// payload first: errors are those of Verify.
func (v *View) Clone() (*Filter, error) { return cloned(v.sealed, v.clone) }

// StandardView is a Standard that is read where it lies, see View.
//
// Safe for concurrent use.
type StandardView struct {
	flat
	sealed envelope.Sealed
}

func (v *StandardView) load(given hashing.Hasher, from *envelope.Source) error {
	err := v.loadAs(envelope.KindStandard, sizing.Standard, given, from)
	v.sealed = from.Sealed
	return err
}

// Verify is View.Verify.
func (v *StandardView) Verify() error { return verify(v.sealed) }

// Clone is View.Clone for a Standard.
func (v *StandardView) Clone() (*Standard, error) {
	return cloned(v.sealed, func() *Standard { return &Standard{flatSet{v.copied()}} })
}

// PartitionedView is a Partitioned that is read where it lies, see View.
//
// Safe for concurrent use.
type PartitionedView struct {
	flat
	sealed envelope.Sealed
}

func (v *PartitionedView) load(given hashing.Hasher, from *envelope.Source) error {
	err := v.loadAs(envelope.KindPartitioned, sizing.Partitioned, given, from)
	v.sealed = from.Sealed
	return err
}

// Verify is View.Verify.
func (v *PartitionedView) Verify() error { return verify(v.sealed) }

// Clone is View.Clone for a Partitioned.
func (v *PartitionedView) Clone() (*Partitioned, error) {
	return cloned(v.sealed, func() *Partitioned { return &Partitioned{flatSet{v.copied()}} })
}

// SplitView is a Split that is read where it lies, see View.
//
// Safe for concurrent use.
type SplitView struct {
	halves
	sealed envelope.Sealed
}

func (v *SplitView) load(given hashing.Hasher, from *envelope.Source) error {
	err := v.halves.load(given, from)
	v.sealed = from.Sealed
	return err
}

// Verify is View.Verify.
func (v *SplitView) Verify() error { return verify(v.sealed) }

// Clone is View.Clone for a Split.
func (v *SplitView) Clone() (*Split, error) { return cloned(v.sealed, v.clone) }

// SlicedView is a Sliced that is read where it lies, see View.
//
// Safe for concurrent use.
type SlicedView struct {
	rows
	sealed envelope.Sealed
}

func (v *SlicedView) load(given hashing.Hasher, from *envelope.Source) error {
	err := v.rows.load(given, from)
	v.sealed = from.Sealed
	return err
}

// Verify is View.Verify.
func (v *SlicedView) Verify() error { return verify(v.sealed) }

// Clone is View.Clone for a Sliced. Bits of columns that are not in use are
// left out.
func (v *SlicedView) Clone() (*Sliced, error) { return cloned(v.sealed, v.clone) }

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
