package roster

// Holdings: what a node has of shards.

import (
	"slices"

	"github.com/bloomery/bloomery/server/internal/placement"
)

// Holdings is what a node has of shards. The table of shards says what it is to have;
// Holdings follow it, and know besides which shards are whole here.
//
// Those of a State are never changed, but replaced.
type Holdings struct {
	node   uint32
	copies []ownCopy // by shard
}

// ownCopy is the copy of a shard that a node has.
type ownCopy struct {
	since uint64 // see Copy
	phase Phase  // as the table says
	whole bool   // the contents of all parts are here
}

// Held is a shard that a node has whole, as a snapshot keeps it.
type Held struct {
	Shard int
	Since uint64 // of the copy
}

// NewHoldings returns those of a node that has a snapshot with these shards.
func NewHoldings(node uint32, held []Held) *Holdings {
	h := &Holdings{node: node, copies: make([]ownCopy, placement.Shards)}
	for _, v := range held {
		h.copies[v.Shard] = ownCopy{since: v.Since, whole: true}
	}
	return h
}

// Everything returns the shards of a node that has all of them when the table begins.
func Everything(node uint32, table *Shards) (held []Held) {
	for shard := range table.Places {
		if c := table.Places[shard].Copy(node); c.Phase == Holds {
			held = append(held, Held{shard, c.Since})
		}
	}
	return held
}

// Clone returns a copy that may be changed.
func (h *Holdings) Clone() *Holdings { return &Holdings{h.node, slices.Clone(h.copies)} }

// Follow takes over what the table says. It returns the shards whose contents the node is
// not to have any more: those of another copy than the table has.
func (h *Holdings) Follow(table *Shards) (lost []int) {
	for shard := range table.Places {
		c, own := table.Places[shard].Copy(h.node), &h.copies[shard]
		if own.since != c.Since {
			*own = ownCopy{since: c.Since}
			lost = append(lost, shard)
		}
		own.phase = c.Phase
	}
	return lost
}

// Keeps reports whether the node is to have a part of a shard that is made now.
func (h *Holdings) Keeps(shard int) bool {
	c := &h.copies[shard]
	return c.phase == Learns || c.phase != 0 && c.whole
}

// Answers reports whether the node answers for a shard: it holds it, and has all of it.
func (h *Holdings) Answers(shard int) bool {
	c := &h.copies[shard]
	return c.phase == Holds && c.whole
}

// Everything reports whether the node answers for all shards.
func (h *Holdings) Everything() bool {
	return !slices.ContainsFunc(h.copies, func(c ownCopy) bool { return c.phase != Holds || !c.whole })
}

// Lacks reports whether something is not here of a shard that the node holds, as the table says.
// Without holdings nothing is.
func (h *Holdings) Lacks() bool {
	return h != nil && slices.ContainsFunc(h.copies, func(c ownCopy) bool { return c.phase == Holds && !c.whole })
}

// Learns returns the number of the copy that the node is to learn, 0 if it is to learn none
// or has learned it.
func (h *Holdings) Learns(shard int) (since uint64) {
	if c := &h.copies[shard]; c.phase == Learns && !c.whole {
		return c.since
	}
	return 0
}

// Whole reports whether all of a shard is here.
func (h *Holdings) Whole(shard int) bool { return h.copies[shard].whole }

// Retires reports whether the node retires from a shard.
func (h *Holdings) Retires(shard int) bool { return h.copies[shard].phase == Retires }

// Complete notes that all of a shard is here, and Drop that nothing is.
func (h *Holdings) Complete(shard int) { h.copies[shard].whole = true }

// Drop undoes Complete.
func (h *Holdings) Drop(shard int) { h.copies[shard].whole = false }

// Held returns the shards that are whole, in their order, nil if there are no holdings.
func (h *Holdings) Held() (held []Held) {
	if h == nil {
		return nil
	}
	for shard, c := range h.copies {
		if c.whole {
			held = append(held, Held{shard, c.since})
		}
	}
	return held
}

// Both returns the shards that were whole at two moments, as the same copy: those that a
// snapshot has which was begun at the first and ended at the second.
func Both(first, second []Held) []Held {
	return slices.DeleteFunc(slices.Clone(first), func(v Held) bool { return !slices.Contains(second, v) })
}
