package roster_test

// The laws of the simulation of moves.

import (
	"slices"

	"github.com/bloomery/bloomery/server/internal/roster"
	"github.com/bloomery/bloomery/server/internal/store"
)

// judge asks that a record that has changed the table could do so: what its sender knew is
// what it met, and nothing was taken from a shard that was its last.
func (w *world) judge(before *roster.Roster, m *message) {
	after := w.state.Roster()
	w.note("  now %v %v", after.Shards.Places[0].Copies, after.Shards.Places[1].Copies)
	switch b := m.body.(type) {
	case *store.ShardLearn:
		w.judgeMove(before, m, b.Shard, b.Node, 0, true)
		if after.Shards.Places[b.Shard].Count(roster.Learns) > 1 {
			w.fail("two nodes learn shard %d", b.Shard)
		}
		if v := before.Member(uint32(b.Node)); v.Left || v.Behind {
			w.fail("n%d learns shard %d, and is not there", b.Node, b.Shard)
		}
	case *store.ShardRetire:
		w.judgeMove(before, m, b.Shard, b.Node, roster.Holds, true)
		if after.Shards.Places[b.Shard].Count(roster.Holds) < after.Shards.Copies {
			w.fail("shard %d has too few copies when n%d retires", b.Shard, b.Node)
		}
	case *store.ShardHold:
		w.judgeMove(before, m, b.Shard, b.Node, roster.Learns, false)
	case *store.ShardCancel:
		w.judgeMove(before, m, b.Shard, b.Node, roster.Learns, false)
	case *store.ShardFree:
		w.judgeMove(before, m, b.Shard, b.Node, roster.Retires, false)
	case *store.Behind:
		w.judgeAbsence(before, int(b.Node), 1)
		if v := before.Member(uint32(b.Node)); v.Session != m.knew.Member(uint32(b.Node)).Session || v.Left || v.Behind {
			w.fail("n%d is given up, and is another one", b.Node)
		}
		for s := range simShards {
			if p := before.Shards.Places[s]; p.Copy(uint32(b.Node)).Phase != 0 && !slices.Equal(p.Copies, m.knew.Shards.Places[s].Copies) {
				w.fail("n%d is given up, though shard %d has changed meanwhile", b.Node, s)
			}
		}
	case *store.Leave:
		copies := 1
		if !b.Forced {
			copies = min(before.Shards.Copies, int(after.Nodes()))
		}
		w.judgeAbsence(before, int(b.Node), copies)
	case *store.ShardCopies, *store.ShardPause, *store.Weight:
		if before.Shards.Copies != m.knew.Shards.Copies || before.Shards.Paused != m.knew.Shards.Paused {
			w.fail("a setting replaces one that its sender did not know")
		}
		if v, ok := b.(*store.Weight); ok && before.Member(uint32(v.Node)).Left {
			w.fail("n%d has a weight, and has left", v.Node)
		}
	case *store.Session:
		if n := w.nodes[b.Node]; b.Nonce > n.damaged {
			n.damaged = 0
		}
	}
}

// judgeMove asks that a move began where its sender believed.
func (w *world) judgeMove(before *roster.Roster, m *message, shard, number uint64, from roster.Phase, begins bool) {
	met, knew := before.Shards.Places[shard], m.knew.Shards.Places[shard]
	if c := met.Copy(uint32(number)); c.Phase != from || c.Since != knew.Copy(uint32(number)).Since {
		w.fail("%T of n%d and shard %d meets %v", m.body, number, shard, c)
	}
	if begins && !slices.Equal(met.Copies, knew.Copies) {
		w.fail("%T of n%d and shard %d meets a shard that its sender did not know", m.body, number, shard)
	}
	if begins && before.Shards.Paused {
		w.fail("%T of n%d and shard %d, and moves are paused", m.body, number, shard)
	}
}

// judgeAbsence asks that so many nodes hold what a node held.
func (w *world) judgeAbsence(before *roster.Roster, number, copies int) {
	for s := range simShards {
		held := before.Shards.Places[s].Copy(uint32(number)).Phase == roster.Holds
		if n := w.state.Roster().Shards.Places[s].Count(roster.Holds); held && n < copies {
			w.fail("without n%d there are %d copies of shard %d", number, n, s)
		}
	}
}

// real reports whether a node can come back by itself with a copy of a shard.
func (w *world) real(n *node, shard int, since uint64) bool {
	d := n.disk
	return !n.gone && d != nil && slices.Contains(d.held, roster.Held{Shard: shard, Since: since}) && w.continues(d) &&
		w.tables[d.pos[0]].Shards.Places[shard].Copy(uint32(n.number)).Since == since
}

