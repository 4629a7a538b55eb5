package store

// Roster: the nodes of a cluster.

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/server/internal/placement"
	"github.com/bloomery/bloomery/server/internal/wire"
)

// Roster is who belongs to a cluster. It is part of the state: records of the
// catalogue change it, so every node has the same at the same place of the
// catalogue. A Roster that State returned is never changed, but replaced.
type Roster struct {
	// ID differs from that of any other cluster. Birth draws it.
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
	Joined  int64  // nonce of Join; of a node that has not come yet, which has no level, that of its folder
	Session uint64 // the last one, 0 if there was none
	Nonce   int64  // of the last Session
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

// Roster returns who belongs to the cluster, nil if the state belongs to none.
func (s *State) Roster() *Roster { return s.roster.Load() }

// SetRoster sets who belongs to the cluster. It is for recovery.
func (s *State) SetRoster(r *Roster) {
	s.roster.Store(r)
	s.relink(r)
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

// clone returns a copy whose members may be changed.
func (r *Roster) clone() *Roster {
	c := *r
	c.Members, c.Staged, c.Rebuilds = slices.Clone(r.Members), slices.Clone(r.Staged), slices.Clone(r.Rebuilds)
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
	if r == nil || r.rebuild(id) == nil && !slices.ContainsFunc(r.Staged, func(v StagedBy) bool { return v.ID == id }) {
		return
	}
	next := r.clone()
	next.unstage(id)
	next.Rebuilds = slices.DeleteFunc(next.Rebuilds, func(v Rebuild) bool { return v.ID == id })
	s.roster.Store(next)
}

// unstage forgets which session makes a filter without a name.
func (r *Roster) unstage(id uint64) {
	r.Staged = slices.DeleteFunc(r.Staged, func(v StagedBy) bool { return v.ID == id })
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
	case o.ID == 0 || o.Lanes < 1 || o.Lanes > MaxLanes:
		res.Err = ErrCondition
	default:
		s.roster.Store(&Roster{ID: o.ID, Lanes: int(o.Lanes), Level: firstLevel, Holders: make([][]uint32, o.Lanes+2)})
		s.SetSeed(o.Seed)
		res.Changed = true
	}
}

// reroster changes a copy of the roster and makes it the present one if that has changed
// anything.
func (s *State) reroster(res *Result, change func(next *Roster)) {
	old := s.Roster()
	if old == nil {
		res.Err = ErrMissing
		return
	}
	next := old.clone()
	if change(next); res.Changed {
		s.roster.Store(next)
	}
}

// memberOf is Member for a number in a record.
func (r *Roster) memberOf(node uint64) *Member { return r.Member(uint32(min(node, MaxMembers+1))) }

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
	s.reroster(res, func(next *Roster) { next.join(o, res) })
}

