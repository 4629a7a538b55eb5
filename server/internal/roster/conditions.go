package roster

// What has to be so where a record about nodes and shards is applied.

import "slices"

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

// refuse returns why a record is not applied, "" if all conditions are met.
func (r *Roster) refuse(a *asked, needs ...condition) string {
	for _, c := range needs {
		if !conditions[c].met(r, a) {
			return conditions[c].unless
		}
	}
	return ""
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
