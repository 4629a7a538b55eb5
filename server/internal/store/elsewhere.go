package store

// Parts that other nodes of a cluster hold.

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"sync/atomic"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/placement"
	"github.com/bloomery/bloomery/server/internal/wire"
)

// No record of the catalogue looks at contents: every node comes to the same catalogue,
// whatever it holds. What it says of a filter, its kind, its plan and its hash, every node
// has, in its contents or in the place of them.

// ErrElsewhere means that other nodes hold the contents, and this one does not.
var ErrElsewhere = errors.New("store: other nodes hold the contents")

// elsewhere stands in the place of contents that other nodes hold.
type elsewhere struct {
	of   catalog.Kind
	plan atomic.Pointer[shared] // of a filter of package codec, nil for others
}

// newElsewhere returns what stands in the place of contents of a kind.
func newElsewhere(of catalog.Kind, plan *shared) *elsewhere {
	c := &elsewhere{of: of}
	c.plan.Store(plan)
	return c
}

var _ Contents = (*elsewhere)(nil)

// besideElsewhere is what takes the place of the contents of a filter of one part.
const besideElsewhere = 32

func (c *elsewhere) Kind() catalog.Kind           { return c.of }
func (*elsewhere) Stats() bloomery.Stats          { return bloomery.Stats{} }
func (*elsewhere) Growth(int) (uint64, bool)      { return 0, true }
func (*elsewhere) Freeze() (Frozen, error)        { return nil, ErrElsewhere }
func (*elsewhere) ScanDump(int64) (int64, []byte) { return 0, nil }
func (*elsewhere) Release()                       {}

// Bytes returns what stands here takes, not what others hold.
func (c *elsewhere) Bytes() uint64 {
	if plan := c.plan.Load(); plan != nil && plan.Parts > 0 {
		return besidePart
	}
	return besideElsewhere
}

// AppendHeader appends what the catalogue says of the contents.
func (c *elsewhere) AppendHeader(b []byte) []byte {
	plan := c.plan.Load()
	if plan == nil {
		return b
	}
	return AppendLoad(b, &plan.Plan, plan.kind, plan.hasher)
}

// Elsewhere reports whether other nodes hold the contents: then nothing can be asked of
// p, and records of it change nothing here. It needs no lock, but for parts of a filter that
// has no name yet.
func (p *Part) Elsewhere() bool { return !isHere(p.contents) }

// isHere reports whether contents are here.
func isHere(c Contents) bool {
	_, far := c.(*elsewhere)
	return !far
}

// Shard returns the shard that the part lies in. It needs no lock.
func (p *Part) Shard() int { return int(p.shard) }

// SetShard sets what Shard returns. It is for recovery: nobody else has p.
func (p *Part) SetShard(shard int) { p.shard = uint16(shard) }

// lying is where the parts of a filter lie that is being made.
type lying struct {
	state *State
	base  int // the shard of the first
}

// here reports whether this node is to have a part.
func (l lying) here(index int, p *Plan) bool {
	return p.Replicas == AllReplicas || l.state.keeps(placement.Shard(l.base, uint32(index)))
}

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

// Place makes o one that may be sent in this cluster: with the shard of the name that the
// contents will have, if names decide that.
func (s *State) Place(o *Stage, name []byte) *Stage {
	if o.Placed = s.placed(); o.Placed {
		o.Base = uint64(placement.Base(string(name)))
	}
	return o
}

// StageLoad returns what makes a filter to be loaded, which will have a name, like the
// encoding of one of its parts. The error is that of HashOf.
func (s *State) StageLoad(p *Plan, name, part []byte) (*Stage, error) {
	o := s.Place(StageDump(catalog.Filter, AppendPlan(nil, p)), name)
	if !o.Placed {
		return o, nil
	}
	header, err := codec.Peek(part)
	if err != nil {
		return nil, err
	}
	h, err := HashOf(part)
	o.Header = AppendLoad(nil, p, &header.Kind, h)
	return o, err
}

// Vouch makes o a record that looks at no contents, if this cluster sends such: they are
// looked at here, before it is sent. The error is ErrMissing if they are not whole, and
// ErrElsewhere if they are not here and the sender is not sure of them.
func (s *State) Vouch(o *Reveal) error {
	if !s.placed() {
		return nil
	}
	e := s.Names.ByID(o.ID)
	if e == nil {
		return ErrMissing
	}
	for _, p := range Parts(e) {
		if !s.Answers(p) && !o.Sure {
			return ErrElsewhere
		}
	}
	if !loadedWhole(e) {
		return ErrMissing
	}
	o.Whole = true
	return nil
}

