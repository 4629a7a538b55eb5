package roster_test

// Clients, and questions between nodes, in the simulation of moves.

import (
	"github.com/bloomery/bloomery/server/internal/roster"
)

// A question passes these phases.
const (
	routed   = iota // to a holder, which waits for what the asker knows
	proposed        // the holder has sent a write
	answered        // the asker waits for what the holder has answered
	refused         // the asker waits for the catalogue of the holder, and looks again
	fenced          // the asker waits for a barrier of its own
	ended
)

// question is a call of a client at the asker, which a holder runs.
type question struct {
	asker, holder *node
	phase         int
	filter        int
	write         int // plus 1; 0 is a read
	owner         bool
	place, seq    int    // of the catalogue and of the lane, which the holder waits for
	at            int    // the place of the catalogue of the answer
	missed        bool   // the holder had no contents any more when the write was applied
	need          uint64 // what a read must not miss
	tries         int
}

// call has a client call a command at a node.
func (w *world) call(n *node, write, owner bool) {
	f := w.random.IntN(simFilters)
	if w.odds(2) {
		f = w.moving(f)
	}
	if !w.knows(n, f) {
		if n.acked[f] != 0 {
			w.fail("n%d has acknowledged writes to f%d, and does not know it", n.number, f)
		}
		if w.made[f] < 0 {
			w.send(n, 0, message{made: f + 1})
			return
		}
		write = true // which makes the filter where it is missing
	}
	q := &question{asker: n, filter: f, owner: owner, need: n.acked[f] | n.seen[f]}
	switch {
	case write && w.writes == simWrites:
		return
	case write:
		w.writes++
		q.write = w.writes
	case owner:
		q.need |= w.acked[f]
		if w.broken != ownerAtOnce {
			q.phase = fenced
			w.asked = append(w.asked, q)
			w.send(n, laneOf(f), message{ask: q})
			return
		}
	}
	w.asked = append(w.asked, q)
	w.route(q)
}

// moving returns a filter in a shard that moves, or else the one that is passed.
func (w *world) moving(f int) int {
	for s := range simShards {
		p := &w.state.Roster().Shards.Places[s]
		if p.Count(roster.Retires)+p.Count(roster.Learns) > 0 {
			return s + simShards*w.random.IntN(simFilters/simShards)
		}
	}
	return f
}

// answers reports whether a node answers for a filter.
func (w *world) answers(n *node, f int) bool {
	if !n.up || !n.serving {
		return false
	}
	s := shardOf(f)
	return n.has.Answers(s) || w.broken == answersEarly && w.copyOf(n, s).Phase == roster.Learns && n.has.Whole(s)
}

// route chooses who is asked: the node itself, or one that holds the shard.
func (w *world) route(q *question) {
	n, f := q.asker, q.filter
	q.phase = routed
	if q.tries++; q.tries > 30 {
		q.phase = ended
		return
	}
	q.place, q.seq = n.pos[0], max(q.seq, n.answered[laneOf(f)])
	if w.answers(n, f) {
		q.holder = n
		if w.broken == readsAtOnce && !q.owner {
			q.seq = 0
		}
		return
	}
	for _, i := range w.random.Perm(len(w.nodes) - 1) {
		h := w.nodes[i+1]
		c := w.view(n).Shards.Places[shardOf(f)].Copy(uint32(h.number))
		if h != n && c.Phase == roster.Holds && h.up {
			q.holder = h
			w.note("n%d asks n%d for f%d, w%d", n.number, h.number, f, q.write-1)
			return
		}
	}
	q.phase = ended
}

// lose ends a question whose holder has died. The client does not know whether a write was
// applied.
func (q *question) lose(w *world) {
	if q.asker.up && q.phase == proposed && w.broken == writesAgain {
		w.route(q)
		return
	}
	q.phase = ended
}

// advance does the next thing for a question.
func (w *world) advance(q *question) {
	n, h, lane := q.asker, q.holder, laneOf(q.filter)
	switch q.phase {
	case routed:
		if !h.up {
			q.phase = ended
			return
		}
		if !h.serving && h != n || h.paused >= w.step ||
			h.pos[0] < q.place && w.broken != asksWithoutPlace || h.pos[lane] < q.seq && w.broken != asksWithoutSequence {
			return
		}
		if !w.answers(h, q.filter) {
			q.phase, q.at = refused, h.pos[0]
			return
		}
		w.look(q)
	case refused:
		if n.pos[0] >= q.at {
			w.route(q)
		}
	case answered:
		early := w.broken == answersBeforeTail
		if n.pos[0] < q.at && !early || n.pos[lane] < q.seq && !early {
			return
		}
		if q.missed { // the id is gone, says the holder
			q.missed = false
			w.route(q)
			return
		}
		q.phase = ended
		w.acknowledge(q)
	}
}

// look has the holder run a question.
func (w *world) look(q *question) {
	h, lane := q.holder, laneOf(q.filter)
	if !w.knows(h, q.filter) {
		if q.write > 0 {
			q.phase = ended // it would be made first
			return
		}
		w.fail("n%d tells n%d that f%d does not exist", h.number, q.asker.number, q.filter)
		return
	}
	p := h.parts[q.filter]
	if p == nil {
		w.fail("n%d answers for f%d and does not have it", h.number, q.filter)
		return
	}
	if q.write > 0 {
		h.flight[shardOf(q.filter)]++
		q.phase = proposed
		w.send(h, lane, message{write: q.write, filter: q.filter, ask: q})
		return
	}
	q.phase = ended
	w.note("n%d answers n%d of f%d: %b", h.number, q.asker.number, q.filter, p.has)
	if lacks := q.need &^ p.has; lacks != 0 {
		w.fail("a read of f%d at n%d, answered by n%d, lacks %b", q.filter, q.asker.number, h.number, lacks)
	}
	q.asker.seen[q.filter] |= p.has
	if w.broken != readsForgotten {
		q.asker.answered[lane] = max(q.asker.answered[lane], h.pos[lane])
	}
}

// applied tells a question that its write was applied at the holder.
func (q *question) applied(w *world, there bool, seq int) {
	if q.phase == proposed {
		q.phase, q.missed, q.at, q.seq = answered, !there, q.holder.pos[0], seq
		w.note("w%d is applied at n%d, %v", q.write-1, q.holder.number, there)
	}
}

// barrier tells a question that its barrier has come back.
func (q *question) barrier(w *world, seq int) {
	if q.phase == fenced {
		q.seq = seq
		w.route(q)
	}
}

// acknowledge tells the client that its write is kept.
func (w *world) acknowledge(q *question) {
	n, bit, lane := q.asker, uint64(1)<<(q.write-1), laneOf(q.filter)
	if w.lanes[lane].parts[q.filter].has&bit == 0 {
		w.fail("w%d is acknowledged, and in no lane", q.write-1)
	}
	w.acked[q.filter] |= bit
	n.acked[q.filter] |= bit
	n.answered[lane] = max(n.answered[lane], q.seq)
	w.note("w%d is acknowledged", q.write-1)
}
