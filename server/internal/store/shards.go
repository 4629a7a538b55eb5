package store

// Shards: which nodes of a cluster hold which contents.

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/bloomery/bloomery/server/internal/placement"
	"github.com/bloomery/bloomery/server/internal/wire"
)

// LevelShards is the level of a cluster from which on contents can be spread over nodes.
const LevelShards = 3

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

// condition is something that has to be so where a record about shards is applied. Nodes
// that decide may disagree, and their records may be late or come again: a record does
// nothing unless all that it needs is so.
type condition uint8

const (
	belongs         condition = iota // the node belongs to the cluster
	isCurrent                        // it is not behind
	movesGoOn                        // moves are not paused
	hasNone                          // the node has nothing of the shard
	nobodyLearns                     // nobody learns the shard
	isLearning                       // the node learns the shard
	isHolding                        // it holds it
	isRetiring                       // it retires
	sameCopy                         // its copy is the one that the record names
	sameVersion                      // the shard is as the sender knew it
	sameSession                      // the session of the node is the one that the sender knew
	sameHoldings                     // the shards of the node are as the sender knew them
	sameSettings                     // the settings are as the sender knew them
	copiesRemain                     // as many others hold the shard as there are to be copies
	heldElsewhere                    // another one holds each shard that the node holds
	copiedElsewhere                  // as many as there are to be copies, or all, hold each of them
)

// asked is what a record says that conditions are asked about.
type asked struct {
	member  *Member
	place   *Place // of the shard, nil if the record is about none
	named   uint64 // Version, Since, Changes or Settings
	session uint64
}

// node returns the number of the node.
func (a *asked) node() uint32 { return a.member.Number }

// conditions has for each condition the words for a record that was refused, and whether
// it is met.
var conditions = [...]struct {
	unless string
	met    func(r *Roster, a *asked) bool
}{
	belongs:      {"the node has left", func(_ *Roster, a *asked) bool { return !a.member.Left }},
	isCurrent:    {"the node is behind", func(_ *Roster, a *asked) bool { return !a.member.Behind }},
	movesGoOn:    {"moves are paused", func(r *Roster, _ *asked) bool { return !r.Shards.Paused }},
	hasNone:      {"the node has the shard", func(_ *Roster, a *asked) bool { return a.place.Copy(a.node()).Phase == 0 }},
	nobodyLearns: {"a node learns the shard", func(_ *Roster, a *asked) bool { return a.place.Count(Learns) == 0 }},
	isLearning:   {"the node does not learn the shard", func(_ *Roster, a *asked) bool { return a.place.Copy(a.node()).Phase == Learns }},
	isHolding:    {"the node does not hold the shard", func(_ *Roster, a *asked) bool { return a.place.Copy(a.node()).Phase == Holds }},
	isRetiring:   {"the node does not retire", func(_ *Roster, a *asked) bool { return a.place.Copy(a.node()).Phase == Retires }},
	sameCopy:     {"the copy is another one", func(_ *Roster, a *asked) bool { return a.place.Copy(a.node()).Since == a.named }},
	sameVersion:  {"the shard has changed meanwhile", func(_ *Roster, a *asked) bool { return a.place.Version == a.named }},
	sameSession:  {"the node has started again", func(_ *Roster, a *asked) bool { return a.member.Session == a.session }},
	sameHoldings: {"the shards of the node have changed meanwhile", sameHeld},
	sameSettings: {"the settings have changed meanwhile", func(r *Roster, a *asked) bool { return r.Shards.settings() == a.named }},
	copiesRemain: {"too few others hold the shard", func(r *Roster, a *asked) bool {
		return a.place.others(a.node()) >= r.Shards.Copies
	}},
	heldElsewhere: {"no other node holds a shard of the node", func(r *Roster, a *asked) bool {
		return r.elsewhere(a.node(), 1)
	}},
	copiedElsewhere: {"too few others hold a shard of the node", func(r *Roster, a *asked) bool {
		return r.elsewhere(a.node(), r.wanted())
	}},
}

