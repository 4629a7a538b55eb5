package store

// A filter of package codec as contents of a part.

import (
	"encoding"
	"errors"
	"fmt"
	"math"
	"sync/atomic"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/codec"
	composed "github.com/bloomery/bloomery/compose"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/internal/memory"
	"github.com/bloomery/bloomery/internal/redisbloom"
	"github.com/bloomery/bloomery/quotient"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/effort"
)

// filter is a filter of package codec, of any kind, as contents. Whatever can be
// done with it is done through the interfaces of package bloomery, so a kind that
// is new in codec is served here without a change.
type filter struct {
	f     bloomery.Hashed
	plan  atomic.Pointer[shared] // read without a lock
	own   *arrays                // nil for a filter of one small array
	news  tally                  // belongs to the lock of the part
	aside *aside                 // nil for most
}

var _ Contents = (*filter)(nil)

// arrays are what a filter has been given by the arena.
type arrays struct {
	memory *memory.Arena
	list   [][]byte
	bytes  uint64

	copies []*frozenBits // who copies the filter at present
	left   bool          // the filter does not need them any more: the last of copies releases them
}

func (a *arrays) alloc(n int) ([]byte, error) {
	b, err := a.memory.Alloc(n)
	if err != nil {
		return nil, err
	}
	a.list = append(a.list, b)
	a.bytes += uint64(n)
	return b, nil
}

func (a *arrays) release() {
	if a.left = len(a.copies) > 0; a.left {
		a.bytes = 0
		return
	}
	for _, b := range a.list {
		a.memory.Free(b)
	}
	a.list, a.bytes = nil, 0
}

// keepFrom is from which size on the array of a filter of one is remembered. That
// takes some 100 bytes.
const keepFrom = 4 << 10

// grower is a filter that takes more memory as it fills.
type grower interface{ GrowBytes(n int) uint64 }

// newContents returns the contents with a filter that open makes.
func (s *State) newContents(p *shared, open func(codec.Config) (bloomery.Hashed, error)) (*filter, error) {
	c, err := s.keptContents(p, open)
	if err != nil {
		return nil, err
	}
	if _, grows := c.f.(grower); !grows && len(c.own.list) == 1 && c.own.bytes < keepFrom {
		c.own = nil
	}
	return c, nil
}

// keptContents is newContents for a filter whose arrays are remembered, small as they may be.
func (s *State) keptContents(p *shared, open func(codec.Config) (bloomery.Hashed, error)) (*filter, error) {
	own := &arrays{memory: s.memory}
	f, err := open(codec.Config{Hasher: p.hasher, Alloc: own.alloc})
	if err != nil {
		own.release()
		return nil, err
	}
	c := &filter{f: f, own: own, news: newTally(f, p.kind.Features.Forget)}
	c.plan.Store(p)
	return c, nil
}

// Filter returns the filter of a part, nil if it is of another kind. It belongs to
// the lock of p.
func (p *Part) Filter() bloomery.Hashed {
	if c, ok := p.contents.(*filter); ok {
		return c.f
	}
	return nil
}

// sharedPlan returns the plan of a filter with its kind and its hasher, nil if it is of
// another kind or not loaded. It needs no lock.
func (p *Part) sharedPlan() *shared {
	switch c := p.contents.(type) {
	case *filter:
		return c.plan.Load()
	case *elsewhere:
		return c.plan.Load()
	}
	return nil
}

// Plan returns the plan of a filter, nil if it is of another kind or not loaded.
func (p *Part) Plan() *Plan {
	if v := p.sharedPlan(); v != nil {
		return &v.Plan
	}
	return nil
}

// Row returns the kind of a filter in the table of package codec, nil if it is of
// another kind or not loaded. It needs no lock.
func (p *Part) Row() *codec.Kind {
	if v := p.sharedPlan(); v != nil {
		return v.kind
	}
	return nil
}

// Hasher returns how a filter hashes keys. It reports false if the part is of another
// kind, or its secret key is not there. It needs no lock.
func (p *Part) Hasher() (h hashing.Hasher, ok bool) {
	v := p.sharedPlan()
	if v == nil {
		return h, false
	}
	return v.hasher, !v.hasher.IsKeyless()
}

