package contents

// What contents are made with.

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/internal/memory"
	"github.com/bloomery/bloomery/internal/redisbloom"
	"github.com/bloomery/bloomery/server/internal/keyring"
)

var (
	// ErrRetry means that what was asked for is gone: look for it again.
	ErrRetry = errors.New("store: id is gone")
	// ErrType means that something is of another kind.
	ErrType = errors.New("store: wrong kind")
	// ErrMemory means that the system has no memory for an array.
	ErrMemory = memory.ErrUnavailable
	// ErrRoom means that contents had less room than they would have to grow by: nothing of
	// the item was done, and what is left can be prepared again. Contents of every kind say so.
	ErrRoom = memory.ErrRoom
	// ErrNoRoom means that there is no memory below the bound of the node to build a filter.
	ErrNoRoom = errors.New("too little is left below max-memory")
	// ErrStopped means that the command which waited for it was given up.
	ErrStopped = errors.New("store: the command was given up")
	// ErrFrozen means that somebody is copying the contents already: that is over soon.
	ErrFrozen = redisbloom.ErrFrozen
)

// Supply is what contents are made with: memory, and the secret keys of their hashes. Make it
// with Init.
//
// Safe for concurrent use.
type Supply struct {
	arena  *memory.Arena
	mapped func() int64 // how much of it is outside of the Go heap
	bound  Memory       // see SetMemory
	keys   atomic.Pointer[keyring.Ring]
	last   atomic.Pointer[Shared] // of the last filter that was made: most are alike
	taken  *atomic.Int64          // see CountIn
}

// Init makes s ready to be used.
func (s *Supply) Init() {
	s.arena, s.mapped = memory.NewArena()
	s.taken = new(atomic.Int64)
}

// CountIn has what contents take be added to taken that change outside of records. It is called before anything is made.
func (s *Supply) CountIn(taken *atomic.Int64) { s.taken = taken }

// Mapped returns the bytes of arrays outside of the Go heap, those that are being
// given back included.
func (s *Supply) Mapped() int64 { return s.mapped() }

// Copied returns the bytes that only copies of filters need which are being read: of filters that have
// changed, or are gone.
func (s *Supply) Copied() int64 { return s.arena.Kept() }

// Memory sets memory of the node aside, and gives it back. Reserve reports false if there is too
// little; Claim takes it all the same.
type Memory interface {
	Reserve(n uint64) bool
	Claim(n uint64)
	Release(n uint64)
}

// SetMemory says what bounds the memory of the node. It is called before anything is made; without it
// there is no bound.
func (s *Supply) SetMemory(m Memory) { s.bound = m }

func (s *Supply) setAside(n uint64) bool { return s.bound == nil || s.bound.Reserve(n) }

func (s *Supply) giveBack(n uint64) {
	if s.bound != nil {
		s.bound.Release(n)
	}
}

// share returns a plan with the hasher that opens its filters: the one of the last
// filter, where that is the same, so that a million filters made alike have one.
func (s *Supply) share(p Plan, k codec.Kind, hash hashing.Kind, check uint64) (*Shared, error) {
	row := rows[k.Number]
	if row == nil {
		return nil, fmt.Errorf("store: open: %w: kind %s is not served", bloomery.ErrIncompatible, k.Name)
	}
	if last := s.last.Load(); last != nil && last.Plan == p && last.Kind == row && last.Hasher.Kind() == hash && last.Hasher.Check() == check {
		return last, nil
	}
	v := &Shared{p, s.Keys().Open(p.KeyID, hash, check), row, 0}
	s.last.Store(v)
	return v, nil
}

// SetKeys sets the secret keys of hashes: before anything is loaded, and again when
// keys were added. Filters that are there keep what they were opened with.
func (s *Supply) SetKeys(keys keyring.Ring) {
	s.keys.Store(&keys)
	s.last.Store(nil) // it may have been made without its key
}

// Keys returns the secret keys of hashes.
func (s *Supply) Keys() keyring.Ring {
	if keys := s.keys.Load(); keys != nil {
		return *keys
	}
	return nil
}

// KeyIDs returns the ids of all secret keys, in order.
func (s *Supply) KeyIDs() []string { return s.Keys().IDs() }
