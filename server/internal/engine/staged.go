package engine

// What clients have staged.

import (
	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/staging"
	"github.com/bloomery/bloomery/server/internal/store"
)

// stagedBytes is what a staged filter takes besides its data and its name.
const stagedBytes = 192

// KeepStaged keeps a staged filter for the client until it is taken, or the client
// goes. It reports false, and keeps nothing, if there is no room for the name.
func (x Contents) KeepStaged(name string, t *staging.Staged) bool {
	e, s := x.e, x.s
	if s.staged[name] == t {
		return true
	}
	if size := len(name) + stagedBytes; !e.Hold(s, size) {
		e.Hold(s, -size)
		return false
	}
	if s.staged == nil {
		s.staged = map[string]*staging.Staged{}
	}
	s.staged[name] = t
	return true
}

// Staged returns what the client has staged for a name, nil if that is nothing.
func (x Contents) Staged(name string) *staging.Staged { return x.s.staged[name] }

// TakeStaged is Staged, and what it returns is kept no more.
func (x Contents) TakeStaged(name string) *staging.Staged {
	t := x.s.staged[name]
	if t != nil {
		delete(x.s.staged, name)
		x.e.Hold(x.s, -len(name)-stagedBytes)
	}
	return t
}

// DropStaged removes what the client has staged for a name.
func (x Contents) DropStaged(name string) {
	if t := x.TakeStaged(name); t != nil {
		x.Staging().Drop(t.ID)
	}
}

// unstage removes what a client has left without a name.
func (e *Engine) unstage(s *Session) {
	for name, t := range s.staged {
		e.Hold(s, -len(name)-stagedBytes)
		op := &door.Op{Record: store.Record{At: e.clock().UnixMilli(), Body: &store.Evict{IDs: []uint64{t.ID}}}}
		ops := []*door.Op{op}
		e.door.Do(ops)
		if !op.Settled {
			e.door.Wait(ops)
		}
	}
	s.staged = nil
}
