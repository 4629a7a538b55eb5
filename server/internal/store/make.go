package store

// Records that make contents, with a name or without.

import (
	"errors"
	"fmt"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/effort"
	"github.com/bloomery/bloomery/server/internal/placement"
)

// Make makes contents from a header: that of a dump, one that a sketch appends, or what
// AppendCreation, AppendPlan or AppendLayers wrote.
type Make struct {
	As     Op // OpBloomDump, OpCuckooDump, OpCountMin, OpTopK, OpTDigest, OpFilter, OpFilterLoad or OpLayers
	Name   []byte
	Header []byte
}

// FromDump returns what makes contents of a kind from the header of a dump.
func FromDump(k catalog.Kind, name, header []byte) *Make {
	return &Make{As: dumps[k].make, Name: name, Header: header}
}

// StageDump is FromDump for contents without a name. The header of a filter is its plan,
// or what AppendLoad wrote.
func StageDump(k catalog.Kind, header []byte) *Stage {
	return &Stage{As: dumps[k].make, Header: header}
}

// StageFilter returns what makes a filter of empty parts without a name.
func StageFilter(p *contents.Plan, outline []byte) *Stage {
	return &Stage{As: OpFilter, Header: contents.AppendCreation(nil, p, outline)}
}

// headers says what the headers of operations are of.
var headers = map[Op]contents.Header{
	OpBloomDump: contents.BloomDump, OpCuckooDump: contents.CuckooDump,
	OpCountMin: contents.CountMinHeader, OpTopK: contents.TopKHeader, OpTDigest: contents.TDigestHeader,
	OpFilter: contents.Creation, OpFilterLoad: contents.Loaded, OpLayers: contents.LayersHeader,
}

// maker is a body that makes contents.
type maker interface {
	Body
	// kind returns the kind of the entry.
	kind() catalog.Kind
	// bytes returns the memory of the contents, or why they cannot be.
	bytes() (uint64, error)
	// contents makes them, one for each part that is held here.
	contents(s *State, here contents.Here) ([]contents.Contents, error)
	// size returns the size of contents of so many bytes when something was added.
	size(bytes uint64, a effort.Adding) effort.Size
}

func (o *Make) op() Op                          { return o.As }
func (o *Make) fields(c coder, r *Record) coder { return c.at(r).bytes(&o.Name).bytes(&o.Header) }
func (o *Make) newName() []byte                 { return o.Name }
func (o *Make) weight() int                     { return len(o.Header) >> 10 }
func (o *Make) kind() catalog.Kind              { return headers[o.As].Kind() }

func (o *Make) apply(s *State, r *Record, res *Result) {
	if o.As == OpFilterLoad { // it would be there before its contents
		res.Err = contents.ErrType
		return
	}
	s.create(o, o.Name, r, res)
}

func (o *Make) bytes() (uint64, error) {
	if err := fits(o.Header); err != nil {
		return 0, err
	}
	return headers[o.As].Bytes(o.Header)
}

// fits returns an error if a header is too long for a record.
func fits(header []byte) error {
	if len(header) > maxText {
		return fmt.Errorf("store: create: %w: header of %d bytes", bloomery.ErrTooLarge, len(header))
	}
	return nil
}

func (o *Make) contents(s *State, here contents.Here) ([]contents.Contents, error) {
	return s.Make(headers[o.As], o.Header, here)
}

func (o *Make) size(bytes uint64, a effort.Adding) effort.Size {
	return headers[o.As].Size(o.Header, bytes, a)
}

// Stage makes contents that nobody can see yet, as Make would: Reveal gives them a
// name. Where contents are spread over nodes it has to be placed.
type Stage struct {
	As     Op
	Header []byte

	// Placed means that Base is the shard of the first part, and that the header of a filter
	// that is loaded says how it hashes: the catalogue then needs no contents.
	Placed bool
	Base   uint64
}

func (o *Stage) op() Op {
	if o.Placed {
		return OpStagePlaced
	}
	return OpStage
}

func (o *Stage) fields(c coder, r *Record) coder {
	if c = c.byte((*uint8)(&o.As)).at(r).bytes(&o.Header); o.Placed {
		c = c.uvarint(&o.Base)
	}
	return c
}

func (o *Stage) apply(s *State, r *Record, res *Result) {
	base := placement.BaseOf(s.last + 1)
	switch {
	case o.Placed && o.Base >= placement.Shards:
		res.Err = ErrCondition
	case o.Placed:
		base = int(o.Base)
	case s.Roster().Spread(): // it was prepared before that, and nodes could not agree on it
		res.Err = contents.ErrRetry
	}
	if o.As == OpFilterLoad && res.Err == nil {
		described, err := s.DescribesLoad(o.Header)
		if res.Err = err; err == nil && described != o.Placed {
			res.Err = corrupt("what is said of a filter that is loaded")
		}
	}
	if res.Err != nil {
		return
	}
	if kind, value := s.newValue(&Make{As: o.As, Header: o.Header}, nil, base, r, res); value != nil {
		res.Entry = s.Names.Stage(s.take(res.made, base), kind, value)
		s.noteStaged(res.Entry.ID, r.Origin.Session)
	}
}

// makerOf returns what makes the contents that a body asks for, nil if it asks for none.
func makerOf(b Body) maker {
	if o, ok := b.(*Stage); ok {
		return &Make{As: o.As, Header: o.Header}
	}
	m, _ := b.(maker)
	return m
}

// NewBytes returns the memory of the filter that a record makes, or why it
// makes none. It allocates none of it.
func NewBytes(b Body) (uint64, error) {
	m := makerOf(b)
	if m == nil {
		return 0, contents.ErrType
	}
	return m.bytes()
}

