package store

// News: what happened to filters that are followed.

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/bloomery/bloomery/internal/news"
	"github.com/bloomery/bloomery/internal/redisbloom"
	"github.com/bloomery/bloomery/quotient"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/contents"
)

// News is what happened last to a filter that is followed: a ring of changes for each of its
// parts. It is in memory alone: after a start nobody knows what a copy lacks.
//
// Safe for concurrent use.
type News struct {
	// Epoch tells these changes from those of any other time: it is random. In a cluster it is
	// that of the filter, at all nodes, and the numbers of rings begin at random.
	Epoch uint64

	rings   []*ring
	asked   uint64        // how many changes were asked for, 0 for a share of the filter
	last    atomic.Int64  // when somebody asked last, in milliseconds since 1970
	awaited atomic.Bool   // somebody waits for the next change
	changes atomic.Uint64 // of all parts, those that other nodes hold too
	who     followers

	// Answer is the last answer that others may get as it is. It is not the store's.
	Answer atomic.Value
}

// ring is the last changes of a part, under its lock.
type ring struct {
	of     *News // changes under the lock of followed, too
	part   *contents.Part
	bytes  int64       // that the state counts for it
	values []uint64    // of each change as many as words says
	steps  []news.Step // nil for a filter of bits
	marks  []uint8     // for a filter of bits: which bits of the hash were not set before
	noted  []uint8     // the marks of the record that is applied
	before uint64      // how many layers a BF had before it, or how many deletes a CF
	next   uint64      // the number of the next change
	first  uint64      // that of the first that is still there
	seen   uint64      // the version of the part behind the last change: another one has got past the ring
}

// followed are the filters that are followed.
//
// Safe for concurrent use.
type followed struct {
	// mu guards changes of rings, of which there are some, or none.
	mu    sync.Mutex
	rings sync.Map // *Part: *ring
	some  atomic.Int64
}

// OnNews has f called when something has happened to a filter that somebody waits for, under
// the lock of a part: it must take no lock.
func (s *State) OnNews(f func(*News)) { s.onNews.Store(&f) }

// ring returns the ring of a part, nil if it is not followed.
func (s *State) ring(p *contents.Part) *ring {
	if s.followed.some.Load() == 0 {
		return nil
	}
	v, _ := s.followed.rings.Load(p)
	r, _ := v.(*ring)
	return r
}

// News returns what happened to the filter of an entry, nil if it is not followed.
func (s *State) News(e *catalog.Entry) *News {
	r := s.ring(contents.PartOf(e))
	if r == nil || len(r.of.rings) != contents.PartCount(e) {
		return nil
	}
	for i, p := range contents.Parts(e) {
		if r.of.rings[i].part != p || p.Asked().News != r.of.asked { // it came from elsewhere, or FILTER.SET has changed it
			return nil
		}
	}
	return r.of
}

// OfBits reports whether news of a filter say which bits were set. Those of all others have
// the hashes of its items.
func OfBits(e *catalog.Entry) bool {
	row := contents.PartOf(e).Row()
	return e.Kind == catalog.Bloom || row != nil && contents.PlainBits(row.Name)
}

// MayBeFollowed reports whether contents of a kind have news.
func MayBeFollowed(k catalog.Kind) bool {
	return k == catalog.Filter || k == catalog.Bloom || k == catalog.Cuckoo
}

// newsShare is the part of the memory of a filter that its news may take, if nobody has asked
// for more.
const newsShare = 4

// newsWords is how many values a change has: the digest of an item of a BF is two.
func newsWords(p *contents.Part) int {
	if p.Bloom() != nil {
		return 2
	}
	return 1
}

// changeBytes is what a change takes: its values, and a step or a mark.
func changeBytes(p *contents.Part) uint64 { return 8*uint64(newsWords(p)) + 1 }

// NewsBytes returns what News of a filter would take that is not counted yet.
func NewsBytes(e *catalog.Entry) (n uint64) {
	if contents.PartOf(e).Asked().News > 0 {
		return 0 // they count with the filter
	}
	for _, p := range contents.Parts(e) {
		p.RLock()
		n += newsRoom(p) * changeBytes(p)
		p.RUnlock()
	}
	return n
}

// newsRoom returns how many changes of a part are kept here. The caller holds a lock.
func newsRoom(p *contents.Part) uint64 {
	switch plan := p.Asked(); {
	case p.Elsewhere():
		return 0
	case plan.News > 0:
		return plan.NewsRoom()
	}
	return max(1, p.Bytes()/newsShare/changeBytes(p))
}

