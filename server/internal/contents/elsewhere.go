package contents

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
	"github.com/bloomery/bloomery/internal/envelope"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/wire"
)

// ErrElsewhere means that other nodes hold the contents, and this one does not.
var ErrElsewhere = errors.New("store: other nodes hold the contents")

// elsewhere stands in the place of contents that other nodes hold.
type elsewhere struct {
	of   catalog.Kind
	plan atomic.Pointer[Shared] // of a filter of package codec, nil for others
}

// newElsewhere returns what stands in the place of contents of a kind.
func newElsewhere(of catalog.Kind, plan *Shared) *elsewhere {
	c := &elsewhere{of: of}
	c.plan.Store(plan)
	return c
}

var _ Contents = (*elsewhere)(nil)

// BesideElsewhere is what takes the place of the contents of a filter of one part.
const BesideElsewhere = 32

func (c *elsewhere) Kind() catalog.Kind           { return c.of }
func (*elsewhere) Stats() bloomery.Stats          { return bloomery.Stats{} }
func (*elsewhere) Growth(int) (uint64, bool)      { return 0, true }
func (*elsewhere) Freeze() (Frozen, error)        { return nil, ErrElsewhere }
func (*elsewhere) ScanDump(int64) (int64, []byte) { return 0, nil }
func (*elsewhere) Release()                       {}

// Bytes returns the bytes of the stand-in, not those of what others hold.
func (c *elsewhere) Bytes() uint64 {
	if plan := c.plan.Load(); plan != nil && plan.Parts > 0 {
		return besidePart
	}
	return BesideElsewhere
}

// AppendHeader appends what the catalogue says of the contents.
func (c *elsewhere) AppendHeader(b []byte) []byte {
	plan := c.plan.Load()
	if plan == nil {
		return b
	}
	return AppendLoad(b, &plan.Plan, plan.Kind, plan.Hasher)
}

// Elsewhere reports whether other nodes hold the contents: then nothing can be asked of
// p, and records of it change nothing here. It needs no lock, but for parts of a filter that
// has no name yet.
func (p *Part) Elsewhere() bool { return !IsHere(p.contents) }

// IsHere reports whether contents are here.
func IsHere(c Contents) bool {
	_, far := c.(*elsewhere)
	return !far
}

// Loose returns a part that data encode: that of a filter, with what it keeps aside, of a plan, or a sketch. It is none of
// the state: whoever has it releases its contents. Errors are those of package codec.
func (s *Supply) Loose(k catalog.Kind, p *Plan, data []byte) (_ *Part, err error) {
	var v Contents
	if k == catalog.Filter {
		v, err = s.openContents(*p, data)
	} else {
		v, err = s.openSketch(k, data)
	}
	if err != nil {
		return nil, err
	}
	return NewPart(v), nil
}

// StandIn returns a part that stands in the place of p when other nodes hold its contents.
func (p *Part) StandIn() *Part {
	return &Part{contents: p.about(), version: p.version, made: p.made, shard: p.shard}
}

// about returns what stands in the place of the contents of p.
func (p *Part) about() *elsewhere {
	switch c := p.contents.(type) {
	case *elsewhere:
		return c
	case *loading:
		return newElsewhere(catalog.Filter, c.as)
	case *Draft:
		return newElsewhere(catalog.Filter, c.plan)
	}
	return newElsewhere(p.contents.Kind(), p.Shared())
}

// AppendAbout appends what a snapshot keeps of a part that other nodes hold. The caller
// holds a lock of p.
func (p *Part) AppendAbout(b []byte) []byte {
	return p.about().AppendHeader(binary.AppendUvarint(b, uint64(p.made)))
}

// Away returns the part that AppendAbout has described. The error wraps
// bloomery.ErrCorrupt or bloomery.ErrVersion.
func (s *Supply) Away(k catalog.Kind, about []byte) (*Part, error) {
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
func (s *Supply) readHash(p Plan, in *wire.Reader) (*Shared, error) {
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

// DescribesLoad reports whether the header of a filter that is loaded says of which kind it is, and how it
// hashes.
func (s *Supply) DescribesLoad(header []byte) (bool, error) {
	_, described, err := s.describedLoad(header)
	return described != nil, err
}

// describedLoad reads the header of a filter that is loaded. What AppendLoad wrote behind
// the plan is nil if there is nothing.
func (s *Supply) describedLoad(header []byte) (Plan, *Shared, error) {
	p, rest, err := CutPlan(header)
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

// Described returns the plan of a filter with its kind and its hasher as every node knows it, nil for
// contents of another kind.
func (p *Part) Described() *Shared { return p.about().plan.Load() }

// NoteNews notes how many changes of a filter that other nodes hold they keep: what is asked of it, every
// node says.
func (s *Supply) NoteNews(p *Part, news uint64) {
	c := p.contents.(*elsewhere)
	v := c.plan.Load()
	if v == nil || v.News == news || news > MaxNews {
		return
	}
	own := v.Plan
	own.News = news
	if set, err := s.share(own, *v.Kind, v.Hasher.Kind(), v.Hasher.Check()); err == nil {
		c.plan.Store(set)
	}
}

// NoteGrown notes that a filter of kind bloom that other nodes hold is scalable now.
func (s *Supply) NoteGrown(p *Part) {
	c := p.contents.(*elsewhere)
	v := c.plan.Load()
	if v == nil || v.Kind.Number != envelope.KindBloom {
		return
	}
	if grown, err := s.share(v.Plan, *rows[envelope.KindScalable], v.Hasher.Kind(), v.Hasher.Check()); err == nil {
		c.plan.Store(grown)
	}
}

// InPlace returns what stands in the place of contents of a kind other than catalog.Filter that other
// nodes hold.
func InPlace(k catalog.Kind) []Contents { return []Contents{newElsewhere(k, nil)} }
