package fuse

import "github.com/bloomery/bloomery"

var _ bloomery.Hashed = (*Filter[uint8])(nil)

// Filter is a binary fuse filter: a set of keys that never changes.
//
// Make one with Build or Config.Build. A zero Filter is empty and cannot be
// encoded, but UnmarshalBinary can replace it.
//
// Safe for concurrent readers; a writer needs exclusion.
type Filter[T Fingerprint] struct{ array[T] }
