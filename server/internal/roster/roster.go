// Package roster is who belongs to a cluster, and which node holds which contents.
//
// A [Roster] is part of the state: records of the catalogue change it, so every node has the
// same at the same place of the catalogue. What may change it, and what has to be so for
// that, is here; records, and what follows from them for contents, are in package store.
// [Holdings] are what one node has of the shards that the roster gives it.
package roster

import (
	"slices"

	"github.com/bloomery/bloomery/server/internal/placement"
)

// Roster is who belongs to a cluster. One that a state has returned is never changed, but
// replaced.
type Roster struct {
	// ID differs from that of any other cluster.
	ID uint64
	// Lanes is how many lanes contents are spread over. It never changes.
	Lanes int
	// Level is up to which level records may be sent.
	Level uint64
	// Sessions is how many sessions were given.
	Sessions uint64
	// Members are in the order of their numbers, from 1 on. None is ever removed.
	Members []Member
	// Holders names the nodes that hold each lane. An empty list means all.
	Holders [][]uint32
	// Staged are the filters without a name, each with the session that makes it: when
	// that has ended, nobody will ever give it one.
	Staged []StagedBy
	// Shards is which nodes hold which contents, nil before anything was said about that:
	// then every node holds everything.
	Shards *Shards
	// Rebuilds are the shadows that are open, in the order of ids.
	Rebuilds []Rebuild
}

// StagedBy is a filter without a name and who makes it.
type StagedBy struct{ ID, Session uint64 }

// Member is a node of a cluster.
type Member struct {
	Number  uint32
	Name    string
	Addr    string
	Level   uint64
	Joined  int64  // nonce of its Join; of a node that has not come yet, which has no level, that of its folder
	Session uint64 // the last one, 0 if there was none
	Nonce   int64  // of the last session
	Left    bool   // for ever

	Weight placement.Weight // how much it is to hold, 0 if nobody has said that
	Behind bool             // it was given up until its next session, and holds no shard
}

// MaxLanes bounds the lanes of a cluster, and MaxMembers the numbers that were ever
// given to nodes.
const (
	MaxLanes   = 64
	MaxMembers = 1 << 16
)

// New returns the roster of a cluster that begins. It has no members, and the level that a
// cluster begins with.
func New(id uint64, lanes int, level uint64) *Roster {
	return &Roster{ID: id, Lanes: lanes, Level: level, Holders: make([][]uint32, lanes+2)}
}

// Member returns a node by its number, nil if there is none.
func (r *Roster) Member(number uint32) *Member {
	if r == nil || number == 0 || uint64(number) > uint64(len(r.Members)) {
		return nil
	}
	return &r.Members[number-1]
}

// Nodes returns how many nodes belong to the cluster: those that have left do not.
func (r *Roster) Nodes() (n uint64) {
	if r == nil {
		return 0
	}
	for i := range r.Members {
		if !r.Members[i].Left {
			n++
		}
	}
	return n
}

// Vacant returns a node that has its number from the folder it will start with, and has not come yet: nobody
// knows how much it is to hold. It returns 0 if there is none.
func (r *Roster) Vacant() uint32 {
	for i := range r.Members {
		if m := &r.Members[i]; m.Level == 0 && !m.Left && !m.Behind {
			return m.Number
		}
	}
	return 0
}

// Clone returns a copy whose members and lists may be changed.
func (r *Roster) Clone() *Roster {
	c := *r
	c.Members, c.Staged, c.Rebuilds = slices.Clone(r.Members), slices.Clone(r.Staged), slices.Clone(r.Rebuilds)
	return &c
}

// Stage notes which session makes a filter without a name.
func (r *Roster) Stage(id, session uint64) { r.Staged = append(r.Staged, StagedBy{id, session}) }

// Unstage forgets which session makes a filter without a name.
func (r *Roster) Unstage(id uint64) {
	r.Staged = slices.DeleteFunc(r.Staged, func(v StagedBy) bool { return v.ID == id })
}

// Forget forgets a filter that has a name now, or is gone. It reports whether there was
// something to forget, and changes a copy if there was.
func (r *Roster) Forget(id uint64) (next *Roster, some bool) {
	if r == nil || r.Rebuild(id) == nil && !slices.ContainsFunc(r.Staged, func(v StagedBy) bool { return v.ID == id }) {
		return r, false
	}
	next = r.Clone()
	next.Unstage(id)
	next.Rebuilds = slices.DeleteFunc(next.Rebuilds, func(v Rebuild) bool { return v.ID == id })
	return next, true
}

// Spread reports whether nodes hold different contents.
func (r *Roster) Spread() bool { return r != nil && r.Shards.spread() }
