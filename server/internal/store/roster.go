package store

// Roster: the nodes of a cluster.

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/bloomery/bloomery"
)

// Roster is who belongs to a cluster. It is part of the state: records of the
// catalogue change it, so every node has the same at the same place of the
// catalogue. A Roster that State returned is never changed, but replaced.
type Roster struct {
	// ID differs from that of any other cluster. OpBirth draws it.
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
}

// StagedBy is a filter without a name and who makes it.
type StagedBy struct{ ID, Session uint64 }

// Member is a node of a cluster.
type Member struct {
	Number  uint32
	Name    string
	Addr    string
	Level   uint64
	Joined  int64  // nonce of OpJoin
	Session uint64 // the last one, 0 if there was none
	Nonce   int64  // of the last OpSession
	Left    bool   // for ever
}

// MaxLanes bounds the lanes of a cluster, and MaxMembers the numbers that were ever
// given to nodes.
const (
	MaxLanes   = 64
	MaxMembers = 1 << 16
)

// Roster returns who belongs to the cluster, nil if the state belongs to none.
func (s *State) Roster() *Roster { return s.roster.Load() }

// SetRoster sets who belongs to the cluster. It is for recovery.
func (s *State) SetRoster(r *Roster) { s.roster.Store(r) }

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

// clone returns a copy whose members may be changed.
func (r *Roster) clone() *Roster {
	c := *r
	c.Members, c.Staged = slices.Clone(r.Members), slices.Clone(r.Staged)
	return &c
}

// noteStaged remembers who makes a filter without a name.
func (s *State) noteStaged(id, session uint64) {
	if r := s.Roster(); r != nil && session != 0 {
		next := r.clone()
		next.Staged = append(next.Staged, StagedBy{id, session})
		s.roster.Store(next)
	}
}

// forgetStaged forgets a filter that has a name now, or is gone.
func (s *State) forgetStaged(id uint64) {
	r := s.Roster()
	if r == nil || !slices.ContainsFunc(r.Staged, func(v StagedBy) bool { return v.ID == id }) {
		return
	}
	next := r.clone()
	next.Staged = slices.DeleteFunc(next.Staged, func(v StagedBy) bool { return v.ID == id })
	s.roster.Store(next)
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
}

// applyRoster applies a record of the cluster. Each can be applied again without
// harm: they come from nodes that have no session yet, so nothing else recognises
// one that was sent twice.
func (s *State) applyRoster(r *Record, res *Result) {
	old := s.Roster()
	if r.Op == OpBirth {
		s.birth(old, r, res)
		return
	}
	if old == nil {
		res.Err = ErrMissing
		return
	}
	next, ended := old.clone(), uint64(0)
	if m := old.Member(uint32(min(r.ID, MaxMembers+1))); m != nil && r.Op != OpJoin && r.Op != OpLevel {
		ended = m.Session
	}
	switch r.Op {
	case OpJoin:
		next.join(r, res)
	case OpLeave:
		switch m := next.Member(uint32(min(r.ID, MaxMembers+1))); {
		case m == nil:
			res.Err = ErrMissing
		case !m.Left:
			m.Left, res.Changed = true, true
		}
	case OpSession:
		next.session(r, res)
	case OpLevel:
		if r.Limit > next.Level {
			next.Level, res.Changed = r.Limit, true
		}
	}
	if res.Changed {
		s.roster.Store(next)
		s.dropStagedBy(ended)
	}
}

// firstLevel is the level that a cluster begins with, whatever release begins it.
const firstLevel = 1

// birth begins a cluster. The first such record counts.
func (s *State) birth(old *Roster, r *Record, res *Result) {
	switch {
	case old != nil:
		res.Err = ErrExists
	case r.ID == 0 || r.Limit < 1 || r.Limit > MaxLanes:
		res.Err = ErrCondition
	default:
		s.roster.Store(&Roster{ID: r.ID, Lanes: int(r.Limit), Level: firstLevel, Holders: make([][]uint32, r.Limit+2)})
		s.SetSeed(uint64(r.Position))
		res.Changed = true
	}
}

