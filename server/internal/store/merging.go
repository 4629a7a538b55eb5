package store

// Merges that others compute outside of all locks.

import (
	"slices"

	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/contents"
)

// Merging is a merge of large sketches under way. It is computed in pieces while others
// use all of them, into a sketch that has no name yet; OpReveal gives it the name of the
// destination if nothing has changed meanwhile.
type Merging struct {
	target  *catalog.Entry // nil if there is no destination yet
	sources []merged
	seen    []uint64 // versions of the sources
	version uint64   // that of the target
	within  bool     // the target is one of the sources
	// Relaxed lets sources change: what is added to one meanwhile is in the sum or not.
	// Of the target that holds, too, if it is not one of them: it is replaced.
	Relaxed bool
}

// BeginMerge notes what a record of Merge works on. The
// caller is inside the gate. The error is what Apply would answer.
func (s *State) BeginMerge(r *Record) (*Merging, error) {
	name, sources := r.Body.(Merge).Parts()
	m, kind := &Merging{target: s.Names.Lookup(name, r.At)}, catalog.TDigest
	if _, ok := r.Body.(*CountMinMerge); ok {
		kind = catalog.CountMin
	}
	switch {
	case m.target == nil && kind == catalog.CountMin:
		return nil, ErrMissing
	case m.target != nil && m.target.Kind != kind:
		return nil, contents.ErrType
	case m.target != nil:
		m.version = contents.PartOf(m.target).Version()
	}
	for _, name := range sources {
		e := s.Names.Lookup(name, r.At)
		switch {
		case e == nil:
			return nil, ErrMissing
		case e.Kind != kind:
			return nil, contents.ErrType
		}
		m.sources = append(m.sources, merged{e, contents.PartOf(e)})
		m.seen = append(m.seen, contents.PartOf(e).Version())
		m.within = m.within || e == m.target
	}
	return m, nil
}

// Parts returns the sources, and the destination, nil if there is none yet.
func (m *Merging) Parts() (sources []*contents.Part, target *contents.Part) {
	for _, s := range m.sources {
		sources = append(sources, s.part)
	}
	if m.target != nil {
		target = contents.PartOf(m.target)
	}
	return sources, target
}

// Changed reports whether the merge has to begin again. It needs no lock.
func (m *Merging) Changed() bool {
	if m.target != nil && (m.within || !m.Relaxed) && contents.PartOf(m.target).Version() != m.version {
		return true
	}
	for i := range m.sources {
		if !m.Relaxed && m.sources[i].part.Version() != m.seen[i] {
			return true
		}
	}
	return false
}

// settle is asked when the sum, e, is to take the place of old: it reports false if what
// it was made of has changed. If not, all sources are locked until the sum has its name, so
// that nobody can add to one of them and miss that in the sum afterwards; old is gone.
func (m *Merging) settle(e, old *catalog.Entry, res *Result) bool {
	if old != m.target {
		return false
	}
	all := slices.Clone(m.sources)
	if old != nil {
		all = append(all, merged{old, contents.PartOf(old)})
	}
	hold(all, res)
	fits := true
	for i, s := range m.sources {
		fits = fits && (m.Relaxed || !s.part.Gone() && s.part.Changes() == m.seen[i])
	}
	if old == nil {
		return fits
	}
	target := contents.PartOf(old)
	if fits = fits && (m.Relaxed && !m.within || target.Changes() == m.version); !fits {
		return false
	}
	target.Remove()
	target.Unlock() // whoever has waited for it sees that it is gone
	res.held = slices.DeleteFunc(res.held, func(p *contents.Part) bool { return p == target })
	contents.PartOf(e).SetMade(target.Made())
	return true
}

// MergeBytes returns how many bytes a merge has to look at, about. It is 0 if a name is
// missing.
func (s *State) MergeBytes(r *Record) (sum uint64) {
	name, sources := r.Body.(Merge).Parts()
	for _, name := range append([][]byte{name}, sources...) {
		e := s.Names.Lookup(name, r.At)
		if e == nil || contents.PartOf(e) == nil {
			continue
		}
		p := contents.PartOf(e)
		p.RLock()
		sum += p.Bytes()
		p.RUnlock()
	}
	return sum
}
