package store

// Records of the catalogue: names and deadlines.

import (
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/order"
)

// applyNames applies a record of the catalogue. Entries past their deadline at
// the time of the record count as absent and are removed when met.
func (s *State) applyNames(r *Record, res *Result) {
	res.Entry, res.Old, res.Had, res.Left = nil, "", false, nil
	switch r.Op {
	case OpBloom, OpCuckoo, OpBloomDump, OpCuckooDump, OpCountMin, OpTopK, OpTDigest, OpFilter:
		s.create(r, res)
	case OpCountMinMerge:
		s.mergeCountMins(r, res)
	case OpTDigestMerge:
		s.mergeTDigests(r, res)
	case OpStage:
		s.stage(r, res)
	case OpReveal:
		s.reveal(r, res)
	case OpExpect:
		s.expect(r, res)
	case OpShadow:
		s.openShadow(r, res)
	case OpShadowSeal:
		s.seal(r, res)
	case OpShadowSwap:
		s.swap(r, res)
	case OpRemove:
		for _, name := range r.Names {
			if e := s.live(name, r.At, res); e != nil {
				s.drop(e)
				res.N++
				res.Changed = true
			}
		}
	case OpRename:
		s.rename(r, res)
	case OpExpire:
		s.expire(r, res)
	case OpPersist:
		e := s.live(r.Name, r.At, res)
		switch {
		case e == nil:
			res.Err = ErrMissing
		case e.When() == 0:
			res.Err = ErrCondition
		default:
			s.Names.SetDeadline(e, 0)
			res.Changed = true
		}
	case OpEvict:
		for _, id := range r.IDs {
			if e := s.Names.ByID(id); e != nil && e.Expired(r.At) {
				s.drop(e)
				res.N++
				res.Changed = true
			}
		}
	case OpFlush:
		s.flush(res)
	case OpSet, OpAppend, OpSetRange, OpIncrement:
		s.applyString(r, res)
	case OpSetMany:
		s.setMany(r, res)
	case OpTake:
		if e := s.liveString(r, res); e != nil {
			s.drop(e)
			res.Changed = true
		}
	case OpTouch:
		s.touch(r, res)
	case OpPiece:
		if len(s.pieces)+len(r.Value) > MaxString {
			res.Err = ErrLength
			return
		}
		s.pieces = append(s.pieces, r.Value...)
		res.Changed = true
	case OpSeed:
		s.SetSeed(uint64(r.Position))
		res.Changed = true
	case OpBegin, OpCommit, OpRollback:
		res.Changed = true
	case OpBirth, OpJoin, OpLeave, OpSession, OpLevel, OpFound:
		s.applyRoster(r, res)
	default:
		res.Err = ErrType
	}
}

// expect asks whether a name stands for what it stood for. It changes nothing.
func (s *State) expect(r *Record, res *Result) {
	var id uint64
	var deadline int64
	if e := s.Names.Get(r.Name); e != nil && !e.Expired(r.At) {
		id, deadline = e.ID, e.When()
	}
	if id != r.ID || deadline != r.Deadline {
		res.Err = ErrCondition
	}
}

// live returns the entry of a name, nil if it is absent or past its deadline.
func (s *State) live(name []byte, at int64, res *Result) *catalog.Entry {
	e := s.Names.Get(name)
	if e != nil && e.Expired(at) {
		s.drop(e)
		res.Changed = true
		return nil
	}
	return e
}

// drop removes an entry and returns its part.
func (s *State) drop(e *catalog.Entry) {
	if e.Staged() {
		s.forgetStaged(e.ID)
	}
	s.Names.Remove(e)
	s.bytes.Add(-s.leave(e))
	s.endShadow(e.ID)
}

// leave marks the parts of an entry as gone and returns what the entry took.
func (s *State) leave(e *catalog.Entry) int64 {
	n := int64(entryBytes + len(e.Name()) + len(Text(e)))
	if PartOf(e) == nil {
		s.retain(e)
	}
	for _, p := range Parts(e) {
		n += int64(p.leave())
	}
	return n
}

// flush removes all names. What they took counts as free at once; it is given back
// outside all locks, which no other client has to wait for.
func (s *State) flush(res *Result) {
	res.Changed = s.dropShadows()
	res.N = int64(s.Names.Len())
	if res.N == 0 {
		return
	}
	res.Changed = true
	sum := s.bytes.Load()
	for _, e := range s.Names.Unnamed() {
		sum -= Cost("", e)
	}
	s.bytes.Add(-sum)
	gone, left := s.Names.Clear(), make(chan struct{})
	res.Left = left
	go func() {
		for _, e := range gone {
			sum -= s.leave(e)
		}
		s.bytes.Add(sum) // what grew meanwhile
		close(left)
	}()
}

func (s *State) create(r *Record, res *Result) {
	if e := s.Names.Get(r.Name); e != nil && !e.Expired(r.At) {
		res.Err = ErrExists
		return
	}
	if kind, value := s.newValue(r, res); value != nil {
		s.live(r.Name, r.At, res) // drops what has expired
		id := s.take(res.made)
		res.Entry = s.Names.Insert(string(r.Name), id, kind, 0, value)
		s.noteWindow(res.Entry)
	}
}

// take gives ids to new parts, one each, and returns the first: that of their
// filter.
func (s *State) take(made []*Part) uint64 {
	id := s.last + 1
	for _, p := range made {
		s.last++
		order.Number(&p.mu, s.last)
	}
	return id
}

