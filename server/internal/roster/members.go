package roster

// Nodes that come and go.

// Outcome is what came of a change that a record asks for. Records may be late, or come
// again: then they change nothing.
type Outcome struct {
	Changed bool
	// N is the number of a node, a session or a change.
	N int64
	// Ended is the session that has ended with the change, 0 if none has.
	Ended uint64
	// Missing means that there is no such node or shard, or none yet.
	Missing bool
	// Refused says why something is not done, "" if nothing forbids it.
	Refused string
}

// member is Member for a number in a record.
func (r *Roster) member(node uint64) *Member { return r.Member(uint32(min(node, MaxMembers+1))) }

// Join gives the next number to a node, or again the one that it has: a nonce tells nodes
// apart. It reads records up to a level.
func (r *Roster) Join(name, addr []byte, level uint64, nonce int64) (o Outcome) {
	for i := range r.Members {
		if m := &r.Members[i]; m.Joined == nonce {
			o.N = int64(m.Number)
			if m.Level == 0 && level >= r.Level {
				m.Name, m.Addr, m.Level, o.Changed = string(name), string(addr), level, true
			}
			return o
		}
	}
	switch {
	case len(r.Members) >= MaxMembers:
		o.Refused = "there are no more numbers for nodes"
		return o
	case level < r.Level:
		o.Refused = "the node cannot read what others send"
		return o
	}
	m := Member{
		Number: uint32(len(r.Members) + 1), Name: string(name), Addr: string(addr),
		Level: level, Joined: nonce,
	}
	r.Members = append(r.Members, m)
	return Outcome{N: int64(m.Number), Changed: true}
}

// Leave removes a node for ever. Where contents are spread, others have to hold what it
// holds: one of them is enough if it is forced.
func (r *Roster) Leave(node uint64, forced bool) (o Outcome) {
	m := r.member(node)
	if m == nil {
		return Outcome{Missing: true}
	}
	if m.Left {
		return o
	}
	need := copiedElsewhere
	if forced {
		need = heldElsewhere
	}
	if o.Refused = r.refuse(&asked{member: m}, need); o.Refused == "" {
		o.Ended = m.Session
		m.Left, o.Changed = true, true
		r.forfeit(m.Number)
	}
	return o
}

// Resume gives the next session to a node, or again the one that it has: a nonce tells
// sessions apart. One that names another session than the last was sent before that: it is
// an old one that comes again, or lost a race. A node that comes empty has nothing of
// shards.
func (r *Roster) Resume(node, last uint64, nonce int64, empty bool) (o Outcome) {
	switch m := r.member(node); {
	case m == nil || m.Left:
		o.Missing = true
	case m.Session != 0 && m.Nonce == nonce:
		o.N = int64(m.Session)
	case m.Session != last:
		o.Refused = "the node has begun another session"
	default:
		o.Ended = m.Session
		r.Sessions++
		m.Session, m.Nonce, m.Behind = r.Sessions, nonce, false
		o.N, o.Changed = int64(m.Session), true
		if empty {
			r.forfeit(m.Number)
		}
	}
	return o
}

// Raise allows records of a level.
func (r *Roster) Raise(level uint64) (o Outcome) {
	if level > r.Level {
		r.Level, o.Changed = level, true
	}
	return o
}

// GiveUp gives up a node that is away: what it has of shards is void, and the log need not
// be kept for it. Its next session ends that. The sender knew of a session of the node, and
// of the last change of shards.
func (r *Roster) GiveUp(node, session, changes uint64) (o Outcome) {
	m := r.member(node)
	if m == nil || !r.Shards.spread() {
		return Outcome{Missing: true}
	}
	a := asked{member: m, named: changes, session: session}
	if o.Refused = r.refuse(&a, belongs, isCurrent, sameSession, sameHoldings, heldElsewhere); o.Refused == "" {
		m.Behind, o.Changed = true, true
		r.forfeit(m.Number)
	}
	return o
}
