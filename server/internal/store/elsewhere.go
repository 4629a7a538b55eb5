package store

// Parts that other nodes of a cluster hold.

import (
	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/placement"
)

// No record of the catalogue looks at contents: every node comes to the same catalogue,
// whatever it holds. What it says of a filter, its kind, its plan and its hash, every node
// has, in its contents or in the place of them.

// base returns the shard of the first part of a filter that is made next, under a name.
func (s *State) base(name []byte) int {
	if s.placed() {
		return placement.Base(string(name))
	}
	return placement.BaseOf(s.last + 1)
}

// placed reports whether names decide where contents lie: from a level of the cluster on.
func (s *State) placed() bool {
	r := s.Roster()
	return r != nil && r.Level >= LevelShards || s.Divided()
}

// Place fills in the shard of the name that the contents will have, if names decide that, so that
// o may be sent in this cluster.
func (s *State) Place(o *Stage, name []byte) *Stage {
	if o.Placed = s.placed(); o.Placed {
		o.Base = uint64(placement.Base(string(name)))
	}
	return o
}

// StageLoad returns what makes a filter to be loaded, which will have a name, like the
// encoding of one of its parts. The error is that of HashOf.
func (s *State) StageLoad(p *contents.Plan, name, part []byte) (*Stage, error) {
	o := s.Place(StageDump(catalog.Filter, contents.AppendPlan(nil, p)), name)
	if !o.Placed {
		return o, nil
	}
	header, err := codec.Peek(part)
	if err != nil {
		return nil, err
	}
	h, err := contents.HashOf(part)
	o.Header = contents.AppendLoad(nil, p, &header.Kind, h)
	return o, err
}

// Vouch makes o a record that looks at no contents, if this cluster sends such: they are
// looked at here, before it is sent, unless the sender is sure of them. The error is ErrMissing if
// they are not whole, and ErrElsewhere if they are not here.
func (s *State) Vouch(o *Reveal) error {
	if !s.placed() {
		return nil
	}
	e := s.Names.ByID(o.ID)
	if e == nil {
		return ErrMissing
	}
	if !o.Sure {
		for _, p := range contents.Parts(e) {
			if !s.Answers(p) {
				return contents.ErrElsewhere
			}
		}
		if !contents.Whole(e) {
			return ErrMissing
		}
	}
	o.Whole = true
	return nil
}

// contents makes the contents that a record asks for, and what stands in the place of those
// that other nodes hold. Both are refused for the same reasons.
func (s *State) contents(m maker, base int) ([]contents.Contents, error) {
	here := func(index int, p *contents.Plan) bool {
		return p.Replicas == contents.AllReplicas || s.keeps(placement.Shard(base, uint32(index)))
	}
	if m.kind() == catalog.Filter || here(0, &contents.Plan{}) {
		return m.contents(s, here)
	}
	var err error
	if o, ok := m.(*Make); ok {
		_, err = headers[o.As].Bytes(o.Header)
	} else {
		_, err = m.bytes()
	}
	if err != nil {
		return nil, err
	}
	return contents.InPlace(m.kind()), nil
}