// newValue makes the parts that a record asks for, locked, and counts their bytes.
// It returns the value of an entry, nil if that cannot be.
func (s *State) newValue(r *Record, res *Result) (catalog.Kind, any) {
	creator := creatorOf(r)
	var contents []Contents
	var err error
	switch {
	case creator.make != nil:
		var c Contents
		c, err = creator.make(r, s.memory)
		contents = []Contents{c}
	case creator.many != nil:
		contents, err = creator.many(s, r)
	default:
		err = ErrType
	}
	if err != nil { // the system may have no memory: then nothing has changed
		res.Err = err
		return 0, nil
	}
	sum := NewCost(r.Name, 0)
	res.made = res.made[:0]
	for _, c := range contents {
		p := NewPart(c)
		p.made = uint32(r.At / 1000)
		sum += int64(p.Bytes())
		p.mu.TryLock() // nobody else has it: whatever is locked, this waits for nothing
		res.made = append(res.made, p)
	}
	s.bytes.Add(sum)
	res.Changed = true
	return creator.kind, valueOf(res.made)
}

// stage makes a filter that nobody can see yet.
func (s *State) stage(r *Record, res *Result) {
	if kind, value := s.newValue(r, res); value != nil {
		res.Entry = s.Names.Stage(s.take(res.made), kind, value)
		s.noteStaged(res.Entry.ID, r.Origin.Session)
	}
}

// reveal gives a staged filter its name.
func (s *State) reveal(r *Record, res *Result) {
	e := s.Names.ByID(r.ID)
	if e == nil || !e.Staged() {
		res.Err = ErrMissing
		return
	}
	old := s.live(r.Name, r.At, res)
	switch {
	case !loadedWhole(e):
		res.Err = ErrMissing
		return
	case old != nil && r.Flags&IfAbsent != 0:
		res.Err = ErrExists
		return
	case old != nil && s.ShadowOf(old.ID) != nil:
		res.Err = ErrRebuilding
		return
	case old != nil && r.Flags&IfFilter != 0 && old.Kind != catalog.Filter:
		res.Err = ErrType
		return
	case old != nil && r.Flags&IfNewer != 0 && versionOf(old) >= versionOf(e):
		res.Err = ErrCondition
		return
	case r.Merging != nil && !r.Merging.settle(e, old, res):
		res.Err = ErrCondition
		return
	}
	deadline := r.Deadline
	if old != nil && r.Flags&KeepTTL != 0 {
		deadline = old.When()
	}
	s.bytes.Add(int64(len(r.Name)))
	res.Entry = s.Names.Reveal(e, old, string(r.Name), deadline)
	res.unhold()
	s.forgetStaged(e.ID)
	s.replaced(old)
	s.noteWindow(res.Entry)
	res.Changed = true
}

// DropStaged removes the filters that never got a name: recovery is done with
// them. The caller holds the catalogue's lock.
func (s *State) DropStaged() {
	for _, e := range s.Names.Unnamed() {
		if sh := s.shadowAt(e.ID); sh != nil && (sh.Main == 0 || s.Names.ByID(sh.Main) != nil) {
			sh.sealed.Store(0) // a commit that had begun is given up
			continue
		}
		s.drop(e)
	}
}

// replaced counts what an entry took in whose place another one stands now. It
// may be nil.
func (s *State) replaced(e *catalog.Entry) {
	if e != nil {
		s.bytes.Add(-s.leave(e))
		s.endShadow(e.ID)
	}
}

// putString stores a string under the next id, in the place of old, which may be
// nil.
func (s *State) putString(old *catalog.Entry, name []byte, deadline int64, text string) *catalog.Entry {
	s.last++
	s.bytes.Add(NewCost(name, uint64(len(text))))
	e := s.Names.Replace(old, string(name), s.last, catalog.String, deadline, text)
	s.replaced(old)
	return e
}

// insertPart adds the entry of a part under the next id. The caller has counted
// its bytes.
func (s *State) insertPart(name []byte, kind catalog.Kind, p *Part) *catalog.Entry {
	s.last++
	order.Number(&p.mu, s.last)
	return s.Names.Insert(string(name), s.last, kind, 0, p)
}

func (s *State) rename(r *Record, res *Result) {
	e := s.live(r.Name, r.At, res)
	if e == nil {
		res.Err = ErrMissing
		return
	}
	old := s.live(r.Other, r.At, res)
	if old != nil && r.Flags&IfAbsent != 0 {
		res.Err = ErrExists
		return
	}
	if old == e {
		return
	}
	s.bytes.Add(int64(len(r.Other) - len(r.Name)))
	s.Names.Rename(e, old, string(r.Other))
	s.replaced(old)
	res.Changed = true
}

func (s *State) expire(r *Record, res *Result) {
	e := s.live(r.Name, r.At, res)
	if e == nil {
		res.Err = ErrMissing
		return
	}
	old := e.When()
	later := old != 0 && r.Deadline > old // no deadline is the latest of all
	earlier := old == 0 || r.Deadline < old
	if r.Flags&IfAbsent != 0 && old != 0 || r.Flags&IfPresent != 0 && old == 0 ||
		r.Flags&IfLater != 0 && !later || r.Flags&IfEarlier != 0 && !earlier {
		res.Err = ErrCondition
		return
	}
	res.Changed = true
	if r.Deadline <= r.At {
		s.drop(e)
		return
	}
	s.Names.SetDeadline(e, r.Deadline)
}
