package store

// Memory of the state, in words of the store.

import (
	"github.com/bloomery/bloomery/internal/memory"
)

var (
	// ErrMemory means that the system has no memory for an array.
	ErrMemory = memory.ErrUnavailable
	// ErrRoom means that a record had less room than its part would have to grow by:
	// nothing of the item was done, and what is left can be prepared again. Contents of
	// every kind say so.
	ErrRoom = memory.ErrRoom
)

// Mapped returns the bytes of arrays outside of the Go heap, those that are being
// given back included.
func (s *State) Mapped() int64 { return s.mapped() }
