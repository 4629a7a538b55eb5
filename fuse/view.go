package fuse

import (
	"fmt"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/internal/envelope"
)

var _ bloomery.Hashed = (*View[uint8])(nil)

// View is a Filter that is read where it lies: in a mapped file or in a part
// of a larger buffer. The memory must stay as it is while the View is used.
//
// Safe for concurrent use.
type View[T Fingerprint] struct {
	array[T]
	sealed envelope.Sealed
}

// NewView returns a View of data, the encoding of a Filter. It checks header,
// lengths and the directory of the shards, not the arrays: opening costs the
// same for every size, and a damaged array makes the filter forget keys, which
// an undamaged one never does. Verify checks it. Where data does not begin at a
// multiple of 8 bytes, or the machine is big-endian, the arrays are copied.
//
// Errors are those of UnmarshalBinary. A filter with a secret key or a
// function for its hash is opened by Config.NewView.
func NewView[T Fingerprint](data []byte) (*View[T], error) { return Config[T]{}.NewView(data) }

// NewView is the function NewView for filters that were made with c.Hasher.
func (c Config[T]) NewView(data []byte) (*View[T], error) {
	a, sealed, err := open[T](data, c.Hasher, func(s envelope.Sealed) ([]uint64, error) {
		return envelope.WordsOf(s.Payload), nil
	})
	if err != nil {
		return nil, fmt.Errorf("fuse: view: %w", err)
	}
	return &View[T]{a, sealed}, nil
}

// Verify checks the whole payload. The error wraps ErrCorrupt and names the
// offset of the damage in data.
func (v *View[T]) Verify() error {
	if err := v.sealed.Verify(); err != nil {
		return fmt.Errorf("fuse: verify: %w", err)
	}
	return nil
}
