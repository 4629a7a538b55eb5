package store

// Records of filters of package codec.

import (
	"math"

	"github.com/bloomery/bloomery/internal/redisbloom"
	"github.com/bloomery/bloomery/server/internal/contents"
)

// FilterAdd adds hashes, or inserts them where that is what the kind does.
type FilterAdd struct {
	Hashes []uint64
	Room   uint64 // bytes that the filter may grow by

	// Second are the hashes for Shadow, the shadow that the filter had when the record
	// was prepared, which may grow by SecondRoom bytes. The log gets what they did, so
	// they are not encoded.
	Second     []uint64
	Shadow     uint64
	SecondRoom uint64

	// Known is the last rebuild of the filter that the node of a cluster knew which has
	// prepared the record, 0 for none: see State.Known.
	Known uint64
}

// unread is Known of a record that is about to be read.
const unread = math.MaxUint64

func (o *FilterAdd) op() Op {
	if o.Known != 0 {
		return OpFilterAddKnown
	}
	return OpFilterAdd
}

func (o *FilterAdd) fields(c coder, r *Record) coder {
	if c = c.target(r).room(&o.Room).hashes(&o.Hashes); o.Known != 0 {
		c = c.uvarint(&o.Known)
		c.bad = c.bad || o.Known == 0
	}
	return c
}

func (o *FilterAdd) append(b []byte, r *Record) []byte {
	b = appendHashes(appendRoom(b, r, o.Room), o.Hashes)
	if o.Known != 0 {
		b = appendUvarint(b, o.Known)
	}
	return b
}

// Len implements Items.
func (o *FilterAdd) Len() int { return len(o.Hashes) }

// Give implements Items.
func (o *FilterAdd) Give(room uint64) { o.Room = room }

// Hold implements Items.
func (o *FilterAdd) Hold(_ []redisbloom.Digest, hashes []uint64) { o.Hashes = hashes }

func (o *FilterAdd) change(s *State, p *contents.Part, r *Record, res *Result) (grown int64) {
	c := p.Contents().(*contents.Filter)
	if s.late(c, o.Known) {
		res.Err = contents.ErrRetry
		return 0
	}
	if grown = c.Add(o.Hashes, o.Room, &res.Outcome); res.All {
		p.Measure() // inserts may have made it slower
	}
	if o.Shadow != 0 {
		s.mirror(o, r, res)
	}
	return grown
}

// effect gathers the hashes that have to be kept.
func (o *FilterAdd) effect(f *Effect, r *Record, res *Result) {
	open := &f.scratch.FilterAdd
	if !f.gathers(r, open) {
		open.Room = Unlimited
	}
	open.Hashes = f.kept(o.Hashes, res)
	if len(res.effects) > 0 { // those of the shadow
		f.puts(res.effects)
	}
}

// FilterDelete deletes hashes.
type FilterDelete struct {
	Hashes []uint64

	Shadow uint64 // the shadow of the filter, which misses them; not encoded
}

func (*FilterDelete) op() Op                            { return OpFilterDelete }
func (o *FilterDelete) fields(c coder, r *Record) coder { return c.target(r).hashes(&o.Hashes) }

func (o *FilterDelete) append(b []byte, r *Record) []byte {
	return appendHashes(appendTarget(b, r), o.Hashes)
}

// Len implements Items.
func (o *FilterDelete) Len() int { return len(o.Hashes) }

// Give implements Items.
func (o *FilterDelete) Give(uint64) {}

// Hold implements Items.
func (o *FilterDelete) Hold(_ []redisbloom.Digest, hashes []uint64) { o.Hashes = hashes }

func (o *FilterDelete) change(s *State, p *contents.Part, r *Record, res *Result) (grown int64) {
	c := p.Contents().(*contents.Filter)
	if grown = c.Delete(o.Hashes, &res.Outcome); o.Shadow != 0 && res.Err == nil {
		s.missed(o, r, res)
	}
	return grown
}

// effect gathers the hashes that were there.
func (o *FilterDelete) effect(f *Effect, r *Record, res *Result) {
	open := &f.scratch.FilterDelete
	f.gathers(r, open)
	open.Hashes = f.kept(o.Hashes, res)
	if len(res.effects) > 0 { // that of the shadow
		f.puts(res.effects)
	}
}

// FilterAdvance makes a generation of a window the present one. One that is not later
// changes nothing.
type FilterAdvance struct{ Generation uint64 }

func (*FilterAdvance) op() Op                            { return OpFilterAdvance }
func (o *FilterAdvance) fields(c coder, r *Record) coder { return c.target(r).signed(&o.Generation) }

func (o *FilterAdvance) change(_ *State, p *contents.Part, _ *Record, res *Result) int64 {
	res.Changed = contents.Advance(p.Contents(), o.Generation)
	return 0
}

// FilterClear replaces the filter by an empty one that an outline describes.
type FilterClear struct{ Outline []byte }

func (*FilterClear) op() Op                            { return OpFilterClear }
func (o *FilterClear) fields(c coder, r *Record) coder { return c.target(r).bytes(&o.Outline) }

func (o *FilterClear) change(s *State, p *contents.Part, r *Record, res *Result) (grown int64) {
	c := p.Contents().(*contents.Filter)
	if grown, res.Err = s.Clear(c, o.Outline); res.Err != nil {
		return 0
	}
	res.Changed = true
	p.Renewed()
	if f := s.emptied.Load(); f != nil {
		(*f)(r.ID)
	}
	return grown
}
