// Package catalog maps names to what they stand for: an id that is never
// reused, a kind, a deadline and a value.
//
// Names are spread over shards by a seeded hash, each shard a chained table
// with a lock of its own:
//
//	Catalog ── shard 0 ── buckets ─► Entry ─► Entry
//	        ├─ shard 1 ── …
//	        ├─ ids: id ─► Entry
//	        └─ staged: those without a name
//
// Changes are made by one writer at a time, between Lock and Unlock, in the
// order of the records that ask for them. Readers take a shard's lock alone, so
// a lookup waits for no writer elsewhere. The lock order is Catalog, then
// parts, then shards: under the lock of a shard its table is read or changed, and
// nothing else is locked.
package catalog

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/zeebo/xxh3"

	"github.com/bloomery/bloomery/server/internal/order"
)

// Kind says what a name stands for. The numbers are part of the log format.
type Kind uint8

// The kinds.
const (
	String Kind = 1 // a string of bytes
	Bloom  Kind = 2 // RedisBloom's BF
	Cuckoo Kind = 3 // RedisBloom's CF

	CountMin Kind = 16 // RedisBloom's CMS
	TopK     Kind = 17 // RedisBloom's TOPK
	TDigest  Kind = 18 // RedisBloom's TDIGEST
	Filter   Kind = 8  // a filter of package codec, of any of its kinds

	Layers Kind = 10 // names of filters that are asked one after the other

	// FilterPart is not the kind of a name: a snapshot lists the parts of a
	// filter behind the first as items of this kind.
	FilterPart Kind = 9
)

// shardBits is the logarithm of the number of shards: few enough to walk, many
// enough that growing one is short (1/256 of all names).
const shardBits = 8

// Staged is the deadline of an entry that has no name yet: see Stage. It is the smallest, so that such an entry is always past
// it: a record that evicts what has expired removes it.
const Staged = math.MinInt64

// Entry is what a name stands for. ID, Kind and Value never change; a name
// whose value is replaced gets a new entry. Name and Deadline belong to the
// shard's lock.
type Entry struct {
	ID    uint64
	Value any

	name     string
	deadline int64 // milliseconds since 1970, 0 for none
	next     *Entry
	hash     uint32
	Kind     Kind
}

// Catalog is a set of entries, each known by name and by id. Make it with New.
//
// Safe for concurrent use, as far as the comments of its methods go.
type Catalog struct {
	// writer is held by the one goroutine that changes names; see package order.
	writer order.Catalogue
	seed   uint64 // of the hash of names
	count  atomic.Int64
	bytes  atomic.Int64 // of all names
	timers timers
	shards [1 << shardBits]shard

	// idsMu guards ids and staged.
	idsMu  sync.RWMutex
	ids    map[uint64]*Entry // those that have a name
	staged map[uint64]*Entry // those that have none yet
}

// New returns an empty catalogue with a random seed.
func New() *Catalog {
	return &Catalog{seed: rand.Uint64(), ids: make(map[uint64]*Entry), staged: make(map[uint64]*Entry)}
}

// Seed returns the seed of the hash of names. Catalogues of one seed have names
// in the same places, so a cursor of one goes on in another.
func (c *Catalog) Seed() uint64 { return c.seed }

// Reseed gives every entry the place that another seed asks for. Cursors of
// before skip names or name them again. Nobody else may use the catalogue
// meanwhile.
func (c *Catalog) Reseed(seed uint64) {
	c.seed = seed
	for i := range c.shards {
		c.shards[i].buckets, c.shards[i].count = nil, 0
	}
	for _, e := range c.ids {
		s, h := c.place(e.name)
		e.hash, e.next = h, nil
		s.add(e)
	}
}

// Lock makes the caller the only writer. Insert, Remove, Rename, SetDeadline
// and Clear must be called between Lock and Unlock.
func (c *Catalog) Lock() { c.writer.Lock() }

// Unlock lets other writers in.
func (c *Catalog) Unlock() { c.writer.Unlock() }

// Lookup returns the entry of name, nil if there is none or its deadline is
// not after now.
func (c *Catalog) Lookup(name []byte, now int64) *Entry {
	s, h := c.placeBytes(name)
	s.mu.RLock()
	e := s.find(h, name)
	if e != nil && e.expired(now) {
		e = nil
	}
	s.mu.RUnlock()
	return e
}

