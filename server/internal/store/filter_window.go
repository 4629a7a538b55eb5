package store

// Windows, and the time that passes for them.

import (
	"maps"
	"sync"

	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/contents"
)

// windows are the entries of windows, which time passes for.
//
// Safe for concurrent use.
type windows struct {
	// mu guards entries.
	mu      sync.Mutex
	entries map[uint64]*catalog.Entry
}

// noteWindow remembers an entry if it is a window.
func (s *State) noteWindow(e *catalog.Entry) {
	p := contents.PartOf(e)
	if p == nil || e.Kind != catalog.Filter || p.Void() {
		return
	}
	s.passTime(e, p.Asked())
}

// passTime remembers an entry if its plan is that of a window.
func (s *State) passTime(e *catalog.Entry, plan *contents.Plan) {
	if plan.Generation == 0 {
		return
	}
	s.windows.mu.Lock()
	defer s.windows.mu.Unlock()
	if s.windows.entries == nil {
		s.windows.entries = map[uint64]*catalog.Entry{}
	}
	s.windows.entries[e.ID] = e
}

// Windows returns the entries of all windows, some of which may be gone.
func (s *State) Windows() map[uint64]*catalog.Entry {
	s.windows.mu.Lock()
	defer s.windows.mu.Unlock()
	return maps.Clone(s.windows.entries)
}

// ForgetWindow forgets the entry of a window that is gone.
func (s *State) ForgetWindow(id uint64) {
	s.windows.mu.Lock()
	defer s.windows.mu.Unlock()
	delete(s.windows.entries, id)
}