// Follow begins to note what happens to the filter of an entry. The caller has set NewsBytes
// aside. Numbers of changes begin at first. What was noted of parts that are still there stays, and who has
// asked is not forgotten.
func (s *State) Follow(e *catalog.Entry, epoch uint64, first func() uint64) *News {
	s.followed.mu.Lock()
	defer s.followed.mu.Unlock()
	if n := s.News(e); n != nil {
		return n // another one was first
	}
	n := &News{Epoch: epoch, asked: contents.PartOf(e).Asked().News}
	var old *News
	for _, p := range contents.Parts(e) {
		r := s.ring(p)
		if r != nil {
			old = r.of
		}
		p.Lock()
		if r == nil || old.asked != n.asked || old.Epoch != n.Epoch {
			room := newsRoom(p)
			r = &ring{part: p, seen: p.Changes(), next: first(), values: make([]uint64, room*uint64(newsWords(p)))}
			if r.forget(); n.asked == 0 {
				r.bytes = int64(room * changeBytes(p))
			}
		}
		r.of = n
		p.Unlock()
		n.rings = append(n.rings, r)
	}
	for _, r := range n.rings { // all of them are there: News compares them
		if before, _ := s.followed.rings.Swap(r.part, r); before != r {
			s.bytes.Add(r.bytes)
			s.followed.some.Add(1)
			if r, ok := before.(*ring); ok {
				s.dropped(r)
			}
		}
	}
	if old != nil {
		n.who.list = old.Followers()
		s.unfollow(old)
		if f := s.onNews.Load(); f != nil {
			(*f)(old) // who waits for it waits for n from now on
		}
	}
	return n
}

// dropped takes back what was counted for a ring.
func (s *State) dropped(r *ring) {
	s.followed.some.Add(-1)
	s.bytes.Add(-r.bytes)
}

// Unfollow forgets what has happened to a filter.
func (s *State) Unfollow(n *News) {
	s.followed.mu.Lock()
	defer s.followed.mu.Unlock()
	s.unfollow(n)
}

// unfollow is Unfollow under the lock.
func (s *State) unfollow(n *News) {
	for _, r := range n.rings {
		if r.of == n && s.followed.rings.CompareAndDelete(r.part, r) {
			s.dropped(r)
		}
	}
}

// Followed returns the news of all filters that are followed.
func (s *State) Followed() (list []*News) {
	s.followed.mu.Lock()
	defer s.followed.mu.Unlock()
	all := map[*News]struct{}{}
	for _, v := range s.followed.rings.Range {
		all[v.(*ring).of] = struct{}{}
	}
	return slices.Collect(maps.Keys(all))
}

// Kept reports whether so many changes were asked for: they are kept though nobody asks.
func (n *News) Kept() bool { return n.asked > 0 }

// Bytes returns the memory that n takes besides what counts with the filter.
func (n *News) Bytes() (sum int64) {
	for _, r := range n.rings {
		sum += r.bytes
	}
	return sum
}

// Changes returns a number that every change of a part raises.
func (n *News) Changes() uint64 { return n.changes.Load() }

// Asked notes that somebody has asked, at a time in milliseconds since 1970.
func (n *News) Asked(at int64) { n.last.Store(at) }

// LastAsked returns when somebody asked last, in milliseconds since 1970.
func (n *News) LastAsked() int64 { return n.last.Load() }

// Await says whether somebody waits for the next change.
func (n *News) Await(yes bool) { n.awaited.Store(yes) }

// Awaited reports whether somebody waits for the next change.
func (n *News) Awaited() bool { return n.awaited.Load() }

// Stale reports whether something has happened that the rings do not have: the filter is gone,
// or it was replaced.
func (n *News) Stale() bool {
	return slices.ContainsFunc(n.rings, func(r *ring) bool {
		r.part.RLock()
		defer r.part.RUnlock()
		return r.part.Gone() || r.seen != r.part.Changes()
	})
}

// Knows reports whether the changes of a part from a number on are known.
func (n *News) Knows(part int, number uint64) bool {
	r := n.rings[part]
	r.part.RLock()
	defer r.part.RUnlock()
	return r.knows(number)
}

// knows is Knows under the lock of the part.
func (r *ring) knows(number uint64) bool {
	return !r.part.Gone() && r.seen == r.part.Changes() && number >= r.first && number <= r.next
}

// prepare remembers the state of the part that is compared with the one after the record, before
// the record is applied. It returns where a FilterAdd is to leave the marks of its hashes, and nil
// for all others.
func (r *ring) prepare(body Body) []uint8 {
	switch o := body.(type) {
	case *FilterAdd:
		if r.steps == nil {
			return r.room(len(o.Hashes))
		}
	case *BloomAdd:
		b := r.part.Bloom()
		r.before = uint64(b.Layers())
		b.Mark(r.room(len(o.Digests)), o.Digests)
	case *CuckooDelete:
		r.before = r.part.Cuckoo().Deletes()
	}
	return nil
}

