package ribbon

import "github.com/bloomery/bloomery"

var _ bloomery.Hashed = (*Filter)(nil)

// Filter is a bumped ribbon filter: a set of keys that never changes, in
// hardly more space than any filter needs.
//
// Make one with Build or Config.Build. A zero Filter is empty and cannot be
// encoded, but UnmarshalBinary can replace it.
//
// Safe for concurrent readers; a writer needs exclusion.
type Filter struct{ table }
