// Package following keeps the last changes of filters that are followed: a ring of numbered changes for
// each part, and who has asked for them. A follower names the last number that it has, and gets what
// came after it.
//
// It knows no records: package store says what each of them has changed.
package following

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

	rings   []*Ring
	last    atomic.Int64  // when somebody asked last, in milliseconds since 1970
	awaited atomic.Bool   // somebody waits for the next change
	passed  atomic.Uint64 // changes of parts that other nodes hold
	who     followers

	// Answer is the last answer that others may get as it is. It is not the store's.
	Answer atomic.Value
}

// Rings are those of all filters that are followed. Make them with Init.
//
// Safe for concurrent use.
type Rings struct {
	// mu guards changes of rings, of which there are some, or none.
	mu     sync.Mutex
	rings  sync.Map // *contents.Part: *Ring
	some   atomic.Int64
	bytes  *atomic.Int64 // counts the memory
	onNews atomic.Pointer[func(*News)]
}

// Init makes t ready to be used. Its memory is added to bytes.
func (t *Rings) Init(bytes *atomic.Int64) { t.bytes = bytes }

// OnNews has f called when something has happened to a filter that somebody waits for, under
// the lock of a part: it must take no lock.
func (t *Rings) OnNews(f func(*News)) { t.onNews.Store(&f) }

// Ring returns the ring of a part, nil if it is not followed.
func (t *Rings) Ring(p *contents.Part) *Ring {
	if t.some.Load() == 0 {
		return nil
	}
	v, _ := t.rings.Load(p)
	r, _ := v.(*Ring)
	return r
}

// News returns what happened to the filter of an entry, nil if it is not followed.
func (t *Rings) News(e *catalog.Entry) *News {
	r := t.Ring(contents.PartOf(e))
	if r == nil || len(r.of.rings) != contents.PartCount(e) {
		return nil
	}
	for i, p := range contents.Parts(e) {
		if ring := r.of.rings[i]; ring.part != p || !ring.asFor() { // it came from elsewhere, or FILTER.SET has changed it
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

// NewsBytes returns what News of a filter would take that is not counted yet.
func NewsBytes(e *catalog.Entry) (n uint64) {
	for _, p := range contents.Parts(e) {
		if p.Asked().News == 0 { // else they count with the filter
			p.RLock()
			n += newsRoom(p) * changeBytes(p)
			p.RUnlock()
		}
	}
	return n
}

// Follow begins to note what happens to the filter of an entry. The caller has set NewsBytes
// aside. Numbers of changes begin at first. What was noted of parts that are still there stays, and who has
// asked is not forgotten.
func (t *Rings) Follow(e *catalog.Entry, epoch uint64, first func() uint64) *News {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n := t.News(e); n != nil {
		return n // another one was first
	}
	n := &News{Epoch: epoch}
	var old *News
	for _, p := range contents.Parts(e) {
		r := t.Ring(p)
		if r != nil {
			old = r.of
		}
		p.Lock()
		if r == nil || !r.asFor() || old.Epoch != n.Epoch {
			room := newsRoom(p)
			r = &Ring{part: p, asked: p.Asked().News, seen: p.Changes(), next: first(), values: make([]uint64, room*uint64(newsWords(p)))}
			if r.Forget(); r.asked == 0 {
				r.bytes = int64(room * changeBytes(p))
			}
		}
		r.of = n
		p.Unlock()
		n.rings = append(n.rings, r)
	}
	for _, r := range n.rings { // all of them are there: News compares them
		if before, _ := t.rings.Swap(r.part, r); before != r {
			t.bytes.Add(r.bytes)
			t.some.Add(1)
			if r, ok := before.(*Ring); ok {
				t.dropped(r)
			}
		}
	}
	if old != nil {
		n.who.list = old.Followers()
		t.unfollow(old)
		if f := t.onNews.Load(); f != nil {
			(*f)(old) // who waits for it waits for n from now on
		}
	}
	return n
}

// dropped takes back what was counted for a ring.
func (t *Rings) dropped(r *Ring) {
	t.some.Add(-1)
	t.bytes.Add(-r.bytes)
}

// Unfollow forgets what has happened to a filter.
func (t *Rings) Unfollow(n *News) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.unfollow(n)
}

// unfollow is Unfollow under the lock.
func (t *Rings) unfollow(n *News) {
	for _, r := range n.rings {
		if r.of == n && t.rings.CompareAndDelete(r.part, r) {
			t.dropped(r)
		}
	}
}

// Followed returns the news of all filters that are followed.
func (t *Rings) Followed() (list []*News) {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := map[*News]struct{}{}
	for _, v := range t.rings.Range {
		all[v.(*Ring).of] = struct{}{}
	}
	return slices.Collect(maps.Keys(all))
}

// Kept reports whether so many changes were asked for: they are kept though nobody asks.
func (n *News) Kept() bool {
	return slices.ContainsFunc(n.rings, func(r *Ring) bool { return r.asked > 0 })
}

// Bytes returns the memory that n takes besides what counts with the filter.
func (n *News) Bytes() (sum int64) {
	for _, r := range n.rings {
		sum += r.bytes
	}
	return sum
}

// Changes returns a number that every change of a part raises. It takes the locks of the parts: a change that it does
// not count will find out who waits.
func (n *News) Changes() uint64 {
	sum := n.passed.Load()
	for _, r := range n.rings {
		r.part.RLock()
		sum += r.changes
		r.part.RUnlock()
	}
	return sum
}

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
	return slices.ContainsFunc(n.rings, func(r *Ring) bool {
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

// Changed says that all of a change is in a ring. The version of the part is that behind it.
func (t *Rings) Changed(r *Ring) {
	r.turn()
	r.seen = r.part.Changes()
	r.changes++
	t.tell(r.of)
}

// Passed notes that other nodes have changed a part that they hold. The caller holds its lock.
func (t *Rings) Passed(p *contents.Part) {
	if r := t.Ring(p); r != nil {
		r.of.passed.Add(1)
		t.tell(r.of)
	}
}

// tell has whoever waits for a change look at it.
func (t *Rings) tell(n *News) {
	if f := t.onNews.Load(); f != nil && n.Awaited() {
		(*f)(n)
	}
}

// Renamed has whoever waits for news of an entry look again, which has another name now.
func (t *Rings) Renamed(e *catalog.Entry) {
	if !MayBeFollowed(e.Kind) {
		return
	}
	if n, f := t.News(e), t.onNews.Load(); n != nil && f != nil {
		(*f)(n)
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
	if b := p.Bloom(); b != nil {
		return Encoding{b.Bytes(), true, b}, true
	}
	if c := p.Cuckoo(); c != nil {
		return Encoding{c.Bytes(), true, c}, true
	}
	if f := p.Filter(); f != nil {
		return Encoding{f.Stats().Bytes, false, f}, true
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
	if fork, done := p.Fork(); fork != nil {
		number := r.next
		p.Unlock()
		defer done()
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
