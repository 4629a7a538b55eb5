package store

// Adding to a filter and its shadow.

import (
	"slices"

	"github.com/bloomery/bloomery/internal/redisbloom"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/shadow"
)

// ShadowGrowth returns the most bytes that hashes can make the shadow of a record grow
// by. The caller holds the lock of the part that the record is for.
func (s *State) ShadowGrowth(r *Record) uint64 {
	sh := s.ShadowOf(r.ID)
	o, ok := r.Body.(*FilterAdd)
	if sh == nil || !ok || o.Shadow == 0 || len(o.Second) == 0 {
		return 0
	}
	sum := uint64(0)
	for _, v := range sh.Portions(o.Second) {
		p := contents.PartAt(sh.Entry(), v.Index)
		p.RLock()
		if !p.Gone() && !p.Void() {
			most, _ := p.Contents().Growth(len(v.Hashes))
			sum += most
		}
		p.RUnlock()
	}
	return sum
}

// mirror gives the shadow of a filter what a record has added to the filter. Parts of the
// shadow stay locked until res.Release. A shadow that cannot take it is broken: that is
// no error of the record.
func (s *State) mirror(o *FilterAdd, r *Record, res *Result) {
	sh := s.ShadowOf(r.ID)
	if sh == nil || sh.ID != o.Shadow || res.Done == 0 {
		return
	}
	added := res.Added(o.Second)
	if len(added) == 0 {
		return
	}
	room := o.SecondRoom
	for _, v := range sh.Portions(added) {
		grown, err := s.toShadow(sh, v.Index, &ShadowAdd{Hashes: v.Hashes, Room: room}, res)
		room -= min(room, uint64(max(0, grown)))
		if err != nil {
			_, _ = s.toShadow(sh, v.Index, &ShadowBreak{}, res)
			return
		}
	}
}

// missed counts what a record has deleted from a filter and its shadow still has.
func (s *State) missed(o *FilterDelete, r *Record, res *Result) {
	sh := s.ShadowOf(r.ID)
	if sh == nil || sh.ID != o.Shadow {
		return
	}
	n := uint64(0)
	for _, was := range res.Bools[:res.Done] {
		if was {
			n++
		}
	}
	if n > 0 {
		_, _ = s.toShadow(sh, r.Index&(1<<sh.Plan().Parts-1), &ShadowMissed{n}, res)
	}
}

// toShadow applies a record to a part of a shadow, and notes it for the log.
func (s *State) toShadow(sh *shadow.Shadow, index uint32, body drafted, res *Result) (grown int64, err error) {
	p := contents.PartAt(sh.Entry(), index)
	if !slices.Contains(res.held, p) {
		p.Lock()
		res.held = append(res.held, p)
	}
	d, ok := p.Contents().(*contents.Draft)
	if !ok || p.Gone() {
		return 0, nil // it was given up
	}
	var own Result
	if grown = body.draw(d, &own); grown != 0 {
		s.bytes.Add(grown)
		p.Grew(grown)
	}
	if d.Broken() {
		sh.SetBroken(true)
	}
	if !own.Changed {
		return grown, own.Err
	}
	p.Raise()
	if o, ok := body.(*ShadowAdd); ok {
		o.Hashes, o.Room = own.Took(o.Hashes), Unlimited
	}
	res.effects = append(res.effects, Record{ID: sh.ID, Index: index, Body: body})
	return grown, own.Err
}

// drafted is the body of a record of a part of a shadow.
type drafted interface {
	changer
	// draw changes the draft and returns by how many bytes it has grown.
	draw(d *contents.Draft, res *Result) (grown int64)
}

// changeDraft is change of all of them.
func (s *State) changeDraft(p *contents.Part, o drafted, r *Record, res *Result) (grown int64) {
	d := p.Contents().(*contents.Draft)
	grown = o.draw(d, res)
	if sh := s.ShadowByID(r.ID); sh != nil && d.Broken() {
		sh.SetBroken(true)
	}
	return grown
}

