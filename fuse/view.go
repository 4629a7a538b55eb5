package fuse

import (
	"fmt"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/internal/envelope"
)

// view is an array over an encoding that stays where it lies.
type view[T Fingerprint] struct {
	array[T]
	envelope.Viewed
}

// View returns a view of data, the encoding of a Filter. It checks header, lengths
// and the directory of the shards, not the arrays. Where data does not start at a
// multiple of 8 bytes, or the machine is big-endian, the array is copied. Of c only
// Hasher may be set. Errors are those of Decode.
func (c Config[T]) View(data []byte) (bloomery.View, error) {
	return envelope.View(c.opening(), data, (*view[T]).load)
}

// Clone returns a Filter, see bloomery.View.
func (f *view[T]) Clone() (bloomery.Hashed, error) {
	if err := f.Verify(); err != nil {
		return nil, err
	}
	a, err := f.parseShards(f.Sealed.Header, f.Sealed.Words())
	if err != nil {
		return nil, fmt.Errorf("fuse: clone: %w", err)
	}
	return &Filter[T]{a}, nil
}