func (*filter) Kind() catalog.Kind { return catalog.Filter }

func (c *filter) Stats() bloomery.Stats {
	s := c.f.Stats()
	if w, ok := c.f.(adder); ok {
		(&tally{items: w.Added()}).into(&s, false)
		return s
	}
	c.news.into(&s, c.plan.Load().kind.Features.Forget)
	return s
}

// beside is what a filter takes besides its arrays: contents and the filter. That of
// one part is counted with its entry; each of several parts takes besidePart more.
const (
	beside     = 128
	besidePart = 64
)

// beside returns what each part of a filter takes besides its arrays.
func (p *Plan) beside() uint64 {
	if p.Parts > 0 {
		return beside + besidePart
	}
	return beside
}

func (c *filter) Bytes() uint64 {
	switch {
	case c.f == nil:
		return 0
	case c.own != nil && c.own.bytes > 0:
		return c.own.bytes + c.besides()
	}
	return c.taken(c.f.Stats())
}

// besides is what the filter takes besides its arrays.
func (c *filter) besides() uint64 {
	p := c.plan.Load()
	return p.beside() + p.newsBytes() + c.aside.bytes()
}

// taken is Bytes for a caller who has asked the filter for its state.
func (c *filter) taken(s bloomery.Stats) uint64 {
	if c.own != nil && c.own.bytes > 0 {
		return c.own.bytes + c.besides()
	}
	return s.Bytes + c.besides()
}

// growingStep is what an insert into a growing filter can take: two of its largest
// segments in the place of one, with room for a longer directory.
const growingStep = 256 << 10

func (c *filter) Growth(n int) (most uint64, sure bool) {
	switch f := c.f.(type) {
	case grower:
		return f.GrowBytes(n), true
	case *quotient.Growing:
		return growingStep + 64*uint64(n), true
	}
	return 0, true
}

// sized makes res.Bools as long as the hashes of a record.
func (res *Result) sized(n int) {
	if cap(res.Bools) < n {
		res.Bools = make([]bool, n)
	}
	res.Bools = res.Bools[:n]
}

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
	b = appendHashes(appendTarget(b, r, o.Room), o.Hashes)
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

func (o *FilterAdd) change(s *State, p *Part, r *Record, res *Result) (grown int64) {
	c := p.contents.(*filter)
	if s.late(c, o.Known) {
		res.Err = ErrRetry
		return 0
	}
	if grown = c.add(o.Hashes, o.Room, res); res.All {
		p.measure() // inserts may have made it slower
	}
	if o.Shadow != 0 {
		s.mirror(o, r, res)
	}
	return grown
}

// effect gathers the hashes that have to be kept.
func (o *FilterAdd) effect(f *Effect, r *Record, res *Result) {
	if !f.gathers(r, &f.scratch.FilterAdd) {
		f.scratch.FilterAdd.Room = Unlimited
	}
	f.kept(o.Hashes, res)
	if len(res.effects) > 0 { // those of the shadow
		f.puts(res.effects)
	}
}

// add adds or inserts hashes. Bools says which were not there before.
func (c *filter) add(hashes []uint64, room uint64, res *Result) (grown int64) {
	res.sized(len(hashes))
	switch f := c.f.(type) {
	case bloomery.Adder:
		c.own.before(hashes)
		some := false
		if g, ok := c.f.(grower); ok {
			if g.GrowBytes(len(hashes)) > room {
				res.Err = ErrRoom
				return 0
			}
			before := c.own.bytes
			f.AddHashes(res.Bools, hashes)
			grown = int64(c.own.bytes - before)
			some = c.news.added(res.Bools)
		} else {
			some = c.addPlain(f, hashes, res)
		}
		res.Done = len(hashes)
		// A window writes what it has to the present generation again.
		_, res.All = c.f.(*composed.Window)
		res.Changed = some || res.All && res.Done > 0
		if c.sourced() && c.addToSourced(hashes) { // some may be in sources already
			res.All, res.Changed = true, true
		}
	case bloomery.Inserter:
		return c.insert(f, hashes, res)
	default:
		res.Err = ErrType
	}
	return grown
}

