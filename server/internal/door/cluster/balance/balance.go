// Package balance decides which nodes of a cluster are to hold which shards, and which moves lead
// there. It asks nobody: what nodes say of themselves is given.
package balance

import (
	"slices"

	"github.com/bloomery/bloomery/server/internal/placement"
	"github.com/bloomery/bloomery/server/internal/roster"
	"github.com/bloomery/bloomery/server/internal/store"
)

// Bounds of what is decided.
const (
	// LearnsAtOnce is how many shards a node is to learn at a time. It learns one after the other,
	// and says in one go that it holds them: one snapshot does for all.
	LearnsAtOnce = 32
	// recordsAtOnce is how many moves are decided at a time.
	recordsAtOnce = 512
)

// Reached reports whether all shards are held by the nodes that are to, and no others.
func Reached(r *roster.Roster, target [][]uint32) bool {
	for shard := range r.Shards.Places {
		place := &r.Shards.Places[shard]
		if len(place.Copies) != len(target[shard]) || slices.ContainsFunc(target[shard], func(n uint32) bool { return place.Copy(n).Phase != roster.Holds }) {
			return false
		}
	}
	return true
}

// Target returns which nodes are to hold each shard.
func Target(r *roster.Roster) [][]uint32 {
	var nodes []placement.Node
	for i := range r.Members {
		if m := &r.Members[i]; !m.Left && !m.Behind {
			nodes = append(nodes, placement.Node{Number: m.Number, Weight: m.Weight})
		}
	}
	return placement.Target(r.ID, nodes, r.Shards.Copies)
}

// Holders is what nodes that are live say of themselves: a bit for each shard that they answer
// for.
type Holders map[uint32][]byte

// count returns how many nodes besides one answer for a shard.
func (h Holders) count(shard int, besides uint32) (n int) {
	for node, b := range h {
		if node != besides && b[shard/8]>>(shard%8)&1 != 0 {
			n++
		}
	}
	return n
}

// Decide returns what brings shards to their target: first those that have the fewest copies.
func (h Holders) Decide(r *roster.Roster, target [][]uint32) (records []store.Body) {
	places := r.Shards.Places
	order, learning := make([]int, len(places)), map[uint32]int{}
	for shard := range places {
		order[shard] = shard
		for _, c := range places[shard].Copies {
			if c.Phase == roster.Learns {
				learning[c.Node]++
			}
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return h.count(a, 0) - h.count(b, 0) })
	for _, shard := range order {
		if b := h.decideShard(r, shard, target[shard], learning); b != nil {
			records = append(records, b)
		}
		if len(records) == recordsAtOnce {
			break
		}
	}
	return records
}

// decideShard returns the next record about a shard, nil if there is nothing to do: somebody who
// is not to learn it, or cannot, need not; then who is to hold it learns it; then others retire.
func (h Holders) decideShard(r *roster.Roster, shard int, want []uint32, learning map[uint32]int) store.Body {
	place := &r.Shards.Places[shard]
	for _, c := range place.Copies {
		if c.Phase != roster.Learns {
			continue
		}
		if slices.Contains(want, c.Node) && h[c.Node] != nil {
			return nil
		}
		return &store.ShardCancel{Node: uint64(c.Node), Shard: uint64(shard), Since: c.Since}
	}
	for _, node := range want {
		if place.Copy(node).Phase == 0 && h[node] != nil && learning[node] < LearnsAtOnce && h.count(shard, 0) > 0 {
			learning[node]++
			return &store.ShardLearn{Node: uint64(node), Shard: uint64(shard), Version: place.Version}
		}
	}
	for _, c := range place.Copies {
		if c.Phase == roster.Holds && !slices.Contains(want, c.Node) && h.count(shard, c.Node) >= r.Shards.Copies {
			return &store.ShardRetire{Node: uint64(c.Node), Shard: uint64(shard), Version: place.Version}
		}
	}
	return nil
}

// HoldAll reports whether others answer for each shard that a node holds.
func (h Holders) HoldAll(r *roster.Roster, node uint32) bool {
	for shard := range r.Shards.Places {
		if r.Shards.Places[shard].Copy(node).Phase == roster.Holds && h.count(shard, node) == 0 {
			return false
		}
	}
	return true
}
