package fuse

import (
	"fmt"
	"io"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/internal/envelope"
)

var _ bloomery.Hashed = (*Filter[uint8])(nil)

// Filter is a binary fuse filter: a set of keys that never changes.
//
// Make one with Build or Config.Build; a zero Filter is only good for
// UnmarshalBinary and ReadFrom.
//
// Safe for concurrent readers; a writer needs exclusion.
type Filter[T Fingerprint] struct{ array[T] }

// UnmarshalBinary replaces f by the filter that data encodes. If that was made
// with a secret key or a function, f must have been made with the same. On
// error f stays as it was; the error wraps ErrCorrupt, ErrVersion,
// ErrIncompatible or ErrKey.
func (f *Filter[T]) UnmarshalBinary(data []byte) error {
	a, _, err := open[T](data, f.hasher, func(s envelope.Sealed) ([]uint64, error) {
		if err := s.Verify(); err != nil {
			return nil, err
		}
		return s.Words(), nil
	})
	if err != nil {
		return fmt.Errorf("fuse: unmarshal: %w", err)
	}
	f.array = a
	return nil
}

// ReadFrom replaces f by a filter that it reads from r, and reads no byte
// more than that. Memory grows with what has arrived. On error f stays as it
// was; errors are those of UnmarshalBinary, ErrTooLarge, or those of r.
func (f *Filter[T]) ReadFrom(r io.Reader) (int64, error) {
	var a array[T]
	h, words, n, err := envelope.Read(r, func(h envelope.Header) (err error) {
		a, err = parse[T](h, f.hasher)
		return err
	})
	if err == nil {
		a, err = a.parseShards(h, words)
	}
	if err != nil {
		return n, fmt.Errorf("fuse: read: %w", err)
	}
	f.array = a
	return n, nil
}
