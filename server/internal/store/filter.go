package store

// A filter of package codec as contents of a part.

import (
	"encoding"
	"fmt"
	"sync/atomic"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/codec"
	composed "github.com/bloomery/bloomery/compose"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/internal/redisbloom"
	"github.com/bloomery/bloomery/quotient"
	"github.com/bloomery/bloomery/server/internal/catalog"
)

// filter is a filter of package codec, of any kind, as contents. Whatever can be
// done with it is done through the interfaces of package bloomery, so a kind that
// is new in codec is served here without a change.
type filter struct {
	f    bloomery.Hashed
	plan atomic.Pointer[shared] // read without a lock
	own  *arrays                // nil for a filter of one small array
	news tally                  // belongs to the lock of the part
}

var _ Contents = (*filter)(nil)

// arrays are what a filter has been given by the arena.
type arrays struct {
	memory *redisbloom.Memory
	list   [][]byte
	bytes  uint64
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
	own := &arrays{memory: s.memory}
	f, err := open(codec.Config{Hasher: p.hasher, Alloc: own.alloc})
	if err != nil {
		own.release()
		return nil, err
	}
	c := &filter{f: f, news: newTally(f, p.kind.Features.Forget)}
	c.plan.Store(p)
	if _, grows := f.(grower); grows || len(own.list) != 1 || own.bytes >= keepFrom {
		c.own = own
	}
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

// Plan returns the plan of a filter, nil if it is of another kind or not loaded.
func (p *Part) Plan() *Plan {
	if c, ok := p.contents.(*filter); ok {
		return &c.plan.Load().Plan
	}
	return nil
}

// Row returns the kind of a filter in the table of package codec, nil if it is of
// another kind or not loaded. It needs no lock.
func (p *Part) Row() *codec.Kind {
	if c, ok := p.contents.(*filter); ok {
		return c.plan.Load().kind
	}
	return nil
}

// Hasher returns how a filter hashes keys. It reports false if the part is of another
// kind, or its secret key is not there. It needs no lock.
func (p *Part) Hasher() (h hashing.Hasher, ok bool) {
	c, ok := p.contents.(*filter)
	if !ok {
		return h, false
	}
	h = c.plan.Load().hasher
	return h, !h.IsKeyless()
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
		return c.own.bytes + c.plan.Load().beside()
	}
	return c.taken(c.f.Stats())
}

