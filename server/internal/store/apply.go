package store

import (
	"github.com/bloomery/bloomery/foreign/redisbloom"
	"github.com/bloomery/bloomery/server/internal/catalog"
)

// largeArray is from where on arrays are asked to be on huge pages.
const largeArray = 4 << 20

// Result is what Apply answers. Bools and Codes may be given with memory to use;
// Apply makes them as long as the digests of the record.
type Result struct {
	// Err is nil if the record was applied, at least in part.
	Err error
	// Changed tells whether the state is another one now. A record that
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
	// Old is the string that a record replaced; Had tells that there was one.
	Old string
	Had bool
	// Bools tells for every digest of OpAdd and OpDelete whether it was new,
	// or was there.
	Bools []bool
	// Codes tells what became of every digest of OpInsert and OpInsertNew.
	Codes []redisbloom.Result

	made *Part // locked until Release
}

// Apply changes s as r says and puts the answer into res. For a record of the
// catalogue the caller holds the catalogue's lock, for one of a part the lock
// of that part, which it may pass as p to save a lookup; p is nil otherwise.
//
// A part that Apply has made is locked: the caller calls res.Release when the
// record is in the log, so that no record of the part can get there before the
// one that made it.
func Apply(s *State, r *Record, p *Part, res *Result) {
	res.Err, res.Changed, res.Done, res.N = nil, false, 0, 0
	if !r.Op.Part() {
		s.applyNames(r, res)
		return
	}
	if p == nil {
		if p = s.part(r.ID); p == nil {
			res.Err = ErrRetry
			return
		}
	}
	if p.gone {
		res.Err = ErrRetry
		return
	}
	s.applyPart(p, r, res)
	if res.Changed {
		p.version++
	}
}

// Release unlocks the part that Apply has made, if it has made one.
func (res *Result) Release() {
	if res.made != nil {
		res.made.mu.Unlock()
		res.made = nil
	}
}

func (s *State) part(id uint64) *Part {
	e := s.Names.ByID(id)
	if e == nil {
		return nil
	}
	return PartOf(e)
}

func (s *State) applyPart(p *Part, r *Record, res *Result) {
	wantBloom := r.Op == OpAdd || r.Op == OpBloomChunk
	if wantBloom != (p.Bloom != nil) {
		res.Err = ErrType
		return
	}
	switch r.Op {
	case OpAdd:
		s.applyAdd(p, r, res)
	case OpInsert, OpInsertNew:
		s.applyInsert(p, r, res)
	case OpDelete:
		s.applyDelete(p, r, res)
	case OpCompact:
		before := p.Cuckoo.Bytes()
		p.Cuckoo.Compact()
		s.bytes.Add(int64(p.Cuckoo.Bytes()) - int64(before))
		res.Changed = true
	case OpBloomChunk:
		res.Err = p.Bloom.LoadChunk(r.Position, r.Value)
		res.Changed = res.Err == nil && len(r.Value) > 0
	case OpCuckooChunk:
		res.Err = p.Cuckoo.LoadChunk(r.Position, r.Value)
		res.Changed = res.Err == nil && len(r.Value) > 0
	default:
		res.Err = ErrType
	}
}

func (s *State) applyAdd(p *Part, r *Record, res *Result) {
	if cap(res.Bools) < len(r.Digests) {
		res.Bools = make([]bool, len(r.Digests))
	}
	res.Bools = res.Bools[:len(r.Digests)]
	layers, items := p.Bloom.Layers(), p.Bloom.Items()
	var before uint64
	if r.Room > 0 {
		before = p.Bloom.Bytes()
	}
	res.Done, res.Err = p.Bloom.AddDigests(res.Bools, r.Digests, r.Room)
	res.Changed = p.Bloom.Items() != items
	if p.Bloom.Layers() != layers {
		s.grown(p, before)
	}
}

func (s *State) applyInsert(p *Part, r *Record, res *Result) {
	c := p.Cuckoo
	if r.Limit > 0 && uint64(c.Filters()) >= r.Limit {
		res.Err = ErrExpansions
		return
	}
	if cap(res.Codes) < len(r.Hashes) {
		res.Codes = make([]redisbloom.Result, len(r.Hashes))
	}
	res.Codes = res.Codes[:len(r.Hashes)]
	before, items, filters := c.Bytes(), c.Items(), c.Filters()
	if r.Op == OpInsertNew {
		res.Err = c.InsertNXDigests(res.Codes, r.Hashes, r.Room)
	} else {
		res.Err = c.InsertDigests(res.Codes, r.Hashes, r.Room)
	}
	res.Done = len(r.Hashes)
	res.Changed = c.Items() != items
	if c.Filters() != filters {
		s.grown(p, before)
	}
}

// grown counts the memory of a filter that took before bytes until now.
func (s *State) grown(p *Part, before uint64) {
	now := p.Bytes()
	s.bytes.Add(int64(now) - int64(before))
	if now-before >= largeArray {
		p.advise()
	}
}

func (s *State) applyDelete(p *Part, r *Record, res *Result) {
	c := p.Cuckoo
	if cap(res.Bools) < len(r.Hashes) {
		res.Bools = make([]bool, len(r.Hashes))
	}
	res.Bools = res.Bools[:len(r.Hashes)]
	before, filters := c.Bytes(), c.Filters()
	for i, h := range r.Hashes {
		res.Bools[i] = c.DeleteDigest(h)
		res.Changed = res.Changed || res.Bools[i]
	}
	res.Done = len(r.Hashes)
	if c.Filters() != filters {
		s.bytes.Add(int64(c.Bytes()) - int64(before))
	}
}