// addPlain adds hashes to a filter that does not grow, and marks them if somebody asks. It
// reports whether some were new.
func (c *filter) addPlain(f bloomery.Adder, hashes []uint64, res *Result) (some bool) {
	m, ok := c.f.(ofBits)
	if !ok || res.marks == nil {
		f.AddHashes(res.Bools, hashes)
		return c.news.added(res.Bools)
	}
	m.Mark(res.marks, hashes)
	bools, n := res.Bools[:len(res.marks)], uint64(0)
	for i, v := range res.marks {
		if bools[i] = v != 0; v != 0 {
			n++
		}
	}
	return c.news.count(n)
}

// insert inserts hashes. One that has no room does not stop the others. Those members
// of a quorum that stand before a full one have taken it.
func (c *filter) insert(f bloomery.Inserter, hashes []uint64, res *Result) (grown int64) {
	before := c.growingBytes()
	_, quorum := c.f.(*composed.Quorum)
	for i, h := range hashes {
		res.Bools[i] = !c.f.ContainsHash(h)
		err := f.InsertHash(h)
		if err == nil {
			res.Changed = true
			continue
		}
		if res.Failed == nil {
			res.Failed, res.Err = make([]bool, len(hashes)), err
			res.torn = quorum
		}
		res.Failed[i], res.Bools[i] = true, false
		res.Changed = res.Changed || quorum
	}
	c.news.added(res.Bools)
	res.All, res.Done = true, len(hashes)
	return c.growingBytes() - before
}

// steps returns how many steps an item takes, see maxSteps.
func (c *filter) steps() (n uint64) {
	if c.f == nil {
		return 0
	}
	_, change := effort.Reach(c.f, 0)
	effort.EachMember(c.f, func(bloomery.Hashed) { n++ })
	return n + change/effort.MovedBlock
}

// growingBytes is Bytes of a filter that grows on the Go heap, 0 of any other.
func (c *filter) growingBytes() int64 {
	if g, ok := c.f.(*quotient.Growing); ok {
		return int64(g.Stats().Bytes)
	}
	return 0
}

// FilterDelete deletes hashes.
type FilterDelete struct {
	Hashes []uint64

	Shadow uint64 // the shadow of the filter, which misses them; not encoded
}

func (*FilterDelete) op() Op                            { return OpFilterDelete }
func (o *FilterDelete) fields(c coder, r *Record) coder { return c.target(r).hashes(&o.Hashes) }

// Len implements Items.
func (o *FilterDelete) Len() int { return len(o.Hashes) }

// Give implements Items.
func (o *FilterDelete) Give(uint64) {}

// Hold implements Items.
func (o *FilterDelete) Hold(_ []redisbloom.Digest, hashes []uint64) { o.Hashes = hashes }

func (o *FilterDelete) change(s *State, p *Part, r *Record, res *Result) (grown int64) {
	c := p.contents.(*filter)
	f, ok := c.f.(bloomery.Deleter)
	if !ok {
		res.Err = ErrType
		return 0
	}
	before := c.growingBytes()
	res.sized(len(o.Hashes))
	for i, h := range o.Hashes {
		if res.Bools[i] = f.DeleteHash(h); res.Bools[i] {
			res.Changed = true
			if !c.news.unknown() && !c.f.ContainsHash(h) {
				c.news.removed()
			}
		}
	}
	res.Done = len(o.Hashes)
	if o.Shadow != 0 {
		s.missed(o, r, res)
	}
	return c.growingBytes() - before
}

// effect gathers the hashes that were there.
func (o *FilterDelete) effect(f *Effect, r *Record, res *Result) {
	f.gathers(r, &f.scratch.FilterDelete)
	f.kept(o.Hashes, res)
	if len(res.effects) > 0 { // that of the shadow
		f.puts(res.effects)
	}
}

// FilterAdvance makes a generation of a window the present one. One that is not later
// changes nothing.
type FilterAdvance struct{ Generation uint64 }

func (*FilterAdvance) op() Op                            { return OpFilterAdvance }
func (o *FilterAdvance) fields(c coder, r *Record) coder { return c.target(r).signed(&o.Generation) }

func (o *FilterAdvance) change(_ *State, p *Part, _ *Record, res *Result) int64 {
	if w := windowOf(p.contents); o.Generation > w.Generation() {
		w.Advance(o.Generation)
		res.Changed = true
	}
	return 0
}