// ShadowAdd adds or inserts hashes that were fed to a shadow, or added to its filter.
type ShadowAdd struct {
	Fed    bool
	Hashes []uint64
	Room   uint64 // bytes that the shadow may grow by
	Shared bool   // in a cluster
	Ended  uint64 // there, the last attempt that was known to have ended

	swapped bool // it was swapped in before; not encoded
}

func (o *ShadowAdd) op() Op {
	switch {
	case o.Fed && o.Shared:
		return OpRebuildFeed
	case o.Fed:
		return OpShadowFeed
	case o.Shared:
		return OpRebuildAdd
	}
	return OpShadowAdd
}

func (o *ShadowAdd) fields(c coder, r *Record) coder {
	if c = c.target(r).room(&o.Room).hashes(&o.Hashes); o.Shared {
		c = c.uvarint(&o.Ended)
	}
	return c
}

// Len implements Items.
func (o *ShadowAdd) Len() int { return len(o.Hashes) }

// Give implements Items.
func (o *ShadowAdd) Give(room uint64) { o.Room = room }

// Hold implements Items.
func (o *ShadowAdd) Hold(_ []redisbloom.Digest, hashes []uint64) { o.Hashes = hashes }

func (o *ShadowAdd) change(s *State, p *contents.Part, r *Record, res *Result) (grown int64) {
	if o.Shared && p.Sealed(o.Ended) {
		res.Err = ErrSealed
		return 0
	}
	var c *contents.Filter
	if c, o.swapped = p.Contents().(*contents.Filter); !o.swapped {
		return s.changeDraft(p, o, r, res)
	}
	if grown = c.Put(o.Hashes, o.Room, &res.Outcome); o.Fed {
		res.All, res.Changed = true, res.Done > 0
	}
	return grown
}

func (o *ShadowAdd) draw(d *contents.Draft, res *Result) (grown int64) {
	if o.Fed {
		return d.Feed(o.Hashes, o.Room, &res.Outcome)
	}
	return d.Mirror(o.Hashes, o.Room, &res.Outcome)
}

// effect is that of a single server. It gathers hashes that were fed.
func (o *ShadowAdd) effect(f *Effect, r *Record, res *Result) {
	switch {
	case o.swapped:
		(&FilterAdd{Hashes: o.Hashes}).effect(f, r, res)
	case o.Fed:
		open := &f.scratch.ShadowAdd
		f.gathers(r, open)
		open.Fed, open.Room, open.Hashes = true, Unlimited, f.kept(o.Hashes, res)
	default:
		f.put(r, &ShadowAdd{Hashes: res.Took(o.Hashes), Room: Unlimited})
	}
}

// ShadowBreak marks a shadow as one that lacks items.
type ShadowBreak struct{}

func (*ShadowBreak) op() Op                          { return OpShadowBreak }
func (*ShadowBreak) fields(c coder, r *Record) coder { return c.target(r) }
func (o *ShadowBreak) change(s *State, p *contents.Part, r *Record, res *Result) int64 {
	return s.changeDraft(p, o, r, res)
}

func (*ShadowBreak) draw(d *contents.Draft, res *Result) int64 {
	res.Changed = d.Break()
	return 0
}

// ShadowMissed counts items that were deleted from the filter of a shadow alone.
type ShadowMissed struct{ Items uint64 }

func (*ShadowMissed) op() Op                            { return OpShadowMissed }
func (o *ShadowMissed) fields(c coder, r *Record) coder { return c.target(r).signed(&o.Items) }
func (o *ShadowMissed) change(s *State, p *contents.Part, r *Record, res *Result) int64 {
	if contents.Is[*contents.Filter](p.Contents()) {
		res.Changed = true // it was swapped in, at another place of the lane at every node
		return 0
	}
	return s.changeDraft(p, o, r, res)
}

func (o *ShadowMissed) draw(d *contents.Draft, res *Result) int64 {
	d.Miss(o.Items)
	res.Changed = true
	return 0
}
