package store

// What a merge of sketches would change, as records.

import (
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/contents"
)

// Merged is what a merge would do: records of one part, which had a version when
// they were made.
type Merged struct {
	Entry   *catalog.Entry // the destination; nil if it is not there
	Version uint64
	Records []Record
	scratch *State
}

// Release gives the memory of the records back.
func (m *Merged) Release() {
	if m.scratch != nil {
		m.scratch.Discard()
	}
}

// Merged returns what a record of Merge would do to its
// destination now. It changes nothing: in a cluster the records are put in order, on
// condition that the version is still the same. If there is no destination, the first
// record makes it. part returns what an entry holds, or a copy of that. The error is what
// Apply would answer.
func (s *State) Merged(r *Record, part func(*catalog.Entry) *contents.Part) (*Merged, error) {
	m := &Merged{scratch: New()}
	if err := s.fillScratch(m, r, part); err != nil {
		m.Release()
		return nil, err
	}
	var res Result
	m.scratch.Names.Lock()
	Apply(m.scratch, r, nil, &res)
	name, _ := r.Body.(Merge).Parts()
	target := m.scratch.Names.Get(name)
	effects := res.effects
	res.Release()
	m.scratch.Names.Unlock()
	if res.Err != nil {
		m.Release()
		return nil, res.Err
	}
	for _, e := range effects {
		switch {
		case e.Creates() && m.Entry == nil:
		case target == nil || e.ID != target.ID || m.Entry == nil:
			continue
		default:
			e.ID = m.Entry.ID
		}
		m.Records = append(m.Records, e)
	}
	return m, nil
}

// fillScratch copies the sketches of a merge into a state of their own.
func (s *State) fillScratch(m *Merged, r *Record, part func(*catalog.Entry) *contents.Part) error {
	name, sources := r.Body.(Merge).Parts()
	for i, name := range append([][]byte{name}, sources...) {
		e := s.Names.Lookup(name, r.At)
		if e == nil || m.scratch.Names.Get(name) != nil {
			continue // Apply says what is missing
		}
		p := part(e)
		if p == nil {
			return contents.ErrType
		}
		c, version, err := m.scratch.CopySketch(p)
		switch {
		case err != nil:
			return err
		case c == nil:
			return ErrMissing
		}
		if i == 0 {
			m.Entry, m.Version = e, version
		}
		m.scratch.insertPart(name, e.Kind, contents.NewPart(c))
	}
	return nil
}