// laws asks that whoever holds a shard, as the table says, has it for good; that somebody
// does; and that all who have it have the same.
func (w *world) laws() {
	for s := range simShards {
		sources := 0
		for _, c := range w.state.Roster().Shards.Places[s].Copies {
			n := w.nodes[c.Node]
			switch {
			case c.Phase != roster.Holds:
			case w.real(n, s, c.Since):
				sources++
			case !n.gone && n.damaged == 0:
				w.fail("n%d holds shard %d, says the table, and cannot come back with it", n.number, s)
			}
		}
		if sources == 0 {
			w.fail("shard %d is lost", s)
		}
	}
	for _, n := range w.nodes[1:] {
		for f, p := range n.parts {
			at := n.pos[laneOf(f)]
			if p != nil && !n.serving { // what a snapshot has may be ahead
				at = max(at, p.pos)
			}
			if p != nil && n.has.Whole(shardOf(f)) && p.sum != w.lanes[laneOf(f)].sums[at][f] {
				w.fail("n%d has other contents of f%d than the lane", n.number, f)
			}
		}
	}
}

// losable reports whether a machine can be lost without taking the last copy of a shard along,
// now or by a record that is on its way.
func (w *world) losable(n *node) bool {
	for s := range simShards {
		place := w.state.Roster().Shards.Places[s]
		if place.Copy(uint32(n.number)).Phase != roster.Holds {
			continue
		}
		others := 0
		for _, c := range place.Copies {
			if int(c.Node) != n.number && c.Phase == roster.Holds && w.real(w.nodes[c.Node], s, c.Since) && !w.leaving(int(c.Node)) {
				others++
			}
		}
		if others == 0 {
			return false
		}
	}
	return true
}

// leaving reports whether a record is on its way that takes shards from a node.
func (w *world) leaving(number int) bool {
	return slices.ContainsFunc(w.out, func(o *outgoing) bool {
		switch b := o.m.body.(type) {
		case *store.Behind:
			return int(b.Node) == number
		case *store.Leave:
			return int(b.Node) == number
		case *store.ShardRetire:
			return int(b.Node) == number
		}
		return false
	})
}

// mend ends all trouble, and asks that every shard comes to its copies.
func (w *world) mend() {
	w.note("mended")
	w.wild, w.lazy, w.slow, w.deaf = false, false, 0, 0
	for round := 0; round < 400 && w.err == nil; round++ {
		w.step += 10
		for len(w.out) > 0 {
			w.deliver(0)
		}
		var first *node
		for _, n := range w.nodes[1:] {
			n.paused = 0
			w.start(n)
			w.tend(n)
			if first == nil && n.up && n.serving {
				first = n
			}
		}
		for _, q := range w.asked {
			w.advance(q)
		}
		if first != nil && round%5 == 4 {
			w.govern(first)
		}
		w.laws()
		if w.err != nil || first != nil && round > 60 && len(w.out) == 0 && w.settled() {
			return
		}
	}
	if w.err == nil {
		w.fail("a move does not end: %v", w.state.Roster().Shards.Places[:simShards])
	}
}

// tend has a node do all that it may do.
func (w *world) tend(n *node) {
	if !n.up {
		return
	}
	for more := true; more && n.up; {
		more = false
		for lane := range w.lanes {
			more = n.up && w.apply(n, lane) || more
		}
	}
	switch {
	case !n.up:
	case !n.serving:
		w.begin(n)
	default:
		w.beat(n)
		w.snapshot(n)
		w.learn(n)
		w.report(n)
	}
}

// govern has one node decide about everything.
func (w *world) govern(n *node) {
	if t := w.view(n).Shards; t.Paused {
		w.record(n, &store.ShardPause{Settings: t.Settings})
		return
	}
	for i := range w.view(n).Members {
		w.giveUp(n, int(w.view(n).Members[i].Number))
	}
	for range 4 {
		w.decide(n)
	}
}

// settled reports whether as many nodes as can be serve each shard, and no move is under way.
func (w *world) settled() bool {
	live := 0
	for _, n := range w.nodes[1:] {
		if n.up && n.serving {
			live++
		}
	}
	r := w.state.Roster()
	for s := range simShards {
		serving := 0
		for _, c := range r.Shards.Places[s].Copies {
			if n := w.nodes[c.Node]; c.Phase != roster.Holds || n.up && !w.answers(n, s) {
				return false
			} else if n.up {
				serving++
			}
		}
		if serving < min(r.Shards.Copies, live) {
			return false
		}
	}
	return true
}