// taken is Bytes for a caller who has asked the filter for its state.
func (c *filter) taken(s bloomery.Stats) uint64 {
	if c.own != nil && c.own.bytes > 0 {
		return c.own.bytes + c.plan.Load().beside()
	}
	return s.Bytes + c.plan.Load().beside()
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

func (c *filter) Apply(r *Record, res *Result) (grown int64) {
	switch r.Op {
	case OpFilterAdd:
		return c.add(r, res)
	case OpFilterDelete:
		return c.delete(r, res)
	case OpFilterAdvance:
		c.advance(r, res)
	case OpFilterUnion:
		c.union(r, res)
	default:
		res.Err = ErrType
	}
	return 0
}

// sized makes res.Bools as long as the hashes of r.
func (res *Result) sized(n int) {
	if cap(res.Bools) < n {
		res.Bools = make([]bool, n)
	}
	res.Bools = res.Bools[:n]
}

// add adds hashes, or inserts them where that is what the kind does. Bools says
// which were not there before.
func (c *filter) add(r *Record, res *Result) (grown int64) {
	res.sized(len(r.Hashes))
	switch f := c.f.(type) {
	case bloomery.Adder:
		if g, ok := c.f.(grower); ok {
			if g.GrowBytes(len(r.Hashes)) > r.Room {
				res.Err = redisbloom.ErrBudget
				return 0
			}
			before := c.own.bytes
			f.AddHashes(res.Bools, r.Hashes)
			grown = int64(c.own.bytes - before)
		} else {
			f.AddHashes(res.Bools, r.Hashes)
		}
		res.Done = len(r.Hashes)
		// A window writes what it has to the present generation again.
		_, res.All = c.f.(*composed.Window)
		res.Changed = c.news.added(res.Bools) || res.All && res.Done > 0
	case bloomery.Inserter:
		return c.insert(f, r, res)
	default:
		res.Err = ErrType
	}
	return grown
}

// insert inserts hashes. One that has no room does not stop the others. Those members
// of a quorum that stand before a full one have taken it.
func (c *filter) insert(f bloomery.Inserter, r *Record, res *Result) (grown int64) {
	before := c.growingBytes()
	_, quorum := c.f.(*composed.Quorum)
	for i, h := range r.Hashes {
		res.Bools[i] = !c.f.ContainsHash(h)
		err := f.InsertHash(h)
		if err == nil {
			res.Changed = true
			continue
		}
		if res.Failed == nil {
			res.Failed, res.Err = make([]bool, len(r.Hashes)), err
			res.torn = quorum
		}
		res.Failed[i], res.Bools[i] = true, false
		res.Changed = res.Changed || quorum
	}
	c.news.added(res.Bools)
	res.All, res.Done = true, len(r.Hashes)
	return c.growingBytes() - before
}

// growingBytes is Bytes of a filter that grows on the Go heap, 0 of any other.
func (c *filter) growingBytes() int64 {
	if g, ok := c.f.(*quotient.Growing); ok {
		return int64(g.Stats().Bytes)
	}
	return 0
}

func (c *filter) delete(r *Record, res *Result) (grown int64) {
	f, ok := c.f.(bloomery.Deleter)
	if !ok {
		res.Err = ErrType
		return 0
	}
	before := c.growingBytes()
	res.sized(len(r.Hashes))
	for i, h := range r.Hashes {
		if res.Bools[i] = f.DeleteHash(h); res.Bools[i] {
			res.Changed = true
			if !c.news.unknown && !c.f.ContainsHash(h) {
				c.news.removed()
			}
		}
	}
	res.Done = len(r.Hashes)
	return c.growingBytes() - before
}

func (c *filter) advance(r *Record, res *Result) {
	w, ok := c.f.(*composed.Window)
	if !ok {
		res.Err = ErrType
		return
	}
	if n := uint64(r.Position); n > w.Generation() {
		w.Advance(n)
		res.Changed = true
	}
}

// clear replaces the filter by an empty one that an outline describes.
func (s *State) clear(c *filter, r *Record, res *Result) {
	o, err := codec.ParseOutline(r.Value)
	if err != nil {
		res.Err = err
		return
	}
	fresh, err := s.newContents(c.plan.Load(), func(config codec.Config) (bloomery.Hashed, error) { return config.Make(&o) })
	if err != nil {
		res.Err = err
		return
	}
	s.become(c, fresh)
	res.Changed = true
	if f := s.emptied.Load(); f != nil {
		(*f)(r.ID)
	}
}

// become replaces the filter of c by that of fresh.
func (s *State) become(c, fresh *filter) {
	before := c.Bytes()
	c.Release()
	c.f, c.own, c.news = fresh.f, fresh.own, fresh.news
	c.plan.Store(fresh.plan.Load())
	s.bytes.Add(int64(c.Bytes()) - int64(before))
}

func (c *filter) Release() {
	if c.own != nil {
		c.own.release()
	}
	c.f, c.own = nil, nil
}

// encode appends plan, age and encoding to b.
func (c *filter) encode(b []byte) ([]byte, error) {
	m, ok := c.f.(encoding.BinaryAppender)
	if !ok {
		return b, fmt.Errorf("store: encode: %w: a %T has no encoding", bloomery.ErrIncompatible, c.f)
	}
	return m.AppendBinary(b)
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

func filterBytes(r *Record) (uint64, error) {
	p, o, err := parseCreation(r.Value)
	if err != nil {
		return 0, err
	}
	return (o.Bytes() + p.beside()) << p.Parts, nil
}

// newFilter makes the parts of a filter.
func newFilter(s *State, r *Record) ([]Contents, error) {
	p, o, err := parseCreation(r.Value)
	if err != nil {
		return nil, err
	}
	kind, check := o.Hash()
	plan, err := s.share(p, o.Kind(), kind, check)
	if err != nil {
		return nil, err
	}
	parts := make([]Contents, 0, 1<<p.Parts)
	for range 1 << p.Parts {
		c, err := s.newContents(plan, func(config codec.Config) (bloomery.Hashed, error) { return config.Make(&o) })
		if err != nil {
			for _, c := range parts {
				c.Release()
			}
			return nil, err
		}
		parts = append(parts, c)
	}
	return parts, nil
}
