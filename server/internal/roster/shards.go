package roster

// Shards: which nodes of a cluster hold which contents.

import (
	"slices"

	"github.com/bloomery/bloomery/server/internal/placement"
)

// Shards is which nodes hold which contents. Like the roster that it is a part of it is
// never changed, but replaced.
type Shards struct {
	// Copies is how many nodes are to hold each shard, 0 while every node holds everything.
	Copies int
	// Paused means that no move begins.
	Paused bool
	// Settings counts the changes of Copies, Paused and the weights of members. A record
	// that changes one of them names the number that its sender knew.
	Settings uint64
	// Changes counts the changes of Places.
	Changes uint64
	// Places are those of the shards in their order; there are none while Copies is 0.
	Places []Place
}

// Place is which nodes hold a shard.
type Place struct {
	// Version is the number of the last change.
	Version uint64
	// Copies are in the order of the numbers of nodes.
	Copies []Copy
}

// Copy is what a node has of a shard.
type Copy struct {
	Node  uint32
	Phase Phase
	// Since is the number of the change with which the node began to learn the shard. It
	// stays what it is until the copy is gone, and no other copy has the same.
	Since uint64
}

// Phase is how far a copy is. A copy begins with Learns, and ends behind Retires, or when
// its node is given up.
type Phase uint8

// The phases of a copy.
const (
	Learns  Phase = iota + 1 // the node fetches the contents, and nobody asks it for them
	Holds                    // it has them in a durable snapshot, and answers for them
	Retires                  // it answers no new questions, and waits for writes of its own
)

// Copy returns what a node has of the shard; Phase is 0 if that is nothing.
func (p *Place) Copy(node uint32) Copy {
	for _, c := range p.Copies {
		if c.Node == node {
			return c
		}
	}
	return Copy{Node: node}
}

// Count returns how many nodes are in a phase.
func (p *Place) Count(phase Phase) (n int) {
	for _, c := range p.Copies {
		if c.Phase == phase {
			n++
		}
	}
	return n
}

// Holders returns the nodes that answer for the shard.
func (p *Place) Holders() (nodes []uint32) {
	for _, c := range p.Copies {
		if c.Phase == Holds {
			nodes = append(nodes, c.Node)
		}
	}
	return nodes
}

// spread reports whether nodes hold different contents.
func (s *Shards) spread() bool { return s != nil && s.Copies > 0 }

// reshard returns a copy of the table of r that may be changed, but for the lists of
// copies, and makes it the one of r.
func (r *Roster) reshard() *Shards {
	next := Shards{}
	if r.Shards != nil {
		next = *r.Shards
		next.Places = slices.Clone(next.Places)
	}
	r.Shards = &next
	return &next
}

// put sets the phase of a copy, which is gone with phase 0.
func (s *Shards) put(shard int, c Copy) {
	s.Changes++
	if c.Phase == Learns {
		c.Since = s.Changes
	}
	p := &s.Places[shard]
	list := make([]Copy, 0, len(p.Copies)+1)
	for _, other := range p.Copies {
		if other.Node != c.Node {
			list = append(list, other)
		}
	}
	if c.Phase != 0 {
		at, _ := slices.BinarySearchFunc(list, c, func(a, b Copy) int { return int(a.Node) - int(b.Node) })
		list = slices.Insert(list, at, c)
	}
	p.Version, p.Copies = s.Changes, list
}

// forfeit takes all shards from a node.
func (r *Roster) forfeit(node uint32) {
	if !r.Shards.spread() {
		return
	}
	next := r.reshard()
	for shard := range next.Places {
		if next.Places[shard].Copy(node).Phase != 0 {
			next.put(shard, Copy{Node: node})
		}
	}
}

// begin has all members hold everything, as they do: all that have served.
func (s *Shards) begin(members []Member) {
	s.Changes++
	s.Places = make([]Place, placement.Shards)
	for shard := range s.Places {
		p := &s.Places[shard]
		p.Version = s.Changes
		for i := range members {
			if m := &members[i]; !m.Left && m.Session != 0 {
				p.Copies = append(p.Copies, Copy{Node: m.Number, Phase: Holds, Since: s.Changes})
			}
		}
	}
}