// deepItem is what an item may touch at most: others wait while it is looked for, some
// milliseconds. That is a TOPK of a million items, and RedisBloom makes no BF of so many
// layers, and no CF of so many sub-filters.
const deepItem = 9 << 20

// Deep reports whether a record makes something, a TOPK or what is in a dump, in which a
// single item takes long. What is in a folder already is opened all the same.
func Deep(b Body) bool {
	m, _ := makerOf(b).(*Make)
	if m == nil || m.As != OpBloomDump && m.As != OpCuckooDump && m.As != OpTopK {
		return false
	}
	return NewSize(m, effort.Adding{}).Item > deepItem
}

// Creates reports whether a record makes a filter or a sketch under a name.
func (r *Record) Creates() bool {
	_, ok := r.Body.(maker)
	return ok
}

// Makes reports whether a record makes a filter or a sketch, under a name or not.
func (r *Record) Makes() bool { return makerOf(r.Body) != nil }

// NewSize returns the size of what a record makes, when something was added to it. It is
// zero if the record makes nothing.
func NewSize(b Body, a effort.Adding) (s effort.Size) {
	bytes, err := NewBytes(b)
	if err != nil {
		return s
	}
	s = makerOf(b).size(bytes, a)
	s.Bytes = max(s.Bytes, bytes)
	return s
}

// create makes contents under a name that is free.
func (s *State) create(m maker, name []byte, r *Record, res *Result) {
	if e := s.Names.Get(name); e != nil && !e.Expired(r.At) {
		res.Err = ErrExists
		return
	}
	base := s.base(name)
	if kind, value := s.newValue(m, name, base, r, res); value != nil {
		s.live(name, r.At, res) // drops what has expired
		id := s.take(res.made, base)
		res.Entry = s.Names.Insert(string(name), id, kind, 0, value)
		s.noteWindow(res.Entry)
	}
}

// take gives ids and shards to new parts, one each, and returns the first id: that of
// their filter.
func (s *State) take(made []*contents.Part, base int) uint64 {
	id := s.last + 1
	for i, p := range made {
		s.last++
		p.Number(s.last)
		p.SetShard(placement.Shard(base, uint32(i)))
	}
	return id
}

// newValue makes the parts that a record asks for, locked, and counts their bytes. The
// first of them is in the shard base. It returns the value of an entry, nil if that cannot be.
func (s *State) newValue(m maker, name []byte, base int, r *Record, res *Result) (catalog.Kind, any) {
	parts, err := s.contents(m, base)
	if err != nil { // the system may have no memory: then nothing has changed
		res.Err = err
		return 0, nil
	}
	sum := NewCost(name, 0)
	res.made = res.made[:0]
	for _, c := range parts {
		p := contents.NewPart(c)
		p.SetMade(r.At / 1000)
		sum += int64(p.Bytes())
		p.TryLock() // nobody else has it: whatever is locked, this waits for nothing
		res.made = append(res.made, p)
	}
	s.bytes.Add(sum)
	res.Changed = true
	return m.kind(), contents.Value(res.made)
}

// Reveal gives a name to contents that have none, replacing what has it.
type Reveal struct {
	ID       uint64
	Name     []byte
	Deadline int64 // milliseconds since 1970, 0 for none
	If       uint8

	// Merging is what the contents were made of: sketches that must not have changed. It
	// is not encoded: a record that is in the log was applied.
	Merging *Merging

	// Sure means that the sender knows that all parts are there, because those who answer for them have said so. A part of
	// this node may still be opened, if others answer for it. It is not encoded, either.
	Sure bool

	// Whole means that the sender has made sure that all parts are there: contents are not
	// looked at. Where contents are spread over nodes nothing else is applied.
	Whole bool
}

func (o *Reveal) op() Op {
	if o.Whole {
		return OpRevealWhole
	}
	return OpReveal
}

func (o *Reveal) newName() []byte { return o.Name }
func (o *Reveal) fields(c coder, r *Record) coder {
	return c.byte(&o.If).id(&o.ID).at(r).varint(&o.Deadline).bytes(&o.Name)
}

func (o *Reveal) apply(s *State, r *Record, res *Result) {
	e := s.Names.ByID(o.ID)
	if e == nil || !e.Staged() {
		res.Err = ErrMissing
		return
	}
	// What is wrong with contents every node of a cluster finds out, and answers the same; that it has no memory only this one.
	if err := contents.Opened(e); err != nil && (s.Roster() == nil || errors.Is(err, contents.ErrMemory)) {
		res.Err = err
		return
	}
	old := s.live(o.Name, r.At, res)
	switch {
	case !o.Whole && (s.Roster().Spread() || !contents.Whole(e)):
		res.Err = ErrMissing
		return
	case old != nil && o.If&IfAbsent != 0:
		res.Err = ErrExists
		return
	case old != nil && s.ShadowOf(old.ID) != nil:
		res.Err = ErrRebuilding
		return
	case old != nil && o.If&IfFilter != 0 && old.Kind != catalog.Filter:
		res.Err = contents.ErrType
		return
	case old != nil && o.If&IfNewer != 0 && versionOf(old) >= versionOf(e):
		res.Err = ErrCondition
		return
	case o.Merging != nil && !o.Merging.settle(e, old, res):
		res.Err = ErrCondition
		return
	}
	deadline := o.Deadline
	if old != nil && o.If&KeepTTL != 0 {
		deadline = old.When()
	}
	s.bytes.Add(int64(len(o.Name)))
	res.Entry = s.Names.Reveal(e, old, string(o.Name), deadline)
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
		if sh := s.ShadowByID(e.ID); sh != nil && (sh.Main == 0 || s.Names.ByID(sh.Main) != nil) {
			sh.Seal(0) // a commit that had begun is given up
			continue
		}
		s.drop(e)
	}
}