// Loose returns a part that data encode, with what it keeps aside, of a plan. It is none of the state: whoever has it
// releases its contents. Errors are those of package codec.
func (s *State) Loose(p *Plan, data []byte) (*Part, error) {
	c, err := s.openContents(*p, data)
	if err != nil {
		return nil, err
	}
	return NewPart(c), nil
}

// contents makes the contents that a record asks for, and what stands in the place of those
// that other nodes hold. Both are refused for the same reasons.
func (s *State) contents(m maker, base int) ([]Contents, error) {
	l := lying{s, base}
	if m.kind() == catalog.Filter || l.here(0, &Plan{}) {
		return m.contents(s, l)
	}
	var err error
	if o, ok := m.(*Make); ok {
		_, err = sources[o.As].bytes(o.Header)
	} else {
		_, err = m.bytes()
	}
	if err != nil {
		return nil, err
	}
	return []Contents{newElsewhere(m.kind(), nil)}, nil
}

// away returns a part that stands in the place of p when other nodes hold its contents.
func (p *Part) away() *Part {
	return &Part{contents: p.about(), version: p.version, made: p.made, shard: p.shard}
}

// about returns what stands in the place of the contents of p.
func (p *Part) about() *elsewhere {
	switch c := p.contents.(type) {
	case *elsewhere:
		return c
	case *loading:
		return newElsewhere(catalog.Filter, c.as)
	case *draft:
		return newElsewhere(catalog.Filter, c.plan)
	}
	return newElsewhere(p.contents.Kind(), p.sharedPlan())
}

// AppendAbout appends what a snapshot keeps of a part that other nodes hold. The caller
// holds a lock of p.
func (p *Part) AppendAbout(b []byte) []byte {
	return p.about().AppendHeader(binary.AppendUvarint(b, uint64(p.made)))
}

// Away returns the part that AppendAbout has described. The error wraps
// bloomery.ErrCorrupt or bloomery.ErrVersion.
func (s *State) Away(k catalog.Kind, about []byte) (*Part, error) {
	d := wire.Reader{Rest: about}
	made := d.Uvarint()
	p := &Part{made: uint32(made)}
	if d.Bad || made > math.MaxUint32 {
		return nil, corrupt("part of another node")
	}
	if k != catalog.Filter && k != catalog.FilterPart {
		if len(d.Rest) > 0 || kinds[k].load == nil {
			return nil, corrupt("part of another node")
		}
		p.contents = newElsewhere(k, nil)
		return p, nil
	}
	plan, described, err := s.describedLoad(d.Rest)
	if err != nil {
		return nil, err
	}
	if described == nil {
		return nil, corrupt("part of another node")
	}
	p.contents, p.wide = newElsewhere(catalog.Filter, described), plan.Replicas == AllReplicas
	return p, nil
}

// AppendLoad appends the header of a record that stages a filter to be loaded, for clusters
// whose nodes may hold none of it: its plan, its kind and how it hashes.
func AppendLoad(b []byte, p *Plan, kind *codec.Kind, h hashing.Hasher) []byte {
	return appendHash(AppendPlan(b, p), kind, h)
}

// appendHash appends a kind and how filters of it hash.
func appendHash(b []byte, kind *codec.Kind, h hashing.Hasher) []byte {
	b = binary.AppendUvarint(b, uint64(kind.Number))
	b = append(b, byte(h.Kind()))
	return binary.LittleEndian.AppendUint64(b, h.Check())
}

// readHash reads what appendHash wrote, behind a plan. The error wraps bloomery.ErrCorrupt
// or bloomery.ErrVersion.
func (s *State) readHash(p Plan, in *wire.Reader) (*shared, error) {
	number, kind, check := in.Uvarint(), hashing.Kind(in.Byte()), in.Uint64()
	if in.Bad || number > math.MaxUint16 {
		return nil, corrupt("kind of a filter")
	}
	row := rows[uint16(number)]
	if row == nil {
		return nil, fmt.Errorf("store: open: %w: kind %d: a later release is needed", bloomery.ErrVersion, number)
	}
	return s.share(p, *row, kind, check)
}

// describedLoad reads the header of a filter that is loaded. What AppendLoad wrote behind
// the plan is nil if there is nothing.
func (s *State) describedLoad(header []byte) (Plan, *shared, error) {
	p, rest, err := parsePlan(header)
	if err != nil || len(rest) == 0 {
		return p, nil, err
	}
	in := wire.Reader{Rest: rest}
	v, err := s.readHash(p, &in)
	if err == nil && len(in.Rest) > 0 {
		err = corrupt("bytes behind a filter that is loaded")
	}
	return p, v, err
}