func (r *Roster) join(o *Join, res *Result) {
	for i := range r.Members {
		if m := &r.Members[i]; m.Joined == o.Nonce {
			res.N = int64(m.Number)
			if m.Level == 0 && o.Level >= r.Level {
				m.Name, m.Addr, m.Level, res.Changed = string(o.Name), string(o.Addr), o.Level, true
			}
			return
		}
	}
	if len(r.Members) >= MaxMembers || o.Level < r.Level { // it could not read what others send
		res.Err = ErrCondition
		return
	}
	m := Member{
		Number: uint32(len(r.Members) + 1), Name: string(o.Name), Addr: string(o.Addr),
		Level: o.Level, Joined: o.Nonce,
	}
	r.Members = append(r.Members, m)
	res.N, res.Changed = int64(m.Number), true
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

func (o *Leave) needs() condition {
	if o.Forced {
		return heldElsewhere
	}
	return copiedElsewhere
}

func (o *Leave) apply(s *State, _ *Record, res *Result) {
	ended := uint64(0)
	s.reroster(res, func(next *Roster) {
		switch m := next.memberOf(o.Node); {
		case m == nil:
			res.Err = ErrMissing
		case !m.Left:
			if res.Err = next.refuse(&asked{member: m}, o.needs()); res.Err != nil {
				return
			}
			ended = m.Session
			m.Left, res.Changed = true, true
			next.forfeit(m.Number)
		}
	})
	s.dropStagedBy(ended)
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
	ended := uint64(0)
	s.reroster(res, func(next *Roster) {
		switch m := next.memberOf(o.Node); {
		case m == nil || m.Left:
			res.Err = ErrMissing
		case m.Session != 0 && m.Nonce == o.Nonce:
			res.N = int64(m.Session)
		case m.Session != o.Last:
			res.Err = ErrCondition
		default:
			ended = m.Session
			next.Sessions++
			m.Session, m.Nonce, m.Behind = next.Sessions, o.Nonce, false
			res.N, res.Changed = int64(m.Session), true
			if o.Empty {
				next.forfeit(m.Number)
			}
		}
	})
	s.dropStagedBy(ended)
}

// Level allows records of a level.
type Level struct{ Level uint64 }

func (*Level) op() Op                            { return OpLevel }
func (o *Level) fields(c coder, r *Record) coder { return c.at(r).uvarint(&o.Level) }

func (o *Level) apply(s *State, _ *Record, res *Result) {
	s.reroster(res, func(next *Roster) {
		if o.Level > next.Level {
			next.Level, res.Changed = o.Level, true
		}
	})
}

// Found begins a cluster with data that no record has. It changes nothing, and stands
// first.
type Found struct{ ID uint64 }

func (*Found) op() Op                                   { return OpFound }
func (o *Found) fields(c coder, r *Record) coder        { return c.id(&o.ID).at(r) }
func (o *Found) apply(s *State, _ *Record, res *Result) { s.reroster(res, func(*Roster) {}) }

// rosterVersion is the first byte of an encoded roster that has shadows. One of version 3 has
// none, one of version 2 no shards either, and one of version 1 no list of filters without a name.
const rosterVersion = 4

// AppendRoster appends the encoding of r to b.
func AppendRoster(b []byte, r *Roster) []byte {
	version := byte(rosterVersion) // earlier releases read the others
	switch {
	case len(r.Rebuilds) > 0:
	case r.Shards != nil:
		version = 3
	default:
		version = 2
	}
	b = append(b, version)
	for _, v := range []uint64{r.ID, uint64(r.Lanes), r.Level, r.Sessions, uint64(len(r.Members))} {
		b = binary.AppendUvarint(b, v)
	}
	for i := range r.Members {
		m := &r.Members[i]
		b = wire.AppendBytes(b, m.Name)
		b = wire.AppendBytes(b, m.Addr)
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
	if version > 3 {
		b = appendRebuilds(b, r.Rebuilds)
		if r.Shards == nil {
			return append(b, 0)
		}
		b = append(b, 1)
	}
	if r.Shards != nil {
		b = appendShards(b, r)
	}
	return b
}

// ParseRoster reads what AppendRoster wrote and returns what is behind it. The error
// wraps bloomery.ErrCorrupt or bloomery.ErrVersion.
func ParseRoster(b []byte) (r *Roster, rest []byte, err error) {
	d := wire.Reader{Rest: b}
	version := d.Byte()
	if !d.Bad && (version < 1 || version > rosterVersion) {
		return nil, nil, fmt.Errorf("store: roster: %w: roster of version %d, this release reads up to %d: a later one is needed", bloomery.ErrVersion, version, rosterVersion)
	}
	r = &Roster{ID: d.Uvarint()}
	lanes := d.Uvarint()
	r.Level, r.Sessions = d.Uvarint(), d.Uvarint()
	members := d.Uvarint()
	if d.Bad || r.ID == 0 || lanes < 1 || lanes > MaxLanes || members > MaxMembers {
		return nil, nil, corrupt("roster")
	}
	r.Lanes = int(lanes)
	for i := uint64(0); i < members && !d.Bad; i++ {
		m := Member{Number: uint32(i + 1), Name: string(d.Bytes()), Addr: string(d.Bytes())}
		m.Level, m.Joined, m.Session, m.Nonce = d.Uvarint(), d.Varint(), d.Uvarint(), d.Varint()
		m.Left = d.Byte() != 0
		r.Members = append(r.Members, m)
	}
	r.Holders = make([][]uint32, lanes+2)
	for i := range r.Holders {
		n := d.Uvarint()
		if n > members {
			return nil, nil, corrupt("holders of a lane")
		}
		for ; n > 0 && !d.Bad; n-- {
			r.Holders[i] = append(r.Holders[i], uint32(d.Uvarint()))
		}
	}
	if version > 1 {
		for n := d.Uvarint(); n > 0 && !d.Bad; n-- {
			r.Staged = append(r.Staged, StagedBy{d.Uvarint(), d.Uvarint()})
		}
	}
	spread := version == 3
	if version > 3 {
		r.Rebuilds = readRebuilds(&d)
		spread = d.Byte() == 1
	}
	if spread {
		if err := readShards(&d, r); err != nil {
			return nil, nil, err
		}
	}
	if d.Bad {
		return nil, nil, corrupt("roster cut short")
	}
	return r, d.Rest, nil
}
