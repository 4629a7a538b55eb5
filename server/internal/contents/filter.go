package contents

// A filter of package codec as contents of a part.

import (
	"bytes"
	"encoding"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/bloomery/bloomery"
	bloomfilter "github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/codec"
	composed "github.com/bloomery/bloomery/compose"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/internal/growth"
	"github.com/bloomery/bloomery/internal/memory"
	"github.com/bloomery/bloomery/quotient"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/effort"
	"github.com/bloomery/bloomery/sizing"
)

// Filter is a filter of package codec, of any kind, as contents. Whatever can be
// done with it is done through the interfaces of package bloomery, so a kind that
// is new in codec is served here without a change.
type Filter struct {
	f     bloomery.Hashed
	plan  atomic.Pointer[Shared] // read without a lock
	own   *arrays                // nil for a filter of one small array
	news  tally                  // belongs to the lock of the part
	aside *aside                 // nil for most
}

var _ Contents = (*Filter)(nil)

// arrays are what a filter has been given by the arena.
type arrays struct {
	memory *memory.Arena
	list   [][]byte
	bytes  uint64

	sweeping int // bytes: see sweeps

	copies []*pieces // that others read at present
	left   uint64    // bytes, if the filter does not need them any more: the last of copies releases them
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
	a.sweeps(0)
	if len(a.copies) > 0 {
		for _, v := range a.copies {
			v.leave()
		}
		a.memory.Keep(int(a.bytes))
		a.left, a.bytes = a.left+a.bytes, 0
		return
	}
	for _, b := range a.list {
		a.memory.Free(b)
	}
	a.memory.Keep(-int(a.left))
	a.list, a.bytes, a.left = nil, 0, 0
}

// keepFrom is from which size on the array of a filter of one is remembered. That
// takes some 100 bytes.
const keepFrom = 4 << 10

// newContents returns the contents with a filter that open makes, in memory of m.
func (s *Supply) newContents(p *Shared, m *memory.Arena, open func(codec.Config) (bloomery.Hashed, error)) (*Filter, error) {
	c, err := s.keptContents(p, m, open)
	if err != nil {
		return nil, err
	}
	if !getsArrays(c.f) && len(c.own.list) == 1 && c.own.bytes < keepFrom {
		c.own = nil
	}
	return c, nil
}

// getsArrays reports whether a filter, or a member of it, gets more arrays when it grows.
func getsArrays(f bloomery.Hashed) (gets bool) {
	effort.EachMember(f, func(m bloomery.Hashed) {
		_, scalable := m.(*bloomfilter.Scalable)
		gets = gets || scalable
	})
	return gets
}

// keptContents is newContents for a filter whose arrays are remembered, small as they may be.
func (s *Supply) keptContents(p *Shared, m *memory.Arena, open func(codec.Config) (bloomery.Hashed, error)) (*Filter, error) {
	own := &arrays{memory: m}
	f, err := open(codec.Config{Hasher: p.Hasher, Alloc: own.alloc})
	if err != nil {
		own.release()
		return nil, err
	}
	own.memory = m.Sparse() // it grows by such arrays
	c := &Filter{f: f, own: own, news: newTally(f, p.Kind.Features.Forget)}
	c.plan.Store(p)
	return c, nil
}

// Filter returns the filter of a part, nil if it is of another kind. It belongs to
// the lock of p.
func (p *Part) Filter() bloomery.Hashed {
	if c, ok := p.contents.(*Filter); ok {
		return c.f
	}
	return nil
}

// Shared returns the plan of a filter with its kind and its hasher, nil if it is of
// another kind or not loaded. It needs no lock.
func (p *Part) Shared() *Shared {
	switch c := p.contents.(type) {
	case *Filter:
		return c.plan.Load()
	case *elsewhere:
		return c.plan.Load()
	}
	return nil
}

// Plan returns the plan of a filter, nil if it is of another kind or not loaded.
func (p *Part) Plan() *Plan {
	if v := p.Shared(); v != nil {
		return &v.Plan
	}
	return nil
}

// Row returns the kind of a filter in the table of package codec, nil if it is of
// another kind or not loaded. It needs no lock.
func (p *Part) Row() *codec.Kind {
	if v := p.Shared(); v != nil {
		return v.Kind
	}
	return nil
}

// Hasher returns how a filter hashes keys. It reports false if the part is of another
// kind, or its secret key is not there. It needs no lock.
func (p *Part) Hasher() (h hashing.Hasher, ok bool) {
	v := p.Shared()
	if v == nil {
		return h, false
	}
	return v.Hasher, !v.Hasher.IsKeyless()
}

// Kind implements Contents.
func (*Filter) Kind() catalog.Kind { return catalog.Filter }

