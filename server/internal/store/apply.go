package store

// Apply: one record changes the state.

import (
	"github.com/bloomery/bloomery/internal/redisbloom"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/contents"
)

// Result is what Apply answers. Bools and Codes may be given with memory to use;
// Apply makes them as long as the digests of the record.
type Result struct {
	// Outcome is what became of the items of the record; of one without items, Err and Changed say
	// whether it was applied, at least in part, and whether the state is another one now.
	contents.Outcome
	// N is the number of names removed, the new length of a string, or the
	// new value of a number.
	N int64
	// Entry is what a record of the catalogue made.
	Entry *catalog.Entry
	// Old is the string that a record replaced; Had reports that there was one.
	Old string
	Had bool
	// Codes says what became of every hash of CuckooInsert: Refused, Inserted, or 0 if it was
	// there.
	Codes []int8
	// Counts are the counts of items after OpCountMinIncr.
	Counts []uint32
	// Expelled are the items that left a TOPK for those of OpTopKIncr, each at
	// the place of the item that took its slot; nil where none left.
	Expelled [][]byte

	// Left is closed when the memory of what OpFlush has removed is given back.
	// It is nil if there is nothing to wait for.
	Left <-chan struct{}

	// Opening is what the record has begun, nil if it has had all of its effect.
	Opening *contents.Opening

	made    []*contents.Part // locked until Release
	held    []*contents.Part // the same, of a merge
	effects []Record         // what a merge did

	ready *contents.ReadyDigest // see State.Prepare
}

// What became of an item that was inserted, as Codes has it.
const (
	Refused  = redisbloom.Refused
	Inserted = redisbloom.Inserted
)

// Apply changes s as r says and puts the answer into res. For a record of the
// catalogue the caller holds the catalogue's lock, for one of a part the lock
// of that part, which it may pass as p to save a lookup; p is nil otherwise.
//
// A part that Apply has made is locked, and so are those of a merge: the caller
// calls res.Release when the record is in the log, so that no record of the part
// can get there before the one that made it.
func Apply(s *State, r *Record, p *contents.Part, res *Result) {
	res.Err, res.Changed, res.Done, res.New, res.N, res.All, res.Failed, res.Torn = nil, false, 0, 0, 0, false, nil, false
	res.Opening = nil
	switch body := r.Body.(type) {
	case changer:
		s.applyPart(p, body, r, res)
	case namer:
		res.Entry, res.Old, res.Had, res.Left = nil, "", false, nil
		roster := s.Roster()
		body.apply(s, r, res)
		if now := s.Roster(); now != roster {
			s.follow(roster, now)
		}
	}
}

// applyPart applies a record of a part.
func (s *State) applyPart(p *contents.Part, body changer, r *Record, res *Result) {
	if p == nil {
		if p = s.part(r.ID, r.Index); p == nil {
			res.Err = contents.ErrRetry
			return
		}
	}
	if p.Gone() || p.Void() {
		res.Err = contents.ErrRetry
		return
	}
	of := operations[body.op()].of
	if d, ok := p.Contents().(*contents.Draft); ok && d.Ready() && !of(d) {
		// The swap is in the log right behind this record. Or another node has lent the part before the
		// swap, and it follows its lane.
		if res.Err = s.settle(p); res.Err != nil {
			return
		}
		if s.Roster() != nil {
			p.Raise() // as the swap does
		}
	}
	if !of(p.Contents()) && !(s.AwaitOpened(p) && of(p.Contents())) {
		res.Err = contents.ErrType
		if p.Elsewhere() {
			res.Err = contents.ErrElsewhere
			switch o := body.(type) {
			case *FilterSet:
				s.NoteNews(p, o.News)
			case *FilterGrow: // whoever sends it knows that the filter can grow
				s.NoteGrown(p)
			}
			s.Passed(p)
		}
		return
	}
	ring := s.Ring(p)
	if ring != nil {
		res.Marks = prepare(ring, body)
	}
	if grown := body.change(s, p, r, res); grown != 0 {
		s.bytes.Add(grown)
		p.Grew(grown)
	}
	if res.Changed {
		p.Raise()
		if ring != nil {
			note(ring, body, res)
			s.Changed(ring)
		}
	}
	res.Marks = nil
}

// Await waits for what a record of the catalogue would wait for under its lock: contents that are being opened or built. The
// caller holds no lock.
func (s *State) Await(r *Record) {
	switch o := r.Body.(type) {
	case *Reveal:
		if e := s.Names.ByID(o.ID); e != nil {
			_ = contents.Opened(e) // the record asks again
		}
	case *RebuildSwap:
		if e := s.Names.ByID(o.ID); e != nil {
			for _, p := range contents.Parts(e) {
				_, _, _ = s.AwaitBuilt(p, o.Attempt, nil)
			}
		}
	}
}

// Await waits for what the record has begun, and has the result say what came of it. The caller holds no lock.
func (res *Result) Await() {
	o := res.Opening
	if o == nil {
		return
	}
	res.Opening = nil
	if res.Err = o.Wait(); res.Err != nil {
		res.Changed, res.Done = false, 0
	}
}

// Release unlocks the part that Apply has made, if it has made one.
func (res *Result) Release() {
	for _, p := range res.made {
		p.Unlock()
	}
	res.made = res.made[:0]
	res.unhold()
	res.effects = nil
}

// unhold unlocks the parts of a merge.
func (res *Result) unhold() {
	for _, p := range res.held {
		p.Unlock()
	}
	res.held = nil
}

func (s *State) part(id uint64, index uint32) *contents.Part {
	e := s.Names.ByID(id)
	if e == nil {
		return nil
	}
	return contents.PartAt(e, index)
}
