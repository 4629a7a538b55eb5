package store

// What this node has of shards.

import (
	"fmt"
	"slices"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/placement"
	"github.com/bloomery/bloomery/server/internal/roster"
)

// SetNode says which node of the cluster this is.
func (s *State) SetNode(number uint32) {
	s.Names.Lock()
	defer s.Names.Unlock()
	if s.node == number {
		return
	}
	s.node = number
	if r := s.Roster(); r.Spread() {
		s.hold(roster.NewHoldings(number, nil), r)
	}
}

// Holdings returns what this node has of shards, nil if every node has everything.
func (s *State) Holdings() *roster.Holdings { return s.holdings.Load() }

// Resume takes over what a snapshot says of shards, when its entries and its roster are in
// the state. Contents of other shards go. The error wraps bloomery.ErrCorrupt.
func (s *State) Resume(number uint32, held []roster.Held) error {
	err := s.resume(number, held)
	s.Sweep()
	return err
}

func (s *State) resume(number uint32, held []roster.Held) error {
	s.Names.Lock()
	defer s.Names.Unlock()
	s.node = number
	r := s.Roster()
	if !r.Spread() {
		return nil
	}
	h := roster.NewHoldings(number, held)
	for _, e := range s.Names.Unsorted() {
		for i, p := range contents.Parts(e) { // nobody else has them yet
			if p.Elsewhere() && (p.Wide() || h.Whole(p.Shard())) {
				return fmt.Errorf("%w: the contents of part %d of id %d are not there", bloomery.ErrCorrupt, i, e.ID)
			}
		}
	}
	s.hold(h, r)
	return nil
}

// Divide has a state, which is empty, take of what it is filled with the contents alone that a
// table gives to a node, and what stands in the place of the others. Names decide in which
// shard a filter lies.
func (s *State) Divide(node uint32, table *roster.Shards) {
	h := roster.NewHoldings(node, roster.Everything(node, table))
	h.Follow(table)
	s.node = node
	s.holdings.Store(h)
}

// Divided reports whether Divide was called, and the state has no roster yet.
func (s *State) Divided() bool { return s.holdings.Load() != nil && s.Roster() == nil }

// Part returns p, which was read for a state that is divided, or what stands in its place if
// the node is not to have it. What is to take the place of a filter stays: it is gone soon, or
// has the name.
func (s *State) Part(p *contents.Part, shard int) *contents.Part {
	if p.Wide() || s.keeps(shard) || contents.Is[*contents.Draft](p.Contents()) {
		return p
	}
	q := p.StandIn()
	p.Discard()
	return q
}

// follow has the contents of this node be those that the table says.
func (s *State) follow(before, now *roster.Roster) {
	if s.node == 0 || !now.Spread() || before != nil && before.Shards == now.Shards {
		return
	}
	if h := s.holdings.Load(); h != nil {
		s.hold(h.Clone(), now)
		return
	}
	s.hold(roster.NewHoldings(s.node, roster.Everything(s.node, now.Shards)), now)
}

// hold makes h the holdings of this node, as far as the table goes. The caller holds the
// catalogue's lock.
func (s *State) hold(h *roster.Holdings, r *roster.Roster) {
	h.Follow(r.Shards)
	s.holdings.Store(h)
	s.littered.Store(true)
}

// keeps reports whether this node is to have a part of a shard that is made now.
func (s *State) keeps(shard int) bool {
	h := s.holdings.Load()
	return h == nil || h.Keeps(shard)
}

// Answers reports whether this node answers for a part: it has the contents, and is to be
// asked for them. It needs no lock.
func (s *State) Answers(p *contents.Part) bool {
	h := s.holdings.Load()
	return h == nil || p.Wide() || h.Answers(p.Shard())
}

// PlaceOf returns which nodes have something of a part, nil if all have it. It needs no lock.
func (s *State) PlaceOf(p *contents.Part) *roster.Place {
	r := s.Roster()
	if p.Wide() || !r.Spread() {
		return nil
	}
	return &r.Shards.Places[p.Shard()]
}

// Yield says that this node has retired from a shard, as the table says, and nothing of its
// own is on the way any more: Sweep may let go of it.
func (s *State) Yield(shard int) {
	s.Names.Lock()
	defer s.Names.Unlock()
	if h := s.holdings.Load(); h != nil && h.Retires(shard) {
		h = h.Clone()
		h.Drop(shard)
		s.holdings.Store(h)
		s.littered.Store(true)
	}
}

// sweepAtOnce is how many entries Sweep looks at while others wait.
const sweepAtOnce = 256

// Sweep lets go of the contents of shards that this node is not to have any more. Nobody is
// answered from them, and snapshots have none of them. It is not done where the table
// changes: there may be millions of entries, which are looked at in pieces.
func (s *State) Sweep() {
	if !s.littered.Swap(false) {
		return
	}
	s.Names.Lock()
	all := s.Names.Unsorted()
	s.Names.Unlock()
	for some := range slices.Chunk(all, sweepAtOnce) {
		s.Names.Lock()
		h := s.holdings.Load()
		for _, e := range some {
			if e = s.Names.ByID(e.ID); e != nil && contents.PartOf(e) != nil {
				s.yield(e, h)
			}
		}
		s.Names.Unlock()
	}
}

// yield lets go of the parts of an entry that this node is not to have.
func (s *State) yield(e *catalog.Entry, h *roster.Holdings) {
	s.replaceParts(e, func(p *contents.Part) *contents.Part {
		if p.Wide() || p.Void() || p.Elsewhere() || h.Keeps(p.Shard()) {
			return p
		}
		return p.StandIn()
	})
}