// Deadline returns the entry of name and its deadline, 0 for none.
func (c *Catalog) Deadline(name []byte, now int64) (*Entry, int64) {
	s, h := c.placeBytes(name)
	s.mu.RLock()
	defer s.mu.RUnlock()
	e := s.find(h, name)
	if e == nil || e.expired(now) {
		return nil, 0
	}
	return e, e.deadline
}

// ByID returns the entry with an id, nil if there is none. It does not look at
// the deadline.
func (c *Catalog) ByID(id uint64) *Entry {
	c.idsMu.RLock()
	e := c.ids[id]
	if e == nil {
		e = c.staged[id]
	}
	c.idsMu.RUnlock()
	return e
}

// Get returns the entry of name whatever its deadline. Only the writer may
// call it.
func (c *Catalog) Get(name []byte) *Entry {
	s, h := c.placeBytes(name)
	return s.find(h, name)
}

// Name returns the name of an entry. Only the writer may call it.
func (e *Entry) Name() string { return e.name }

// When returns the deadline of an entry, 0 for none. Only the writer may call
// it.
func (e *Entry) When() int64 { return e.deadline }

// Expired reports whether the deadline of an entry is not after now. Only the
// writer may call it.
func (e *Entry) Expired(now int64) bool { return e.expired(now) }

func (e *Entry) expired(now int64) bool { return e.deadline != 0 && e.deadline <= now }

// Len returns the number of entries, those past their deadline included.
func (c *Catalog) Len() int { return int(c.count.Load()) }

// NameBytes returns how long all names are together.
func (c *Catalog) NameBytes() int { return int(c.bytes.Load()) }

// Insert adds an entry. The name and the id must be new.
func (c *Catalog) Insert(name string, id uint64, kind Kind, deadline int64, value any) *Entry {
	return c.Replace(nil, name, id, kind, deadline, value)
}

// Replace adds an entry in the place of old, which has the same name and goes.
// Readers see one or the other, never none. The id must be new, and the name if
// old is nil.
func (c *Catalog) Replace(old *Entry, name string, id uint64, kind Kind, deadline int64, value any) *Entry {
	s, h := c.place(name)
	e := &Entry{ID: id, Kind: kind, Value: value, name: name, deadline: deadline, hash: h}
	s.mu.Lock()
	if old != nil {
		s.remove(old)
	}
	s.add(e)
	s.mu.Unlock()
	c.idsMu.Lock()
	c.ids[id] = e
	delete(c.staged, id)
	c.idsMu.Unlock()
	c.count.Add(1)
	c.bytes.Add(int64(len(name)))
	c.timers.set(e.ID, deadline, 0)
	c.forget(old)
	return e
}

// forget lets go of an entry that no name leads to any more. It may be nil.
func (c *Catalog) forget(e *Entry) {
	if e == nil {
		return
	}
	c.idsMu.Lock()
	delete(c.ids, e.ID)
	c.idsMu.Unlock()
	c.count.Add(-1)
	c.bytes.Add(-int64(len(e.name)))
	c.timers.set(e.ID, 0, e.deadline)
}

// Stage adds an entry that is known by its id only, until Reveal gives it a
// name. It counts as past its deadline.
func (c *Catalog) Stage(id uint64, kind Kind, value any) *Entry {
	e := &Entry{ID: id, Kind: kind, Value: value, deadline: Staged}
	c.idsMu.Lock()
	c.staged[id] = e
	c.idsMu.Unlock()
	return e
}

// Staged reports whether an entry has no name yet. Only the writer may call it.
func (e *Entry) Staged() bool { return e.deadline == Staged }

// Reveal returns the entry that a staged one becomes under a name and a deadline,
// in the place of old as Replace does.
func (c *Catalog) Reveal(e, old *Entry, name string, deadline int64) *Entry {
	return c.Replace(old, name, e.ID, e.Kind, deadline, e.Value)
}

