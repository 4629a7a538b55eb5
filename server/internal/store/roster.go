package store

// Roster: the nodes of a cluster.

import (
	"fmt"

	"github.com/bloomery/bloomery/server/internal/roster"
)

// Roster returns who belongs to the cluster, nil if the state belongs to none.
func (s *State) Roster() *roster.Roster { return s.roster.Load() }

// SetRoster sets who belongs to the cluster. It is for recovery.
func (s *State) SetRoster(r *roster.Roster) {
	s.roster.Store(r)
	s.relink(r)
}

// noteStaged remembers who makes a filter without a name.
func (s *State) noteStaged(id, session uint64) {
	if r := s.Roster(); r != nil && session != 0 {
		next := r.Clone()
		next.Stage(id, session)
		s.roster.Store(next)
	}
}

// forgetStaged forgets a filter that has a name now, or is gone.
func (s *State) forgetStaged(id uint64) {
	if next, some := s.Roster().Forget(id); some {
		s.roster.Store(next)
	}
}

// dropStagedBy removes what a session that has ended has left without a name.
func (s *State) dropStagedBy(session uint64) {
	if session == 0 {
		return
	}
	for _, v := range s.Roster().Staged {
		if e := s.Names.ByID(v.ID); v.Session == session && e != nil && e.Staged() {
			s.drop(e)
		}
	}
	s.endAttempts(session)
}

// Records of the cluster can be applied again without harm: they come from nodes that
// have no session yet, so nothing else recognises one that was sent twice.

// firstLevel is the level that a cluster begins with, whatever release begins it.
const firstLevel = 1

// Birth begins a cluster. The first such record counts.
type Birth struct {
	ID    uint64 // its name for machines
	Seed  uint64 // of the order of names
	Lanes uint64
}

func (*Birth) op() Op { return OpBirth }
func (o *Birth) fields(c coder, r *Record) coder {
	return c.id(&o.ID).at(r).signed(&o.Seed).uvarint(&o.Lanes)
}

func (o *Birth) apply(s *State, _ *Record, res *Result) {
	switch {
	case s.Roster() != nil:
		res.Err = ErrExists
	case o.ID == 0 || o.Lanes < 1 || o.Lanes > roster.MaxLanes:
		res.Err = ErrCondition
	default:
		s.roster.Store(roster.New(o.ID, int(o.Lanes), firstLevel))
		s.SetSeed(o.Seed)
		res.Changed = true
	}
}

// reroster changes a copy of the roster and makes it the present one if that has changed
// anything. What a session that has ended with it has left without a name goes.
func (s *State) reroster(res *Result, change func(next *roster.Roster) roster.Outcome) {
	old := s.Roster()
	if old == nil {
		res.Err = ErrMissing
		return
	}
	next := old.Clone()
	o := change(next)
	if res.N, res.Changed = o.N, o.Changed; res.Changed {
		s.roster.Store(next)
	}
	switch {
	case o.Missing:
		res.Err = ErrMissing
	case o.Refused != "":
		res.Err = fmt.Errorf("%w: %s", ErrCondition, o.Refused)
	}
	s.dropStagedBy(o.Ended)
}

// Join gives the next number to a node, or again the one that it has.
type Join struct {
	Name  []byte // that it calls itself
	Addr  []byte
	Level uint64 // up to which it can read records
	Nonce int64
}

func (*Join) op() Op            { return OpJoin }
func (o *Join) newName() []byte { return o.Name }
func (o *Join) fields(c coder, r *Record) coder {
	return c.at(r).bytes(&o.Name).bytes(&o.Addr).varint(&o.Nonce).uvarint(&o.Level)
}

func (o *Join) apply(s *State, _ *Record, res *Result) {
	s.reroster(res, func(next *roster.Roster) roster.Outcome { return next.Join(o.Name, o.Addr, o.Level, o.Nonce) })
}

// Leave removes a node for ever. Where contents are spread, others have to hold what it
// holds.
type Leave struct {
	Forced bool // one other is enough
	Node   uint64
}

func (o *Leave) op() Op {
	if o.Forced {
		return OpLeaveForced
	}
	return OpLeave
}
func (o *Leave) fields(c coder, r *Record) coder { return c.id(&o.Node).at(r) }

func (o *Leave) apply(s *State, _ *Record, res *Result) {
	s.reroster(res, func(next *roster.Roster) roster.Outcome { return next.Leave(o.Node, o.Forced) })
}

// Session gives the next session to a node. A record that names another session than the
// last one was sent before that: it is an old one that comes again, or lost a race.
type Session struct {
	Empty bool // the node had to fetch what it has, and that is no contents of shards
	Node  uint64
	Last  uint64 // its last session
	Nonce int64
}

func (o *Session) op() Op {
	if o.Empty {
		return OpSessionEmpty
	}
	return OpSession
}

func (o *Session) fields(c coder, r *Record) coder {
	return c.id(&o.Node).at(r).varint(&o.Nonce).uvarint(&o.Last)
}

func (o *Session) apply(s *State, _ *Record, res *Result) {
	s.reroster(res, func(next *roster.Roster) roster.Outcome { return next.Resume(o.Node, o.Last, o.Nonce, o.Empty) })
}

// Level allows records of a level.
type Level struct{ Level uint64 }

func (*Level) op() Op                            { return OpLevel }
func (o *Level) fields(c coder, r *Record) coder { return c.at(r).uvarint(&o.Level) }

func (o *Level) apply(s *State, _ *Record, res *Result) {
	s.reroster(res, func(next *roster.Roster) roster.Outcome { return next.Raise(o.Level) })
}

// Found begins a cluster with data that no record has. It changes nothing, and stands
// first.
type Found struct{ ID uint64 }

func (*Found) op() Op                            { return OpFound }
func (o *Found) fields(c coder, r *Record) coder { return c.id(&o.ID).at(r) }

func (o *Found) apply(s *State, _ *Record, res *Result) {
	s.reroster(res, func(*roster.Roster) (o roster.Outcome) { return o })
}
