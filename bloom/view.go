package bloom

import (
	"fmt"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/internal/envelope"
	"github.com/bloomery/bloomery/internal/kernel"
	"github.com/bloomery/bloomery/sizing"
)

var (
	_ bloomery.Hashed = (*View)(nil)
	_ bloomery.Hashed = (*StandardView)(nil)
	_ bloomery.Hashed = (*SplitView)(nil)
	_ bloomery.Hashed = (*PartitionedView)(nil)
)

// View is a Filter that is read where it lies: in a mapped file or in a part
// of a larger buffer. It cannot be changed; Clone gives a Filter that can.
// The memory must stay as it is while the View is used.
//
// Safe for concurrent use.
type View struct {
	lines
	sealed envelope.Sealed
}

// NewView returns a View of data, the encoding of a Filter. It checks header
// and lengths, not the payload: opening costs the same for every size, and a
// damaged payload can make the filter forget keys. Verify checks it. Where
// data does not begin at a multiple of 8 bytes, or the machine is big-endian,
// the array is copied.
//
// Errors are those of UnmarshalBinary. A filter with a secret key or a
// function for its hash is opened by Config.NewView.
func NewView(data []byte) (*View, error) { return Config{}.NewView(data) }

// NewView is the function NewView for filters that were made with c.Hasher.
func (c Config) NewView(data []byte) (*View, error) {
	b, sealed, err := open(data, envelope.KindBloom, sizing.Blocked, c.Hasher)
	if err != nil {
		return nil, fmt.Errorf("bloom: view: %w", err)
	}
	return &View{lines{b, kernel.Blocks(envelope.WordsOf(sealed.Payload))}, sealed}, nil
}

// Verify checks the whole payload. The error wraps ErrCorrupt and names the
// offset of the damage in data.
func (v *View) Verify() error { return verify(v.sealed) }

// StandardView is a Standard that is read where it lies, see View.
//
// Safe for concurrent use.
type StandardView struct {
	flat
	sealed envelope.Sealed
}

// NewStandardView is NewView for the encoding of a Standard.
func NewStandardView(data []byte) (*StandardView, error) { return Config{}.NewStandardView(data) }

// NewStandardView is Config.NewView for the encoding of a Standard.
func (c Config) NewStandardView(data []byte) (*StandardView, error) {
	b, sealed, err := open(data, envelope.KindStandard, sizing.Standard, c.Hasher)
	if err != nil {
		return nil, fmt.Errorf("bloom: view: %w", err)
	}
	return &StandardView{newFlat(b, envelope.WordsOf(sealed.Payload)), sealed}, nil
}

// Clone returns a Standard of its own memory with the same keys.
func (v *StandardView) Clone() *Standard { return &Standard{flatSet{v.copied()}} }

// Verify is View.Verify.
func (v *StandardView) Verify() error { return verify(v.sealed) }

// SplitView is a Split that is read where it lies, see View.
//
// Safe for concurrent use.
type SplitView struct {
	halves
	sealed envelope.Sealed
}

// NewSplitView is NewView for the encoding of a Split.
func NewSplitView(data []byte) (*SplitView, error) { return Config{}.NewSplitView(data) }

// NewSplitView is Config.NewView for the encoding of a Split.
func (c Config) NewSplitView(data []byte) (*SplitView, error) {
	b, sealed, err := open(data, envelope.KindSplit, sizing.Split, c.Hasher)
	if err != nil {
		return nil, fmt.Errorf("bloom: view: %w", err)
	}
	return &SplitView{halves{b, kernel.SplitBlocks(envelope.WordsOf(sealed.Payload))}, sealed}, nil
}

// Verify is View.Verify.
func (v *SplitView) Verify() error { return verify(v.sealed) }

// SlicedView is a Sliced that is read where it lies, see View.
//
// Safe for concurrent use.
type SlicedView struct {
	rows
	sealed envelope.Sealed
}

// NewSlicedView is NewView for the encoding of a Sliced.
func NewSlicedView(data []byte) (*SlicedView, error) { return Config{}.NewSlicedView(data) }

// NewSlicedView is Config.NewView for the encoding of a Sliced.
func (c Config) NewSlicedView(data []byte) (*SlicedView, error) {
	r, sealed, err := openSliced(data, c.Hasher)
	if err != nil {
		return nil, fmt.Errorf("bloom: view: %w", err)
	}
	r.words = envelope.WordsOf(sealed.Payload)
	return &SlicedView{r, sealed}, nil
}

// Verify is View.Verify.
func (v *SlicedView) Verify() error { return verify(v.sealed) }

// PartitionedView is a Partitioned that is read where it lies, see View.
//
// Safe for concurrent use.
type PartitionedView struct {
	flat
	sealed envelope.Sealed
}

// NewPartitionedView is NewView for the encoding of a Partitioned.
func NewPartitionedView(data []byte) (*PartitionedView, error) {
	return Config{}.NewPartitionedView(data)
}

// NewPartitionedView is Config.NewView for the encoding of a Partitioned.
func (c Config) NewPartitionedView(data []byte) (*PartitionedView, error) {
	b, sealed, err := open(data, envelope.KindPartitioned, sizing.Partitioned, c.Hasher)
	if err != nil {
		return nil, fmt.Errorf("bloom: view: %w", err)
	}
	return &PartitionedView{newFlat(b, envelope.WordsOf(sealed.Payload)), sealed}, nil
}

// Clone returns a Partitioned of its own memory with the same keys.
func (v *PartitionedView) Clone() *Partitioned { return &Partitioned{flatSet{v.copied()}} }

// Verify is View.Verify.
func (v *PartitionedView) Verify() error { return verify(v.sealed) }

func verify(s envelope.Sealed) error {
	if err := s.Verify(); err != nil {
		return fmt.Errorf("bloom: verify: %w", err)
	}
	return nil
}