// room makes room for n marks.
func (r *ring) room(n int) []uint8 {
	r.noted = slices.Grow(r.noted[:0], n)[:n]
	return r.noted
}

// size is how many changes the ring has room for.
func (r *ring) size() uint64 { return uint64(len(r.values) / newsWords(r.part)) }

// turn forgets what was overwritten.
func (r *ring) turn() {
	if size := r.size(); r.next-r.first > size {
		r.first = r.next - size
	}
}

// put notes a step.
func (r *ring) put(s news.Step, v uint64) {
	at := r.next % uint64(len(r.values))
	r.values[at], r.steps[at] = v, s
	r.next++
}

// mostOld is of how many hashes one may have been there before for all of them to be noted at once.
const mostOld = 8

// bits notes the hashes that were new, and which of their bits. A few others do no harm, and are
// noted with them: their marks name no bits.
func (r *ring) bits(hashes []uint64) {
	noted := r.noted[:len(hashes)]
	if mostOld*bytes.Count(noted, []byte{0}) <= len(noted) {
		r.copy(hashes, noted)
		return
	}
	for len(hashes) > 0 {
		old := 0
		for old < len(noted) && noted[old] == 0 {
			old++
		}
		end := bytes.IndexByte(noted[old:], 0)
		if end += old; end < old {
			end = len(noted)
		}
		r.copy(hashes[old:end], noted[old:end])
		hashes, noted = hashes[end:], noted[end:]
	}
}

// copy notes hashes with their marks.
func (r *ring) copy(hashes []uint64, marks []uint8) {
	for len(hashes) > 0 {
		at := r.next % uint64(len(r.values))
		n := copy(r.values[at:], hashes)
		copy(r.marks[at:], marks)
		r.next += uint64(n)
		hashes, marks = hashes[n:], marks[n:]
	}
}

// digests notes the digests that were new to a BF. Its layers are as before.
func (r *ring) digests(ds []redisbloom.Digest, fresh []bool) {
	for i, d := range ds {
		if fresh[i] {
			at := r.next % r.size()
			r.values[2*at], r.values[2*at+1], r.marks[at] = d.A, d.B, r.noted[i]
			r.next++
		}
	}
}

// deleted notes what was deleted from a CF, unless it was compacted behind that.
func (r *ring) deleted(hashes []uint64, there []bool) {
	n := uint64(0)
	for i, h := range hashes {
		if there[i] {
			r.put(news.Delete, h)
			n++
		}
	}
	if r.part.Cuckoo().Deletes() != r.before+n {
		r.forget()
	}
}

// forget forgets all changes: what has happened cannot be said in steps.
func (r *ring) forget() {
	r.next++
	r.first = r.next
	_, bits := r.part.Filter().(contents.Marker) // it may be of another kind than before
	if bits || r.part.Bloom() != nil {
		r.steps, r.marks = nil, make([]uint8, r.size())
	} else {
		r.steps, r.marks = make([]news.Step, len(r.values)), nil
	}
}

// after notes what a record has changed. The version of the part is that behind it.
func (r *ring) after(s *State, body Body, res *Result) {
	if r.seen+1 != r.part.Changes() { // something has got past the ring before
		body = nil
	}
	switch o := body.(type) {
	case *FilterAdd:
		if r.steps == nil {
			r.bits(o.Hashes)
			break
		}
		for i, h := range o.Hashes[:res.Done] {
			if res.Kept(i) {
				r.put(news.Add, h)
			}
		}
	case *FilterDelete:
		for i, h := range o.Hashes[:res.Done] {
			if res.Bools[i] {
				r.put(news.Delete, h)
			}
		}
	case *FilterAdvance:
		r.put(news.Advance, o.Generation)
	case *FilterGone, *FilterMark: // its bits are what they were
	case *BloomAdd:
		if uint64(r.part.Bloom().Layers()) != r.before {
			r.forget()
			break
		}
		r.digests(o.Digests[:res.Done], res.Bools)
	case *CuckooInsert:
		for i, h := range o.Hashes[:res.Done] {
			if res.Codes[i] == Inserted {
				r.put(news.Add, h)
			}
		}
	case *CuckooDelete:
		r.deleted(o.Hashes[:res.Done], res.Bools)
	default:
		r.forget()
	}
	r.turn()
	r.seen = r.part.Changes()
	r.of.changes.Add(1)
	if f := s.onNews.Load(); f != nil && r.of.Awaited() {
		(*f)(r.of)
	}
}