// windowOf returns the window that contents are, or a shadow is, nil if it is none.
func windowOf(c Contents) *composed.Window {
	f, _ := c.(*filter)
	if d, ok := c.(*draft); ok {
		f = d.inner
	}
	if f == nil {
		return nil
	}
	w, _ := f.f.(*composed.Window)
	return w
}

func isWindow(c Contents) bool { return windowOf(c) != nil }

// FilterClear replaces the filter by an empty one that an outline describes.
type FilterClear struct{ Outline []byte }

func (*FilterClear) op() Op                            { return OpFilterClear }
func (o *FilterClear) fields(c coder, r *Record) coder { return c.target(r).bytes(&o.Outline) }

func (o *FilterClear) change(s *State, p *Part, r *Record, res *Result) int64 {
	c := p.contents.(*filter)
	outline, err := codec.ParseOutline(o.Outline)
	if err != nil {
		res.Err = err
		return 0
	}
	fresh, err := s.newContents(c.plan.Load(), func(config codec.Config) (bloomery.Hashed, error) { return config.Make(&outline) })
	if err != nil {
		res.Err = err
		return 0
	}
	s.become(c, fresh)
	res.Changed = true
	if f := s.emptied.Load(); f != nil {
		(*f)(r.ID)
	}
	return 0
}

// become replaces the filter of c by that of fresh.
func (s *State) become(c, fresh *filter) {
	before := c.Bytes()
	c.Release()
	c.f, c.own, c.news, c.aside = fresh.f, fresh.own, fresh.news, fresh.aside
	mark := c.plan.Load().mark
	c.plan.Store(fresh.plan.Load())
	if mark != fresh.plan.Load().mark {
		c.mark(mark)
	}
	s.bytes.Add(int64(c.Bytes()) - int64(before))
}

func (c *filter) Release() {
	if c.own != nil {
		c.own.release()
	}
	c.aside.release()
	c.f, c.own, c.aside = nil, nil, nil
}

// encode appends the encoding to b, and what the filter keeps aside.
func (c *filter) encode(b []byte) ([]byte, error) {
	m, ok := c.f.(encoding.BinaryAppender)
	if !ok {
		return b, fmt.Errorf("store: encode: %w: a %T has no encoding", bloomery.ErrIncompatible, c.f)
	}
	b, err := m.AppendBinary(b)
	if err != nil {
		return b, err
	}
	return c.aside.encode(b), nil
}

func (c *filter) AppendHeader(b []byte) []byte { return AppendPlan(b, &c.plan.Load().Plan) }

// ScanDump returns the encoding as one chunk.
func (c *filter) ScanDump(iter int64) (next int64, chunk []byte) {
	data, err := c.encode(nil)
	if err != nil || iter < 1 || iter > int64(len(data)) {
		return 0, nil
	}
	return int64(len(data)) + 1, data[iter-1:]
}

func filterBytes(header []byte) (uint64, error) {
	p, o, err := parseCreation(header)
	if err != nil {
		return 0, err
	}
	return (o.Bytes() + p.beside() + p.newsBytes()) << p.Parts, nil
}

// newFilter makes the parts of a filter.
func newFilter(s *State, header []byte, l lying) ([]Contents, error) {
	p, o, err := parseCreation(header)
	if err != nil {
		return nil, err
	}
	kind, check := o.Hash()
	plan, err := s.share(p, o.Kind(), kind, check)
	if err != nil {
		return nil, err
	}
	parts := make([]Contents, 0, 1<<p.Parts)
	for i := range 1 << p.Parts {
		here := l.here(i, &p)
		if !here && i > 0 {
			parts = append(parts, newElsewhere(catalog.Filter, plan))
			continue
		}
		c, err := s.newContents(plan, func(config codec.Config) (bloomery.Hashed, error) { return config.Make(&o) })
		switch {
		case err != nil && (here || !errors.Is(err, ErrMemory)):
			for _, c := range parts {
				c.Release()
			}
			return nil, err
		case here:
			parts = append(parts, c)
		default: // it was made to see whether it can be
			if err == nil {
				c.Release()
			}
			parts = append(parts, newElsewhere(catalog.Filter, plan))
		}
	}
	return parts, nil
}
