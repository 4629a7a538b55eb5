package store

// The state as one sequence of bytes, for tests and checks.

import (
	"encoding/binary"

	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/roster"
	"github.com/bloomery/bloomery/server/internal/wire"
)

// AppendSnapshot appends every entry that has a name to b, in the order of ids: id,
// kind, deadline, name and contents. Two states are equal if their snapshots are. The
// caller holds the catalogue's lock.
func (s *State) AppendSnapshot(b []byte) []byte {
	b = binary.AppendUvarint(b, s.last)
	for _, e := range s.Names.All() {
		if e.Staged() {
			continue // a recovery drops it
		}
		b = binary.AppendUvarint(b, e.ID)
		b = append(b, byte(e.Kind))
		b = binary.AppendVarint(b, e.When())
		b = wire.AppendBytes(b, e.Name())
		b = appendContents(b, e)
	}
	if r := s.Roster(); r != nil {
		b = roster.Append(b, r)
	}
	return b
}

// appendContents appends a string, or the dump of a filter: its header and then
// every chunk, each with its length in front and an empty one at the end.
func appendContents(b []byte, e *catalog.Entry) []byte {
	if contents.PartOf(e) == nil {
		return wire.AppendBytes(b, Text(e))
	}
	for _, p := range contents.Parts(e) {
		b = appendPart(b, p)
	}
	return b
}

func appendPart(b []byte, p *contents.Part) []byte {
	p.RLock()
	defer p.RUnlock()
	b = wire.AppendBytes(b, p.Contents().AppendHeader(nil))
	for iter := int64(1); iter != 0; {
		var chunk []byte
		iter, chunk = p.Contents().ScanDump(iter)
		b = wire.AppendBytes(b, chunk)
	}
	return b
}

// Last returns the last id that was given. The caller holds the catalogue's
// lock.
func (s *State) Last() uint64 { return s.last }

// SetLast sets the last id that was given. It is for recovery.
func (s *State) SetLast(id uint64) { s.last = id }

// Seeded reports whether the order of names was set by a record or a snapshot.
func (s *State) Seeded() bool { return s.seeded }

// SetSeed sets the order of names: SCAN visits them in that order, here and
// wherever the seed is the same. It is for recovery.
func (s *State) SetSeed(seed uint64) {
	s.Names.Reseed(seed)
	s.seeded = true
}

// Restore adds an entry that a snapshot holds: its parts, or a string if there are
// none. The caller holds the catalogue's lock.
func (s *State) Restore(name string, id uint64, kind catalog.Kind, deadline int64, parts []*contents.Part, text string) {
	n, value := uint64(len(text)), any(text)
	if len(parts) > 0 {
		value = contents.Value(parts)
	}
	for i, p := range parts {
		n += p.Bytes()
		p.Number(id + uint64(i))
	}
	s.bytes.Add(NewCost([]byte(name), n))
	if deadline == catalog.Staged {
		s.link(s.Names.Stage(id, kind, value))
		return
	}
	s.noteWindow(s.Names.Insert(name, id, kind, deadline, value))
}
