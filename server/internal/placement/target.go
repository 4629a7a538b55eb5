package placement

// Target: which nodes are to hold which shards.

import (
	"cmp"
	"slices"
)

// Node is a node that takes part in the placement.
type Node struct {
	Number uint32
	Weight Weight
}

// Each shard is held by so many nodes.
const (
	MinCopies = 2
	MaxCopies = 5
)

// Target returns for every shard the numbers of the nodes that are to hold it, the best
// first: as many as there are to be copies, or all if there are fewer nodes with a weight.
// The order of nodes does not matter.
//
// It takes the pairs of a shard and a node from the best to the worst, as rendezvous
// hashing does, but none for a node that has its share: so no node has more than
// ⌈its share⌉, and a node that comes or goes moves little more than its share.
func Target(cluster uint64, nodes []Node, copies int) [][]uint32 {
	nodes = slices.DeleteFunc(slices.Clone(nodes), func(n Node) bool { return n.Weight == 0 })
	slices.SortFunc(nodes, func(a, b Node) int { return cmp.Compare(a.Number, b.Number) })
	t := target{cluster: cluster, nodes: nodes, copies: min(copies, len(nodes)), holders: make([][]uint16, Shards)}
	t.left = shares(nodes, t.copies)
	pairs := t.pairs()
	for _, p := range pairs {
		if len(t.holders[p.shard]) < t.copies && t.left[p.node] > 0 {
			t.give(int(p.shard), p.node)
		}
	}
	for shard := range t.holders {
		for len(t.holders[shard]) < t.copies {
			t.swap(shard)
		}
	}
	return t.numbers()
}

// target is a placement in the making.
type target struct {
	cluster uint64
	nodes   []Node
	copies  int
	left    []int      // how many shards each node may still get
	holders [][]uint16 // of each shard, by their places in nodes
}

// shares returns how many shards each node is to hold at most: its part by weight of all
// copies, rounded up. A node holds a shard once, so what is more than all shards is divided
// among the others.
func shares(nodes []Node, copies int) []int {
	list := make([]int, len(nodes))
	rest := uint64(copies) * Shards
	for more := true; more; {
		more = false
		sum := uint64(0)
		for i, n := range nodes {
			if list[i] < Shards {
				sum += n.Weight.value()
			}
		}
		for i, n := range nodes {
			if list[i] == Shards {
				continue
			}
			list[i] = portion(rest, n.Weight.value(), sum)
			if list[i] >= Shards {
				list[i], more = Shards, true
				rest -= Shards
				break
			}
		}
	}
	return list
}

// portion returns rest * weight / sum, rounded up.
func portion(rest, weight, sum uint64) int {
	return int((rest*weight + sum - 1) / sum)
}

// pairs returns all pairs, the best first.
func (t *target) pairs() []pair {
	list := make([]pair, 0, Shards*len(t.nodes))
	for i, n := range t.nodes {
		for shard := range Shards {
			list = append(list, pair{cost(t.cluster, shard, n.Number), n.Weight.value(), uint16(shard), uint16(i)})
		}
	}
	slices.SortFunc(list, compare)
	return list
}

func (t *target) give(shard int, node uint16) {
	t.holders[shard] = append(t.holders[shard], node)
	t.left[node]--
}

// swap gives a shard a node when those that may still get some hold it already: another
// shard takes such a node in exchange for one of its own.
func (t *target) swap(shard int) {
	for other := range t.holders {
		for i := len(t.holders[other]) - 1; i >= 0; i-- { // its worst first
			taken := t.holders[other][i]
			if slices.Contains(t.holders[shard], taken) {
				continue
			}
			for node := range t.nodes {
				if n := uint16(node); t.left[n] > 0 && !slices.Contains(t.holders[other], n) {
					t.holders[other][i] = n
					t.left[n]--
					t.holders[shard] = append(t.holders[shard], taken)
					return
				}
			}
		}
	}
	panic("placement: no room is left") // shares add up to more than all copies
}

// numbers returns the holders by their numbers.
func (t *target) numbers() [][]uint32 {
	list := make([][]uint32, Shards)
	for shard, holders := range t.holders {
		for _, n := range holders {
			list[shard] = append(list[shard], t.nodes[n].Number)
		}
	}
	return list
}