// Stats implements Contents.
func (c *Filter) Stats() bloomery.Stats {
	s := c.f.Stats()
	if w, ok := c.f.(adder); ok {
		(&tally{items: w.Added()}).into(&s, false)
		return s
	}
	c.news.into(&s, c.plan.Load().Kind.Features.Forget)
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

// Bytes implements Contents.
func (c *Filter) Bytes() uint64 {
	switch {
	case c.f == nil:
		return 0
	case c.own != nil && c.own.bytes > 0:
		return c.own.bytes + c.onHeap() + c.besides()
	}
	return c.taken(c.f.Stats())
}

// onHeap is what members of a quorum take that grow on the Go heap, beside the arrays of others.
func (c *Filter) onHeap() (n uint64) {
	if q, ok := c.f.(*composed.Quorum); ok {
		for _, m := range q.Members() {
			if g, ok := m.(*quotient.Growing); ok {
				n += g.Stats().Bytes
			}
		}
	}
	return n
}

// besides is what the filter takes besides its arrays.
func (c *Filter) besides() uint64 {
	p := c.plan.Load()
	return p.beside() + p.newsBytes() + c.aside.bytes()
}

// taken is Bytes for a caller who has asked the filter for its state.
func (c *Filter) taken(s bloomery.Stats) uint64 {
	if c.own != nil && c.own.bytes > 0 {
		return c.own.bytes + c.onHeap() + c.besides()
	}
	return s.Bytes + c.besides()
}

// Growth implements Contents.
func (c *Filter) Growth(n int) (most uint64, sure bool) { return growth.Most(c.f, n), true }

// Add adds or inserts hashes, and returns by how many bytes that has grown, room at most. Bools says
// which were not there before.
func (c *Filter) Add(hashes []uint64, room uint64, res *Outcome) (grown int64) {
	res.Size(len(hashes))
	switch f := c.f.(type) {
	case bloomery.Adder:
		c.own.before(hashes)
		switch g, grows := c.f.(*bloomfilter.Scalable); {
		case grows:
			if g.GrowBytes(len(hashes)) > room {
				res.Err = ErrRoom
				return 0
			}
			before := c.own.bytes
			f.AddHashes(res.Bools, hashes)
			grown = int64(c.own.bytes - before)
			res.New = c.news.added(res.Bools)
		case res.Marks != nil:
			res.New = c.addMarked(f, hashes, res)
		default:
			f.AddHashes(res.Bools, hashes)
			res.New = c.news.added(res.Bools)
		}
		res.Done = len(hashes)
		// A window writes what it has to the present generation again.
		_, res.All = c.f.(*composed.Window)
		res.Changed = res.New > 0 || res.All && res.Done > 0
		if c.addBeside(hashes) { // some may be in sources already
			res.All, res.Changed = true, true
		}
	case bloomery.Inserter:
		return c.insert(f, hashes, res)
	default:
		res.Err = ErrType
	}
	return grown
}

// addMarked adds hashes to a filter that does not grow, and marks them, since somebody asks. It
// returns how many were new.
func (c *Filter) addMarked(f bloomery.Adder, hashes []uint64, res *Outcome) int {
	m, ok := c.f.(Marker)
	if !ok {
		f.AddHashes(res.Bools, hashes)
		return c.news.added(res.Bools)
	}
	m.Mark(res.Marks, hashes)
	return c.news.count(fresh(res.Bools, res.Marks))
}

// fresh sets bools[i] to whether marks[i] is not 0, and returns how many are not. Mostly none is 0.
func fresh(bools []bool, marks []uint8) int {
	bools = bools[:len(marks)]
	if old := bytes.Count(marks, []byte{0}); old > 0 {
		for i, v := range marks {
			bools[i] = v != 0
		}
		return len(marks) - old
	}
	for ; len(bools) >= 8; bools = bools[8:] {
		*(*[8]bool)(bools) = [8]bool{true, true, true, true, true, true, true, true}
	}
	for i := range bools {
		bools[i] = true
	}
	return len(marks)
}

// insert inserts hashes. One that has no room does not stop the others. Those members
// of a quorum that stand before a full one have taken it.
func (c *Filter) insert(f bloomery.Inserter, hashes []uint64, res *Outcome) (grown int64) {
	before := c.growingBytes()
	_, quorum := c.f.(*composed.Quorum)
	for i, h := range hashes {
		res.Bools[i] = !c.f.ContainsHash(h)
		c.own.before(hashes[i : i+1])
		err := f.InsertHash(h)
		if err == nil {
			res.Changed = true
			continue
		}
		if res.Failed == nil {
			res.Failed, res.Err = make([]bool, len(hashes)), err
			res.Torn = quorum
		}
		res.Failed[i], res.Bools[i] = true, false
		res.Changed = res.Changed || quorum
	}
	c.news.added(res.Bools)
	res.All, res.Done = true, len(hashes)
	return c.growingBytes() - before
}

// steps returns how many steps an item takes, see maxSteps.
func (c *Filter) steps() (n uint64) {
	if c.f == nil {
		return 0
	}
	_, change := effort.Reach(c.f, 0)
	scattered := uint64(0)
	effort.EachMember(c.f, func(f bloomery.Hashed) {
		n++
		if f, ok := f.(interface{ Shape() sizing.Shape }); ok {
			scattered = max(scattered, scatterSteps(f.Shape().K))
		}
	})
	return max(n+change/effort.MovedBlock, scattered)
}

// growingBytes is Bytes of a filter that inserts can make grow, 0 of any other.
func (c *Filter) growingBytes() int64 {
	switch f := c.f.(type) {
	case *quotient.Growing:
		return int64(f.Stats().Bytes)
	case *composed.Quorum: // members that were loaded may grow
		return int64(c.Bytes())
	}
	return 0
}

// Delete deletes hashes, and returns by how many bytes that has grown. Bools says which were there.
func (c *Filter) Delete(hashes []uint64, res *Outcome) (grown int64) {
	f, ok := c.f.(bloomery.Deleter)
	if !ok {
		res.Err = ErrType
		return 0
	}
	before := c.growingBytes()
	res.Size(len(hashes))
	for i, h := range hashes {
		c.own.before(hashes[i : i+1])
		if res.Bools[i] = f.DeleteHash(h); res.Bools[i] {
			res.Changed = true
			if !c.news.unknown() && !c.f.ContainsHash(h) {
				c.news.removed()
			}
		}
	}
	res.Done = len(hashes)
	return c.growingBytes() - before
}

// Clear replaces the filter by an empty one that an outline describes, and returns by how many
// bytes that has grown.
func (s *Supply) Clear(c *Filter, outline []byte) (grown int64, err error) {
	o, err := codec.ParseOutline(outline)
	if err != nil {
		return 0, err
	}
	fresh, err := s.newContents(c.plan.Load(), s.arena.Sparse(), func(config codec.Config) (bloomery.Hashed, error) { return config.Make(&o) })
	if err != nil {
		return 0, err
	}
	before := c.Bytes()
	c.become(fresh)
	return int64(c.Bytes()) - int64(before), nil
}

// become replaces the filter of c by that of fresh.
func (c *Filter) become(fresh *Filter) {
	c.Release()
	c.f, c.own, c.news, c.aside = fresh.f, fresh.own, fresh.news, fresh.aside
	c.follow(fresh.plan.Load())
}

// follow gives the filter another plan. Its mark stays.
func (c *Filter) follow(plan *Shared) {
	mark := c.plan.Load().mark
	c.plan.Store(plan)
	if mark != plan.mark {
		c.SetMark(mark)
	}
}

// Mark returns the number of the last rebuild that the filter was marked with, 0 for none.
func (c *Filter) Mark() uint64 { return c.plan.Load().mark }

// Mark is that of the filter of a part, 0 of any other. It needs no lock.
func (p *Part) Mark() uint64 {
	if v := p.Shared(); v != nil {
		return v.mark
	}
	return 0
}

// SetMark notes the number of a rebuild. Plans are shared, so the filter gets its own.
func (c *Filter) SetMark(number uint64) {
	own := *c.plan.Load()
	own.mark = number
	c.plan.Store(&own)
}

// SetNews changes how many changes of the filter are kept for who follows it, and returns by how many
// bytes that has grown. It reports false if so many are kept, or may not be.
func (c *Filter) SetNews(news uint64) (grown int64, ok bool) {
	own := *c.plan.Load()
	if own.News == news || news > MaxNews {
		return 0, false
	}
	before := own.newsBytes()
	own.News = news
	c.plan.Store(&own)
	return int64(own.newsBytes()) - int64(before), true
}

// Release implements Contents.
func (c *Filter) Release() {
	if c.own != nil {
		c.own.release()
	}
	c.aside.release()
	c.f, c.own, c.aside = nil, nil, nil
}

// encode appends the encoding to b, and what the filter keeps aside.
func (c *Filter) encode(b []byte) ([]byte, error) {
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

// AppendHeader implements Contents.
func (c *Filter) AppendHeader(b []byte) []byte { return AppendPlan(b, &c.plan.Load().Plan) }

// ScanDump returns the encoding as one chunk.
func (c *Filter) ScanDump(iter int64) (next int64, chunk []byte) {
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
func newFilter(s *Supply, header []byte, here Here) ([]Contents, error) {
	p, o, err := parseCreation(header)
	if err != nil {
		return nil, err
	}
	kind, check := o.Hash()
	plan, err := s.share(p, o.Kind(), kind, check)
	if err != nil {
		return nil, err
	}
	parts, arena := make([]Contents, 0, 1<<p.Parts), s.empty(o.Bytes()<<p.Parts)
	for i := range 1 << p.Parts {
		held := here(i, &p)
		if !held && i > 0 {
			parts = append(parts, newElsewhere(catalog.Filter, plan))
			continue
		}
		c, err := s.newContents(plan, arena, func(config codec.Config) (bloomery.Hashed, error) { return config.Make(&o) })
		switch {
		case err != nil && (held || !errors.Is(err, ErrMemory)):
			for _, c := range parts {
				c.Release()
			}
			return nil, err
		case held:
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
