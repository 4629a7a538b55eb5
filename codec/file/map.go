package file

import (
	"errors"
	"fmt"
	"math"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/internal/regular"
)

// Mapped is a filter that is read where it lies in a file. The system brings
// in the parts that are asked for, and shares them between processes. Where
// the system has no mapping, the file is read into memory.
//
// A damaged file can cause false negatives: nothing but the header is looked at
// when it is opened. Verify looks at all of it.
//
// The file must stay as it is. Writing into it changes the filter; truncating
// it kills every process that then reads a part that is gone (SIGBUS).
// WriteFile does neither: it puts a new file in the old one's place, and a
// Mapped goes on with the old one.
//
// A Mapped must not be used after Close: that panics at best.
//
// Safe for concurrent use.
type Mapped struct {
	bloomery.View
	data []byte
	name string
}

// Map maps the named file, the plain encoding of a filter of any kind. It
// costs the same for every size. Errors are those of c.View and of the file
// system; what is not a regular file is refused at once.
func Map(name string, c codec.Config) (*Mapped, error) {
	m, err := mapped(name, c)
	if err != nil {
		return nil, fmt.Errorf("file: map %s: %w", name, cause(err))
	}
	return m, nil
}

func mapped(name string, c codec.Config) (*Mapped, error) {
	in, err := regular.Open(name)
	if err != nil {
		return nil, err
	}
	defer in.Close() //nolint:errcheck // it was only read, and the mapping outlives it
	info, err := in.Stat()
	switch {
	case err != nil:
		return nil, err
	case info.Size() == 0: // cannot be mapped
		return nil, fmt.Errorf("%w: the file is empty", bloomery.ErrCorrupt)
	case info.Size() > math.MaxInt:
		return nil, fmt.Errorf("%w: %d bytes cannot be mapped here", bloomery.ErrTooLarge, info.Size())
	}
	data, err := mapFile(in, int(info.Size()))
	if err != nil {
		return nil, err
	}
	v, err := c.View(data)
	if err != nil {
		return nil, errors.Join(err, unmap(data))
	}
	return &Mapped{v, data, name}, nil
}

// Verify checks the whole payload. The error wraps ErrCorrupt, and names the
// file and the offset of the damage.
func (m *Mapped) Verify() error {
	if err := m.View.Verify(); err != nil {
		return fmt.Errorf("file: verify %s: %w", m.name, err)
	}
	return nil
}

// Close releases the mapping. A second Close does nothing.
func (m *Mapped) Close() error {
	data := m.data
	m.View, m.data = nil, nil
	if data == nil {
		return nil
	}
	if err := unmap(data); err != nil {
		return fmt.Errorf("file: close %s: %w", m.name, err)
	}
	return nil
}
