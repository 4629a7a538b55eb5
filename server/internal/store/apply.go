package store

// Apply: one record changes the state.

import (
	"github.com/bloomery/bloomery/internal/redisbloom"
	"github.com/bloomery/bloomery/server/internal/catalog"
)

// Result is what Apply answers. Bools and Codes may be given with memory to use;
// Apply makes them as long as the digests of the record.
type Result struct {
	// Err is nil if the record was applied, at least in part.
	Err error
	// Changed reports whether the state is another one now. A record that
	// changed nothing need not be kept.
	Changed bool
	// Done is how many digests were looked at; fewer than all if Err is that
	// of the next one.
	Done int
	// N is the number of names removed, the new length of a string, or the
	// new value of a number.
	N int64
	// Entry is what a record of the catalogue made.
	Entry *catalog.Entry
	// Old is the string that a record replaced; Had reports that there was one.
	Old string
	Had bool
	// Bools reports for every digest of OpAdd and OpDelete whether it was new,
	// or was there.
	Bools []bool
	// All means that every digest up to Done has to be kept, whatever Bools
	// says: inserts, and adds that renew what is there.
	All bool
	// Failed reports for every hash of OpFilterAdd whether there was no room for
	// it; Err then is the error of the first. It is nil if all had room.
	Failed []bool
	// torn means that a hash without room has changed the filter all the same: it
	// is logged, and leaves the same when it is replayed.
	torn bool
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

	made    []*Part  // locked until Release
	held    []*Part  // the same, of a merge
	effects []Record // what a merge did
	marks   []uint8  // which bits of the hashes of OpFilterAdd were new, if that is noted
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
func Apply(s *State, r *Record, p *Part, res *Result) {
	res.Err, res.Changed, res.Done, res.N, res.All, res.Failed, res.torn = nil, false, 0, 0, false, nil, false
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
func (s *State) applyPart(p *Part, body changer, r *Record, res *Result) {
	if p == nil {
		if p = s.part(r.ID, r.Index); p == nil {
			res.Err = ErrRetry
			return
		}
	}
	if p.Gone() || p.contents == nil {
		res.Err = ErrRetry
		return
	}
	of := operations[body.op()].of
	if d, ok := p.contents.(*draft); ok && (d.inner != nil || d.sealed != 0) && !of(d) {
		if res.Err = s.settleDraft(p, d); res.Err != nil {
			return
		}
		if s.Roster() != nil {
			p.version++ // as the swap does
		}
	}
	if !of(p.contents) {
		res.Err = ErrType
		if far, ok := p.contents.(*elsewhere); ok {
			res.Err = ErrElsewhere
			if o, ok := body.(*FilterSet); ok {
				o.pass(s, far)
			}
			s.passed(p)
		}
		return
	}
	ring := s.ring(p)
	if ring != nil {
		res.marks = ring.prepare(body)
	}
	if grown := body.change(s, p, r, res); grown != 0 {
		s.bytes.Add(grown)
		p.measure()
	}
	if res.Changed {
		p.version++
		if ring != nil {
			ring.after(s, body, res)
		}
	}
	res.marks = nil
}

// Fails reports whether the hash at i of a record with an error is one that the
// error is for.
func (res *Result) Fails(i int) bool { return i >= res.Done || res.Failed != nil && res.Failed[i] }

// kept reports whether the hash at i, which was looked at, has to be kept.
func (res *Result) kept(i int) bool {
	return (res.All || res.Bools[i]) && (res.Failed == nil || !res.Failed[i] || res.torn)
}

// Release unlocks the part that Apply has made, if it has made one.
func (res *Result) Release() {
	for _, p := range res.made {
		p.mu.Unlock()
	}
	res.made = res.made[:0]
	res.unhold()
	res.effects = nil
}

// unhold unlocks the parts of a merge.
func (res *Result) unhold() {
	for _, p := range res.held {
		p.mu.Unlock()
	}
	res.held = nil
}

func (s *State) part(id uint64, index uint32) *Part {
	e := s.Names.ByID(id)
	if e == nil {
		return nil
	}
	return PartAt(e, index)
}
