package store

// Names and deadlines, and the records that change them.

import (
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/contents"
)

// Entries past their deadline at the time of a record count as absent and are removed
// when met.

// Remove removes names.
type Remove struct{ Names [][]byte }

func (*Remove) op() Op                            { return OpRemove }
func (o *Remove) fields(c coder, r *Record) coder { return c.at(r).names(&o.Names) }
func (o *Remove) weight() int                     { return len(o.Names) }

func (o *Remove) apply(s *State, r *Record, res *Result) {
	for _, name := range o.Names {
		if e := s.live(name, r.At, res); e != nil {
			s.drop(e)
			res.N++
			res.Changed = true
		}
	}
}

// effect cuts a removal: all its records are in one append to the log.
func (o *Remove) effect(f *Effect, r *Record, _ *Result) {
	for rest := o.Names; len(rest) > 0; {
		n := NamesWithin(rest, MaxRecord)
		f.put(r, &Remove{Names: rest[:n]})
		rest = rest[n:]
	}
}

// Rename gives the name To to the entry that has From.
type Rename struct {
	From, To []byte
	If       uint8
}

func (*Rename) op() Op            { return OpRename }
func (o *Rename) newName() []byte { return o.To }
func (o *Rename) fields(c coder, r *Record) coder {
	return c.byte(&o.If).at(r).bytes(&o.From).bytes(&o.To)
}

func (o *Rename) apply(s *State, r *Record, res *Result) {
	e := s.live(o.From, r.At, res)
	if e == nil {
		res.Err = ErrMissing
		return
	}
	old := s.live(o.To, r.At, res)
	if old != nil && o.If&IfAbsent != 0 {
		res.Err = ErrExists
		return
	}
	if old == e {
		return
	}
	s.bytes.Add(int64(len(o.To) - len(o.From)))
	s.Names.Rename(e, old, string(o.To))
	s.replaced(old)
	s.Renamed(e)
	res.Changed = true
}

// Expire sets the deadline of a name.
type Expire struct {
	Name     []byte
	Deadline int64 // milliseconds since 1970
	If       uint8
}

func (*Expire) op() Op { return OpExpire }
func (o *Expire) fields(c coder, r *Record) coder {
	return c.byte(&o.If).at(r).varint(&o.Deadline).bytes(&o.Name)
}

func (o *Expire) apply(s *State, r *Record, res *Result) {
	e := s.live(o.Name, r.At, res)
	if e == nil {
		res.Err = ErrMissing
		return
	}
	old := e.When()
	later := old != 0 && o.Deadline > old // no deadline is the latest of all
	earlier := old == 0 || o.Deadline < old
	if o.If&IfAbsent != 0 && old != 0 || o.If&IfPresent != 0 && old == 0 ||
		o.If&IfLater != 0 && !later || o.If&IfEarlier != 0 && !earlier {
		res.Err = ErrCondition
		return
	}
	res.Changed = true
	if o.Deadline <= r.At {
		s.drop(e)
		return
	}
	s.Names.SetDeadline(e, o.Deadline)
}

// Persist takes the deadline of a name away.
type Persist struct{ Name []byte }

func (*Persist) op() Op                            { return OpPersist }
func (o *Persist) fields(c coder, r *Record) coder { return c.at(r).bytes(&o.Name) }

func (o *Persist) apply(s *State, r *Record, res *Result) {
	e := s.live(o.Name, r.At, res)
	switch {
	case e == nil:
		res.Err = ErrMissing
	case e.When() == 0:
		res.Err = ErrCondition
	default:
		s.Names.SetDeadline(e, 0)
		res.Changed = true
	}
}

// Evict removes ids whose deadline has passed.
type Evict struct{ IDs []uint64 }

func (*Evict) op() Op                            { return OpEvict }
func (o *Evict) fields(c coder, r *Record) coder { return c.at(r).ids(&o.IDs) }

func (o *Evict) apply(s *State, r *Record, res *Result) {
	for _, id := range o.IDs {
		if e := s.Names.ByID(id); e != nil && e.Expired(r.At) {
			s.drop(e)
			res.N++
			res.Changed = true
		}
	}
}

// effect cuts what expired.
func (o *Evict) effect(f *Effect, r *Record, _ *Result) {
	for rest := o.IDs; len(rest) > 0; {
		n := min(len(rest), maxIDs)
		f.put(r, &Evict{IDs: rest[:n]})
		rest = rest[n:]
	}
}

// Flush removes everything.
type Flush struct{}

func (*Flush) op() Op                                 { return OpFlush }
func (*Flush) fields(c coder, r *Record) coder        { return c.at(r) }
func (*Flush) apply(s *State, _ *Record, res *Result) { s.flush(res) }

// Seed seeds the order of names. It is the first record of all.
type Seed struct{ Seed uint64 }

func (*Seed) op() Op                            { return OpSeed }
func (o *Seed) fields(c coder, _ *Record) coder { return c.signed(&o.Seed) }

func (o *Seed) apply(s *State, _ *Record, res *Result) {
	s.SetSeed(o.Seed)
	res.Changed = true
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
	if contents.PartOf(e) == nil {
		s.retain(e)
	}
	for _, p := range contents.Parts(e) {
		n += int64(p.Leave(false))
	}
	return n
}

// named returns what all names and their contents take, or 0 if somebody is busy with contents that have no name yet: nobody
// waits for that.
func (s *State) named() int64 {
	sum := s.bytes.Load()
	for _, e := range s.Names.Unnamed() {
		n, ok := contents.TryBytes(e)
		if !ok {
			return 0
		}
		sum -= NewCost(nil, n)
	}
	return sum
}

// flush removes all names. What they took counts as free at once, if that is known; it is given back
// outside all locks, which no other client has to wait for.
func (s *State) flush(res *Result) {
	res.Changed = s.dropShadows()
	res.N = int64(s.Names.Len())
	if res.N == 0 {
		return
	}
	res.Changed = true
	sum := s.named()
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
func (s *State) insertPart(name []byte, kind catalog.Kind, p *contents.Part) *catalog.Entry {
	return s.Names.Insert(string(name), s.take([]*contents.Part{p}, s.base(name)), kind, 0, p)
}

// NewLayers returns the names of the layers that a record makes, none if it makes others.
func NewLayers(b Body) []string {
	if m, _ := makerOf(b).(*Make); m != nil && m.As == OpLayers {
		return contents.LayerNames(m.Header)
	}
	return nil
}
