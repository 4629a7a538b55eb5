package store

// Windows, and the time that passes for them.

import (
	"maps"
	"sync"

	composed "github.com/bloomery/bloomery/compose"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/server/internal/catalog"
)

// hasherOwner is every filter of ours.
type hasherOwner interface{ Hasher() hashing.Hasher }

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
	p := PartOf(e)
	if p == nil || e.Kind != catalog.Filter || p.Void() {
		return
	}
	s.passTime(e, p.asked())
}

// passTime remembers an entry if its plan is that of a window.
func (s *State) passTime(e *catalog.Entry, plan *Plan) {
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

// Due returns the generation that a window should have at a time, in milliseconds
// since 1970. It reports false if it has that, or a later one, or is no window. The
// caller holds a lock of p.
func (p *Part) Due(now int64) (generation uint64, due bool) {
	c, ok := p.contents.(*filter)
	if d, is := p.contents.(*draft); is && d.inner != nil {
		c, ok = d.inner, true
	}
	if !ok || c.plan.Load().Generation == 0 || now < 0 {
		return 0, false
	}
	w, ok := c.f.(*composed.Window)
	if !ok {
		return 0, false
	}
	generation = uint64(now / c.plan.Load().Generation)
	return generation, generation > w.Generation()
}