// refuse returns why a record is not applied, nil if all conditions are met.
func (r *Roster) refuse(a *asked, needs ...condition) error {
	for _, c := range needs {
		if !conditions[c].met(r, a) {
			return fmt.Errorf("%w: %s", ErrCondition, conditions[c].unless)
		}
	}
	return nil
}

// settings returns the number of the last change of settings.
func (s *Shards) settings() uint64 {
	if s == nil {
		return 0
	}
	return s.Settings
}

// others returns how many nodes besides one hold the shard.
func (p *Place) others(node uint32) int {
	n := p.Count(Holds)
	if p.Copy(node).Phase == Holds {
		n--
	}
	return n
}

// elsewhere reports whether so many others hold each shard that a node holds.
func (r *Roster) elsewhere(node uint32, n int) bool {
	if !r.Shards.spread() {
		return true
	}
	for i := range r.Shards.Places {
		if p := &r.Shards.Places[i]; p.Copy(node).Phase == Holds && p.others(node) < n {
			return false
		}
	}
	return true
}

// wanted returns how many copies there can be when a node has left: one on each of the
// others, if those are fewer than there are to be copies.
func (r *Roster) wanted() int {
	if !r.Shards.spread() {
		return 0
	}
	return min(r.Shards.Copies, max(1, int(r.Nodes())-1))
}

// sameHeld reports whether no shard of a node has changed since the change that is named.
func sameHeld(r *Roster, a *asked) bool {
	return !slices.ContainsFunc(r.Shards.Places, func(p Place) bool {
		return p.Version > a.named && p.Copy(a.node()).Phase != 0
	})
}

// appendShards appends the encoding of the table, and of what members have besides.
func appendShards(b []byte, r *Roster) []byte {
	s := r.Shards
	b = append(b, byte(s.Copies), flag(s.Paused))
	b = binary.AppendUvarint(b, s.Settings)
	b = binary.AppendUvarint(b, s.Changes)
	for i := range r.Members {
		b = append(b, byte(r.Members[i].Weight), flag(r.Members[i].Behind))
	}
	for _, p := range s.Places {
		b = binary.AppendUvarint(b, p.Version)
		b = binary.AppendUvarint(b, uint64(len(p.Copies)))
		for _, c := range p.Copies {
			b = binary.AppendUvarint(b, uint64(c.Node))
			b = append(b, byte(c.Phase))
			b = binary.AppendUvarint(b, c.Since)
		}
	}
	return b
}

func flag(v bool) byte {
	if v {
		return 1
	}
	return 0
}

// readShards reads what appendShards wrote.
func readShards(d *wire.Reader, r *Roster) error {
	s := &Shards{Copies: int(d.Byte()), Paused: d.Byte() != 0, Settings: d.Uvarint(), Changes: d.Uvarint()}
	if s.Copies != 0 && !validCopies(uint64(s.Copies)) {
		return corrupt("number of copies")
	}
	for i := range r.Members {
		m := &r.Members[i]
		m.Weight, m.Behind = placement.Weight(d.Byte()), d.Byte() != 0
		if m.Weight > placement.MaxWeight {
			return corrupt("weight of a node")
		}
	}
	if s.Copies > 0 {
		s.Places = make([]Place, placement.Shards)
	}
	for i := range s.Places {
		s.Places[i] = readPlace(d)
		if !s.Places[i].valid(s.Changes, len(r.Members)) {
			return corrupt("place of a shard")
		}
	}
	r.Shards = s
	return nil
}

// readPlace reads the place of a shard.
func readPlace(d *wire.Reader) Place {
	p := Place{Version: d.Uvarint()}
	for n := d.Uvarint(); n > 0 && !d.Bad; n-- {
		p.Copies = append(p.Copies, Copy{Node: uint32(min(d.Uvarint(), MaxMembers+1)), Phase: Phase(d.Byte()), Since: d.Uvarint()})
	}
	return p
}

// valid reports whether records could have made the place.
func (p *Place) valid(changes uint64, members int) bool {
	last := uint32(0)
	for _, c := range p.Copies {
		if c.Node <= last || uint64(c.Node) > uint64(members) || c.Phase < Learns || c.Phase > Retires || c.Since > p.Version {
			return false
		}
		last = c.Node
	}
	return p.Version <= changes && p.Count(Learns) <= 1
}