// passed notes that other nodes have changed a part that they hold. The caller holds its lock.
func (s *State) passed(p *contents.Part) {
	if r := s.ring(p); r != nil {
		r.of.changes.Add(1)
		if f := s.onNews.Load(); f != nil && r.of.Awaited() {
			(*f)(r.of)
		}
	}
}

// renamed has whoever waits for news of an entry look again, which has another name now.
func (s *State) renamed(e *catalog.Entry) {
	if !MayBeFollowed(e.Kind) {
		return
	}
	if n, f := s.News(e), s.onNews.Load(); n != nil && f != nil {
		(*f)(n)
	}
}

// current forgets everything if something has got past the ring. The caller holds the lock of
// the part.
func (r *ring) current() {
	if r.seen != r.part.Changes() {
		r.forget()
		r.seen = r.part.Changes()
	}
}

// Encoding is the filter of a part, as copies get it.
type Encoding struct {
	Size   uint64 // how many bytes it has, give or take a few
	Dumped bool   // it is a BF or CF, as DUMP answers it; else an encoding of package codec
	of     any
}

// Bytes returns the encoding.
func (e *Encoding) Bytes() ([]byte, error) {
	switch f := e.of.(type) {
	case interface{ Payload() []byte }:
		return f.Payload(), nil
	case io.WriterTo:
		b := bytes.NewBuffer(make([]byte, 0, e.Size+e.Size>>16+4096))
		_, err := f.WriteTo(b)
		return b.Bytes(), err
	}
	return nil, fmt.Errorf("a %T has no encoding", e.of)
}

// encoding returns the filter of a part. It reports false if there is none. The caller holds a
// lock of the part for as long as the encoding is used.
func encoding(p *contents.Part) (e Encoding, ok bool) {
	switch c := p.Contents().(type) {
	case contents.Bloom:
		return Encoding{c.Bytes(), true, c.Bloom}, true
	case contents.Cuckoo:
		return Encoding{c.Bytes(), true, c.Cuckoo}, true
	case *contents.Filter:
		return Encoding{p.Filter().Stats().Bytes, false, p.Filter()}, true
	}
	return e, false
}

// Whole calls do with the filter of a part, and returns the number of the next change. do may
// read the filter until it returns. It returns ErrRetry if the filter is gone.
func (n *News) Whole(part int, do func(Encoding) error) (number uint64, err error) {
	r := n.rings[part]
	p := r.part
	p.Lock()
	r.current()
	if g, ok := p.Filter().(*quotient.Growing); ok && !p.Gone() {
		fork, number := g.Fork(), r.next
		p.Unlock()
		return number, do(Encoding{fork.Stats().Bytes, false, fork})
	}
	p.Unlock()
	p.RLock()
	defer p.RUnlock()
	e, ok := encoding(p)
	if p.Gone() || !ok || r.seen != p.Changes() {
		return 0, contents.ErrRetry
	}
	return r.next, do(e)
}

// Changes are what happened to a part. Without steps the values are positions of bits.
type Changes struct {
	Steps  []news.Step
	Values []uint64
	Added  uint64 // items of a BF that have set the bits
	Next   uint64 // the number behind them
	More   bool   // there are others from there on
}

// Since returns the changes of a part from a number on, most of them at most. It reports false
// if they are not known any more, or never were.
func (n *News) Since(part int, number uint64, most int) (c Changes, ok bool) {
	r := n.rings[part]
	r.part.RLock()
	defer r.part.RUnlock()
	if !r.knows(number) {
		return c, false
	}
	f, _ := r.part.Filter().(contents.Marker)
	b := r.part.Bloom()
	if f != nil && r.steps == nil {
		number = r.behindOld(number)
	}
	c.Next = min(r.next, number+uint64(most))
	c.More = c.Next < r.next
	if b != nil {
		c.Added = c.Next - number
	}
	for size := r.size(); number < c.Next; number++ {
		at := number % size
		switch {
		case b != nil:
			c.Values = b.MarkedBits(c.Values, redisbloom.Digest{A: r.values[2*at], B: r.values[2*at+1]}, r.marks[at])
		case r.steps != nil:
			c.Values, c.Steps = append(c.Values, r.values[at]), append(c.Steps, r.steps[at])
		case f != nil:
			c.Values = f.MarkedBits(c.Values, r.values[at:at+1], r.marks[at:at+1])
		}
	}
	return c, true
}

// behindOld returns the first number from one on whose change names bits: changes that name none are no news.
func (r *ring) behindOld(number uint64) uint64 {
	for number < r.next && r.marks[number%r.size()] == 0 {
		number++
	}
	return number
}