// PartID names a part of a filter.
type PartID struct {
	ID    uint64 // of the filter
	Index uint32
}

// Learning is a copy of a shard that a node is to learn, and the parts that it lacks.
type Learning struct {
	roster.Held
	Parts []PartID
}

// ToLearn returns what this node is to learn, in the order of shards. New parts of those are made
// here, so none comes to be missing later.
func (s *State) ToLearn() (list []Learning) {
	h := s.holdings.Load()
	if h == nil {
		return nil
	}
	at := map[int]int{}
	for shard := range placement.Shards {
		if since := h.Learns(shard); since != 0 {
			at[shard] = len(list)
			list = append(list, Learning{Held: roster.Held{Shard: shard, Since: since}})
		}
	}
	if len(list) == 0 {
		return nil
	}
	s.Names.Lock()
	all := s.Names.Unsorted()
	s.Names.Unlock()
	for _, e := range all {
		for i, p := range contents.Parts(e) {
			if k, ok := at[p.Shard()]; ok && lacks(p) {
				list[k].Parts = append(list[k].Parts, PartID{e.ID, uint32(i)})
			}
		}
	}
	return list
}

// ShardBytes returns how many bytes of each shard are here.
func (s *State) ShardBytes() []uint64 {
	sizes := make([]uint64, placement.Shards)
	s.Names.Lock()
	all := s.Names.Unsorted()
	s.Names.Unlock()
	for _, e := range all {
		for _, p := range contents.Parts(e) {
			p.RLock()
			if !p.Wide() && !p.Gone() && !p.Elsewhere() {
				sizes[p.Shard()] += p.Bytes()
			}
			p.RUnlock()
		}
	}
	return sizes
}

// lacks reports whether other nodes hold the contents of a part, which may have no name yet.
func lacks(p *contents.Part) bool {
	p.RLock()
	defer p.RUnlock()
	return p.Elsewhere()
}

// Learned says that all parts of a shard are here that this node was to learn as a copy. It
// reports false if it is another one, or a part is not here.
func (s *State) Learned(v roster.Held) bool {
	i := slices.IndexFunc(s.ToLearn(), func(l Learning) bool { return l.Held == v && len(l.Parts) == 0 })
	if i < 0 {
		return false
	}
	s.Names.Lock()
	defer s.Names.Unlock()
	h := s.holdings.Load()
	if h.Learns(v.Shard) != v.Since { // it is another one meanwhile
		return false
	}
	h = h.Clone()
	h.Complete(v.Shard)
	s.holdings.Store(h)
	return true
}

// Install puts a part that this node has learned into the place of one that others have
// held. It is of the copy v, and has all records up to where its lane is, which does not go
// on meanwhile. It reports false if the part is not to be learned, or there already: then p
// is the caller's as before. The state has counted the bytes of p since Count.
func (s *State) Install(id uint64, index uint32, p *contents.Part, v roster.Held) bool {
	if s.Names.ByID(id) != nil && s.ShadowByID(id) == nil && s.settleLent(p) != nil { // it may have to be built: not under the lock
		return false
	}
	s.Names.Lock()
	defer s.Names.Unlock()
	e := s.Names.ByID(id)
	if e == nil {
		return false
	}
	old, h := contents.PartAt(e, index), s.holdings.Load()
	if old == nil || !old.Elsewhere() || old.Shard() != v.Shard || h == nil || v.Since == 0 || h.Learns(v.Shard) != v.Since {
		return false
	}
	if s.ShadowByID(id) == nil && s.settleLent(p) != nil { // it was lent before a swap, which has just come
		return false
	}
	p.Stand(old)
	s.bytes.Add(-int64(p.Bytes())) // replaceParts counts it
	s.replaceParts(e, func(q *contents.Part) *contents.Part {
		if q == old {
			return p
		}
		return q
	})
	return true
}

// Count counts the bytes of a part that is being learned, and Uncount those of one that was
// given up.
func (s *State) Count(p *contents.Part) { s.bytes.Add(int64(p.Bytes())) }

// Uncount undoes Count, and gives the memory back.
func (s *State) Uncount(p *contents.Part) {
	s.bytes.Add(-int64(p.Bytes()))
	p.Discard()
}

// replaceParts puts parts in the place of others: by returns them, under a lock of the old
// one. The entry is another one then: whoever has the old one finds that its parts are gone,
// and looks again. The caller holds the catalogue's lock.
func (s *State) replaceParts(e *catalog.Entry, by func(*contents.Part) *contents.Part) {
	var parts, gone []*contents.Part
	for i, p := range contents.Parts(e) {
		p.RLock()
		q := by(p)
		p.RUnlock()
		parts = append(parts, q)
		if q != p {
			gone = append(gone, p)
			q.Number(e.ID + uint64(i))
			s.bytes.Add(int64(q.Bytes()))
		}
	}
	if len(gone) == 0 {
		return
	}
	fresh := s.Names.Revalue(e, contents.Value(parts))
	if sh := s.ShadowByID(e.ID); sh != nil {
		sh.SetEntry(fresh)
		s.passTime(fresh, sh.Plan())
	} else if !fresh.Staged() {
		s.noteWindow(fresh)
	}
	for _, p := range gone {
		s.bytes.Add(-int64(p.Leave(true)))
	}
}