// Revalue returns the entry that stands in the place of e from here on: the same but for
// its value. Whoever has found e keeps what it stood for.
func (c *Catalog) Revalue(e *Entry, value any) *Entry {
	fresh := &Entry{ID: e.ID, Kind: e.Kind, Value: value, name: e.name, deadline: e.deadline, hash: e.hash}
	c.idsMu.Lock()
	if e.Staged() {
		c.staged[e.ID] = fresh
	} else {
		c.ids[e.ID] = fresh
	}
	c.idsMu.Unlock()
	if !e.Staged() {
		s, _ := c.place(e.name)
		s.mu.Lock()
		s.remove(e)
		s.add(fresh)
		s.mu.Unlock()
	}
	return fresh
}

// Remove takes an entry out.
func (c *Catalog) Remove(e *Entry) {
	if e.Staged() {
		c.idsMu.Lock()
		delete(c.staged, e.ID)
		c.idsMu.Unlock()
		return
	}
	s, _ := c.place(e.name)
	s.mu.Lock()
	s.remove(e)
	s.mu.Unlock()
	c.forget(e)
}

// Rename gives an entry the name of old, which goes, or a free one if old is nil.
// Readers see the entry under one name or the other, never under none.
func (c *Catalog) Rename(e, old *Entry, name string) {
	from, _ := c.place(e.name)
	to, h := c.place(name)
	unlock := lockBoth(from, to)
	from.remove(e)
	if old != nil {
		to.remove(old)
	}
	c.bytes.Add(int64(len(name) - len(e.name)))
	e.name, e.hash = name, h
	to.add(e)
	unlock()
	c.forget(old)
}

// SetDeadline sets the deadline of an entry; 0 takes it away.
func (c *Catalog) SetDeadline(e *Entry, deadline int64) {
	s, _ := c.place(e.name)
	s.mu.Lock()
	old := e.deadline
	e.deadline = deadline
	s.mu.Unlock()
	c.timers.set(e.ID, deadline, old)
}

// Clear removes every entry that has a name and returns them, by id. That takes
// the same short time however many there are: whoever has to do something about
// each of them does so when the locks are free again.
func (c *Catalog) Clear() (gone map[uint64]*Entry) {
	for i := range c.shards {
		c.shards[i].mu.Lock()
	}
	c.idsMu.Lock()
	gone, c.ids = c.ids, make(map[uint64]*Entry)
	c.idsMu.Unlock()
	for i := range c.shards {
		s := &c.shards[i]
		s.buckets, s.count = nil, 0
		s.mu.Unlock()
	}
	c.count.Store(0)
	c.bytes.Store(0)
	c.timers.clear()
	return gone
}

// Unnamed returns the entries that have no name yet. Only the writer may call it.
func (c *Catalog) Unnamed() []*Entry { return slices.Collect(maps.Values(c.staged)) }

// Timed returns the number of entries that have a deadline.
func (c *Catalog) Timed() int { return c.timers.live() }

// Due returns up to most ids whose deadline is not after now, those with the
// earliest deadlines. It returns them again until they are removed or have
// another deadline, so none is forgotten if the record that removes them is not
// kept. It may name an entry whose deadline has changed since: the record that
// removes one says up to which deadline.
func (c *Catalog) Due(now int64, most int) []uint64 { return c.timers.due(now, most) }

// Unsorted returns every entry. Only the writer may call it.
func (c *Catalog) Unsorted() []*Entry {
	all := make([]*Entry, 0, len(c.ids)+len(c.staged))
	for _, e := range c.ids {
		all = append(all, e)
	}
	for _, e := range c.staged {
		all = append(all, e)
	}
	return all
}

// All returns every entry in the order of ids. Only the writer may call it.
func (c *Catalog) All() []*Entry {
	all := c.Unsorted()
	slices.SortFunc(all, func(a, b *Entry) int {
		if a.ID < b.ID {
			return -1
		}
		return 1
	})
	return all
}

// place returns the shard of a name and the part of its hash that the shard
// uses.
func (c *Catalog) place(name string) (*shard, uint32) {
	h := xxh3.HashStringSeed(name, c.seed)
	return &c.shards[h>>(64-shardBits)], uint32(h)
}

// placeBytes is place for bytes.
func (c *Catalog) placeBytes(name []byte) (*shard, uint32) {
	h := xxh3.HashSeed(name, c.seed)
	return &c.shards[h>>(64-shardBits)], uint32(h)
}
