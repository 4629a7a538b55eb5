package bloom

import (
	"encoding"
	"fmt"
	"io"
	"iter"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/internal/envelope"
	"github.com/bloomery/bloomery/sizing"
)

// The views: what filters are read with, over an encoding that stays where it lies.
type (
	linesView struct {
		lines
		envelope.Viewed
	}
	flatView struct {
		flat
		envelope.Viewed
	}
	halvesView struct {
		halves
		envelope.Viewed
	}
	layeredView struct {
		layered
		envelope.Viewed
	}
	rowsView struct {
		rows
		envelope.Viewed
	}
)

// View returns a view of data, the encoding of a filter of any kind of this package
// but Sliced. Where data does not start at a multiple of 8 bytes, or the machine is
// big-endian, the array is copied. Of c only Hasher may be set. Errors are those of
// Decode.
func (c Config) View(data []byte) (bloomery.View, error) {
	switch envelope.KindIn(data) {
	case envelope.KindStandard:
		return envelope.View(c.opening(), data, (*flatView).loadStandard)
	case envelope.KindPartitioned:
		return envelope.View(c.opening(), data, (*flatView).loadPartitioned)
	case envelope.KindSplit:
		return envelope.View(c.opening(), data, (*halvesView).load)
	case envelope.KindScalable:
		return envelope.View(c.opening(), data, (*layeredView).load)
	}
	return envelope.View(c.opening(), data, (*linesView).load)
}

// Clone returns a Filter, see bloomery.View.
func (f *linesView) Clone() (bloomery.Hashed, error) { return envelope.Cloned(f, f.clone) }

// Clone returns a Standard or a Partitioned, see bloomery.View.
func (f *flatView) Clone() (bloomery.Hashed, error) {
	return envelope.Cloned(f, func() bloomery.Hashed {
		if f.shape.Layout == sizing.Partitioned {
			return &Partitioned{flatSet{f.copied()}}
		}
		return &Standard{flatSet{f.copied()}}
	})
}

// Clone returns a Split, see bloomery.View.
func (f *halvesView) Clone() (bloomery.Hashed, error) { return envelope.Cloned(f, f.clone) }

// Clone returns a Scalable, see bloomery.View.
func (f *layeredView) Clone() (bloomery.Hashed, error) { return envelope.Cloned(f, f.clone) }

// SlicedView is a Sliced that is read where it lies; see bloomery.View, which is
// that of one filter. Make one with Config.ViewSliced.
//
// Safe for concurrent use.
type SlicedView interface {
	// The methods of Sliced that read.
	Which(dst []uint64, h uint64)
	Words() int
	Columns() iter.Seq[int]
	ContainsHash(column int, h uint64) (bool, error)
	Hash(key []byte) uint64
	Stats() bloomery.Stats
	fmt.Stringer

	// Verify checks the whole payload. The error wraps ErrCorrupt and names the
	// offset of the damage.
	Verify() error
	// Clone returns a Sliced of its own memory with the same columns. It checks the
	// payload first: errors are those of Verify.
	Clone() (*Sliced, error)

	// The encoding is copied as it lies, see bloomery.View.
	io.WriterTo
	encoding.BinaryMarshaler
	encoding.BinaryAppender
}

// ViewSliced is View for a Sliced.
func (c Config) ViewSliced(data []byte) (SlicedView, error) {
	v, err := envelope.InPlace(c.opening(), "ViewSliced", data, (*rowsView).load)
	if err != nil {
		return nil, err
	}
	return v, nil
}

// Clone leaves out the bits of columns that are not in use.
func (f *rowsView) Clone() (*Sliced, error) {
	if err := f.Verify(); err != nil {
		return nil, err
	}
	return f.clone(), nil
}
