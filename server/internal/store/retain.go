package store

// Entries that a snapshot keeps.

import "github.com/bloomery/bloomery/server/internal/catalog"

// notRetaining is what retained is while nobody keeps strings.
const notRetaining = -1 << 62

// Retain says that the caller keeps the entries that are there now. Long strings
// among them that are removed or replaced stay in memory, and Retained counts
// them, until the caller lets go of them. The caller holds the catalogue's lock.
func (s *State) Retain() { s.retained.Store(0) }

// LetGo says that the caller keeps an entry no longer.
func (s *State) LetGo(e *catalog.Entry) {
	if n := len(Text(e)); n >= Long && s.Names.ByID(e.ID) == nil {
		s.retained.Add(-int64(n))
	}
}

// Unretain undoes Retain: the caller keeps no entry any more.
func (s *State) Unretain() { s.retained.Store(notRetaining) }

// Retained returns the bytes of strings that Retain keeps and Bytes does not count.
func (s *State) Retained() int64 { return max(0, s.retained.Load()) }

func (s *State) retain(e *catalog.Entry) {
	if n := len(Text(e)); n >= Long {
		s.retained.Add(int64(n))
	}
}
