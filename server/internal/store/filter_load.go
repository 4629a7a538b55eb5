package store

// Records with bytes of filters: what is loaded, united with others, or sent by a source.

import (
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/contents"
)

// FilterPiece stores bytes of an encoding, in order. The last begin to make the filter: whether they can is what Await of the
// result says, at every node the same.
type FilterPiece struct {
	Offset int64
	Of     uint64 // the length of the encoding
	Data   []byte
}

func (*FilterPiece) op() Op { return OpFilterPiece }

func (o *FilterPiece) fields(c coder, r *Record) coder {
	return c.target(r).bytes(&o.Data).varint(&o.Offset).uvarint(&o.Of)
}

func (o *FilterPiece) change(s *State, p *contents.Part, _ *Record, res *Result) (grown int64) {
	if grown, res.Opening, res.Err = s.Fill(p, o.Offset, o.Of, o.Data); res.Err == nil {
		res.Changed, res.Done = true, len(o.Data)
	}
	return grown
}

// versionOf returns the version of the last load of a filter, 0 for anything else.
func versionOf(e *catalog.Entry) uint64 {
	if p := contents.PartOf(e); p != nil {
		return p.Asked().Version
	}
	return 0
}

// FilterUnion adds the keys of a filter of the same shape, or of a piece of its array.
type FilterUnion struct {
	Offset int64 // in the array, or contents.WholeUnion
	Data   []byte
	Known  uint64 // see FilterAdd
}

func (o *FilterUnion) op() Op {
	if o.Known != 0 {
		return OpFilterUnionKnown
	}
	return OpFilterUnion
}

func (o *FilterUnion) fields(c coder, r *Record) coder {
	if c = c.target(r).bytes(&o.Data).varint(&o.Offset); o.Known != 0 {
		c = c.uvarint(&o.Known)
		c.bad = c.bad || o.Known == 0
	}
	return c
}

func (o *FilterUnion) change(s *State, p *contents.Part, _ *Record, res *Result) int64 {
	c := p.Contents().(*contents.Filter)
	if s.late(c, o.Known) {
		res.Err = ErrRebuilding
		return 0
	}
	c.Union(o.Offset, o.Data, &res.Outcome)
	return 0
}

// LevelSources is the level of a cluster from which on filters have sources. No release has that
// level yet.
const LevelSources = LevelShards

// FilterSource stores bytes of the encoding of a version of a source: see contents.Supply.TakeSource.
type FilterSource struct {
	contents.SourcePiece
	Known uint64 // see FilterAdd
}

func (*FilterSource) op() Op { return OpFilterSource }

func (o *FilterSource) fields(c coder, r *Record) coder {
	return c.target(r).bytes(&o.Source).uvarint(&o.Version).varint(&o.At).bytes(&o.Data).varint(&o.Offset).uvarint(&o.Of).uvarint(&o.Known)
}

func (o *FilterSource) change(s *State, p *contents.Part, _ *Record, res *Result) int64 {
	c := p.Contents().(*contents.Filter)
	if s.late(c, o.Known) {
		res.Err = ErrRebuilding
		return 0
	}
	return s.TakeSource(c, &o.SourcePiece, &res.Outcome)
}

// effect has the log keep that a version was dropped: the piece that was refused would be a mistake in it.
func (o *FilterSource) effect(f *Effect, r *Record, res *Result) {
	if res.Err != nil {
		o = &FilterSource{contents.SourcePiece{Source: o.Source, Version: o.Version}, o.Known}
	}
	f.put(r, o)
}