// join gives the next number to a node, or again the one that it has.
func (r *Roster) join(rec *Record, res *Result) {
	for i := range r.Members {
		if r.Members[i].Joined == rec.Position {
			res.N = int64(r.Members[i].Number)
			return
		}
	}
	if len(r.Members) >= MaxMembers || rec.Limit < r.Level { // it could not read what others send
		res.Err = ErrCondition
		return
	}
	m := Member{
		Number: uint32(len(r.Members) + 1), Name: string(rec.Name), Addr: string(rec.Other),
		Level: rec.Limit, Joined: rec.Position,
	}
	r.Members = append(r.Members, m)
	res.N, res.Changed = int64(m.Number), true
}

// session gives the next session to a node. A record that names another session
// than the last one was sent before that: it is an old one that comes again, or lost
// a race.
func (r *Roster) session(rec *Record, res *Result) {
	m := r.Member(uint32(min(rec.ID, MaxMembers+1)))
	switch {
	case m == nil || m.Left:
		res.Err = ErrMissing
	case m.Session != 0 && m.Nonce == rec.Position:
		res.N = int64(m.Session)
	case m.Session != rec.Limit:
		res.Err = ErrCondition
	default:
		r.Sessions++
		m.Session, m.Nonce = r.Sessions, rec.Position
		res.N, res.Changed = int64(m.Session), true
	}
}

// rosterVersion is the first byte of an encoded roster. One of version 1 has no list
// of filters without a name.
const rosterVersion = 2

// AppendRoster appends the encoding of r to b.
func AppendRoster(b []byte, r *Roster) []byte {
	b = append(b, rosterVersion)
	for _, v := range []uint64{r.ID, uint64(r.Lanes), r.Level, r.Sessions, uint64(len(r.Members))} {
		b = binary.AppendUvarint(b, v)
	}
	for i := range r.Members {
		m := &r.Members[i]
		b = appendBytes(b, []byte(m.Name))
		b = appendBytes(b, []byte(m.Addr))
		b = binary.AppendUvarint(b, m.Level)
		b = binary.AppendVarint(b, m.Joined)
		b = binary.AppendUvarint(b, m.Session)
		b = binary.AppendVarint(b, m.Nonce)
		if m.Left {
			b = append(b, 1)
		} else {
			b = append(b, 0)
		}
	}
	for _, nodes := range r.Holders {
		b = binary.AppendUvarint(b, uint64(len(nodes)))
		for _, n := range nodes {
			b = binary.AppendUvarint(b, uint64(n))
		}
	}
	b = binary.AppendUvarint(b, uint64(len(r.Staged)))
	for _, v := range r.Staged {
		b = binary.AppendUvarint(b, v.ID)
		b = binary.AppendUvarint(b, v.Session)
	}
	return b
}

// ParseRoster reads what AppendRoster wrote and returns what is behind it. The error
// wraps bloomery.ErrCorrupt or bloomery.ErrVersion.
func ParseRoster(b []byte) (r *Roster, rest []byte, err error) {
	d := decoder{rest: b}
	version := d.byte()
	if !d.bad && (version < 1 || version > rosterVersion) {
		return nil, nil, fmt.Errorf("store: roster: %w: roster of version %d, this release reads up to %d: a later one is needed", bloomery.ErrVersion, version, rosterVersion)
	}
	r = &Roster{ID: d.uvarint()}
	lanes := d.uvarint()
	r.Level, r.Sessions = d.uvarint(), d.uvarint()
	members := d.uvarint()
	if d.bad || r.ID == 0 || lanes < 1 || lanes > MaxLanes || members > MaxMembers {
		return nil, nil, corrupt("roster")
	}
	r.Lanes = int(lanes)
	for i := uint64(0); i < members && !d.bad; i++ {
		m := Member{Number: uint32(i + 1), Name: string(d.bytes()), Addr: string(d.bytes())}
		m.Level, m.Joined, m.Session, m.Nonce = d.uvarint(), d.varint(), d.uvarint(), d.varint()
		m.Left = d.byte() != 0
		r.Members = append(r.Members, m)
	}
	r.Holders = make([][]uint32, lanes+2)
	for i := range r.Holders {
		n := d.uvarint()
		if n > members {
			return nil, nil, corrupt("holders of a lane")
		}
		for ; n > 0 && !d.bad; n-- {
			r.Holders[i] = append(r.Holders[i], uint32(d.uvarint()))
		}
	}
	if version > 1 {
		for n := d.uvarint(); n > 0 && !d.bad; n-- {
			r.Staged = append(r.Staged, StagedBy{d.uvarint(), d.uvarint()})
		}
	}
	if d.bad {
		return nil, nil, corrupt("roster cut short")
	}
	return r, d.rest, nil
}
