package roster_test

// What nodes do in the simulation of moves.

import (
	"slices"

	"github.com/bloomery/bloomery/server/internal/roster"
	"github.com/bloomery/bloomery/server/internal/store"
)

// start starts the process of a node from its snapshot, or from that of another node if the
// log does not continue its own.
func (w *world) start(n *node) {
	if n.up || n.gone {
		return
	}
	if n.disk == nil || !w.continues(n.disk) {
		if !w.fetch(n) {
			return
		}
	}
	d := n.disk
	w.nonces++
	n.up, n.life, n.nonce = true, n.life+1, w.nonces
	n.lent = map[*learning][1 + simLanes]int{}
	n.pos, n.senders, n.has = d.pos, d.senders, roster.NewHoldings(uint32(n.number), d.held)
	for f, p := range d.parts {
		if p != nil {
			n.parts[f] = &part{p.has, p.sum, p.pos}
		}
	}
	w.note("n%d starts at %v", n.number, n.pos)
	w.reconcile(n)
}

// continues reports whether the log has all that comes behind a snapshot.
func (w *world) continues(d *saved) bool {
	for i := range w.lanes {
		if d.pos[i]+1 < w.lanes[i].first {
			return false
		}
	}
	return true
}

// fetch takes names and tables of senders from another node, and no contents.
func (w *world) fetch(n *node) bool {
	for _, i := range w.random.Perm(len(w.nodes) - 1) {
		from := w.nodes[i+1]
		if from != n && from.up && from.serving && w.continues(from.disk) {
			n.disk = &saved{pos: from.disk.pos, senders: from.disk.senders, fetched: true}
			w.note("n%d fetches from n%d", n.number, from.number)
			return true
		}
	}
	return false
}

// begin leads a node that has started to its session, and through all lanes.
func (w *world) begin(n *node) {
	m := w.view(n).Member(uint32(n.number))
	switch {
	case m == nil: // it has joined behind what it has read
	case m.Left:
		w.cut(n)
		n.gone = true
	case m.Nonce != n.nonce:
		if n.session == 0 && w.odds(3) {
			body := &store.Session{Node: uint64(n.number), Last: m.Session, Nonce: n.nonce, Empty: n.disk.fetched && w.broken != plainSession}
			w.out = append(w.out, &outgoing{m: message{body: body, life: n.life}})
		}
	case n.session == 0:
		n.session = m.Session
		for lane := 1; lane <= simLanes; lane++ {
			w.send(n, lane, message{})
		}
	case n.barriers == simLanes || w.broken == servesEarly:
		if m.Behind {
			w.cut(n)
			return
		}
		n.serving = true
		w.note("n%d serves", n.number)
	}
}

// apply applies the next message of a lane.
func (w *world) apply(n *node, from int) bool {
	seq := n.pos[from] + 1
	l := &w.lanes[from]
	if seq < l.first {
		w.note("n%d: lane %d is purged", n.number, from)
		w.cut(n)
		return true
	}
	if seq >= len(l.messages) {
		return false
	}
	m := &l.messages[seq]
	if from == 0 {
		n.pos[0] = seq
		w.applyName(n, seq, m)
		return true
	}
	if m.after > n.pos[0] {
		return false
	}
	n.pos[from] = seq
	if !n.senders[from].take(m) {
		return true
	}
	own := m.from == n.number && m.session == n.session && m.life == n.life
	p := n.parts[m.filter]
	switch {
	case m.write > 0:
		if p != nil && seq > p.pos {
			p.write(m.write-1, seq)
		}
		if p != nil && p.sum != l.sums[p.pos][m.filter] {
			w.fail("n%d has other contents of f%d than the lane at %d", n.number, m.filter, seq)
		}
		if own {
			n.flight[shardOf(m.filter)]--
			m.ask.applied(w, p != nil, seq)
		}
	case own && m.ask != nil:
		m.ask.barrier(w, seq)
	case own:
		n.barriers++
	}
	return true
}

// applyName applies a message of the catalogue.
func (w *world) applyName(n *node, seq int, m *message) {
	w.reconcile(n)
	if !n.up {
		return
	}
	if f := m.made - 1; f >= 0 && w.made[f] == seq {
		s := shardOf(f)
		if n.has.Keeps(s) {
			n.parts[f] = &part{pos: n.pos[laneOf(f)]}
		}
	}
}

// reconcile drops what the table does not give to the node any more.
func (w *world) reconcile(n *node) {
	m := w.view(n).Member(uint32(n.number))
	if m == nil {
		return
	}
	for _, s := range n.has.Follow(w.view(n).Shards) {
		n.drop(s)
		if n.learning != nil && n.learning.shard == s {
			n.stopLearning()
		}
	}
	for s := range simShards {
		if w.copyOf(n, s).Phase == roster.Retires && w.broken == retiresAtOnce {
			n.drop(s)
		}
	}
	if n.serving && (m.Left || m.Behind && w.broken != behindGoesOn) {
		w.cut(n)
		n.gone = m.Left
	}
}

func (n *node) drop(shard int) {
	for f := range n.parts {
		if shardOf(f) == shard {
			n.parts[f] = nil
		}
	}
	n.has.Drop(shard)
}

func (n *node) stopLearning() {
	for l := range n.learning.parts {
		n.learning.parts[l] = nil
	}
	delete(n.learning.source.lent, n.learning)
	n.learning = nil
}

// learn does the next thing for a copy that a node is to have.
func (w *world) learn(n *node) {
	if n.learning == nil {
		for _, s := range w.random.Perm(simShards) {
			if since := n.has.Learns(s); since != 0 {
				n.learning = &learning{shard: s, since: since}
				if !w.findSource(n) {
					n.learning = nil
					continue
				}
				return
			}
		}
		return
	}
	l := n.learning
	all := true
	for f := range n.parts {
		if shardOf(f) != l.shard || !w.knows(n, f) || n.parts[f] != nil {
			continue
		}
		all = false
		if p := l.parts[f]; p == nil {
			w.freeze(n, f)
		} else {
			w.follow(n, f, p)
		}
		if n.learning == nil {
			return
		}
	}
	if all {
		n.has.Complete(l.shard)
		n.stopLearning()
		w.note("n%d has shard %d", n.number, l.shard)
	}
}

// findSource looks for a node that holds what another one learns.
func (w *world) findSource(n *node) bool {
	for _, i := range w.random.Perm(len(w.nodes) - 1) {
		x := w.nodes[i+1]
		if x != n && x.up && x.serving && x.paused < w.step && x.has.Answers(n.learning.shard) {
			if old := n.learning.source; old != nil {
				delete(old.lent, n.learning)
			}
			n.learning.source = x
			return true
		}
	}
	return false
}

// freeze takes a part from the source, with the table of senders of its lane.
func (w *world) freeze(n *node, f int) {
	l, x := n.learning, n.learning.source
	if !x.up || !x.serving || !x.has.Answers(l.shard) {
		if !w.findSource(n) {
			n.stopLearning()
		}
		return
	}
	if x.paused >= w.step {
		return
	}
	z := &frozen{senders: x.senders[laneOf(f)]}
	if p := x.parts[f]; p != nil {
		z.part = *p
	}
	z.pos = x.pos[laneOf(f)]
	l.parts[f] = z
	lent, ok := x.lent[l]
	if !ok {
		lent = x.pos
	}
	lent[laneOf(f)] = min(lent[laneOf(f)], z.pos)
	x.lent[l] = lent
	w.note("n%d freezes f%d of n%d at %d", n.number, f, x.number, z.pos)
}

// follow reads the log behind a part, and makes it one of the node when it has come to where
// the node is.
func (w *world) follow(n *node, f int, p *frozen) {
	lane := laneOf(f)
	l := &w.lanes[lane]
	switch {
	case w.lazy && !w.odds(30):
	case p.pos < n.pos[lane] && w.broken != withoutLog:
		if p.pos+1 < l.first {
			if w.broken == overGap {
				p.pos = l.first - 1
				return
			}
			n.learning.parts[f] = nil // from the beginning
			return
		}
		p.pos++
		m := &l.messages[p.pos]
		if (p.senders.take(m) || w.broken == withoutSenders) && m.write > 0 && m.filter == f {
			p.write(m.write-1, p.pos)
		}
	case p.pos > n.pos[lane] && w.broken != installsAhead:
	default:
		n.parts[f] = &part{p.has, p.sum, max(p.pos, n.pos[lane])}
		w.note("n%d installs f%d at %d", n.number, f, n.pos[lane])
		if p.sum != l.sums[n.pos[lane]][f] {
			w.fail("n%d has learned other contents of f%d than the lane at %d", n.number, f, n.pos[lane])
		}
	}
}

// report records what a node has learned, or given up.
func (w *world) report(n *node) {
	for _, s := range w.random.Perm(simShards) {
		switch c := w.copyOf(n, s); {
		case c.Phase == roster.Learns && n.has.Whole(s) && (slices.Contains(n.disk.held, roster.Held{Shard: s, Since: c.Since}) || w.broken == holdsEarly):
			w.record(n, &store.ShardHold{Node: uint64(n.number), Shard: uint64(s), Since: c.Since})
			return
		case c.Phase == roster.Retires && n.flight[s] == 0:
			n.drop(s)
			w.record(n, &store.ShardFree{Node: uint64(n.number), Shard: uint64(s), Since: c.Since})
			return
		}
	}
}

// save returns a snapshot of a node that nothing happens to meanwhile.
func (n *node) save() *saved {
	d := &saved{}
	for !n.savePiece(d, false) {
	}
	return d
}

// savePiece does the next thing for a snapshot: first the lanes, then the catalogue, then
// parts, each with a position of its own. It has the shards that were whole before that.
func (n *node) savePiece(d *saved, late bool) (done bool) {
	switch d.phase++; d.phase {
	case 1:
		d.held = n.has.Held()
	case 2, 3:
		d.pos[d.phase-1], d.senders[d.phase-1] = n.pos[d.phase-1], n.senders[d.phase-1]
	case 4:
		d.pos[0] = n.pos[0]
	case 5:
		if late {
			d.held = n.has.Held()
		}
		d.held = roster.Both(d.held, n.has.Held())
		for f, p := range n.parts {
			if p != nil && slices.ContainsFunc(d.held, func(v roster.Held) bool { return v.Shard == shardOf(f) }) {
				d.parts[f] = &part{p.has, p.sum, max(p.pos, n.pos[laneOf(f)])}
			}
		}
	default:
		return true
	}
	return false
}

// snapshot does the next thing for the snapshot of a node.
func (w *world) snapshot(n *node) {
	if n.saving == nil {
		n.saving = &saved{}
	}
	if !n.savePiece(n.saving, w.broken == savesLate) {
		return
	}
	n.disk, n.saving = n.saving, nil
	w.note("n%d has saved %v, %v", n.number, n.disk.pos, n.disk.held)
}

// kept returns up to where a node needs no log.
func (n *node) kept() [1 + simLanes]int {
	k := n.disk.pos
	for _, lent := range n.lent {
		for i := 1; i <= simLanes; i++ {
			k[i] = min(k[i], lent[i])
		}
	}
	return k
}

// beat tells the others up to where a node needs no log.
func (w *world) beat(n *node) {
	for _, other := range w.nodes[1:] {
		if other != n && other.up && !w.odds(8) && n.number+other.number != w.deaf {
			other.heard[n.number] = beat{w.step, n.kept()}
		}
	}
}

// hears reports whether a node has heard of another one lately.
func (w *world) hears(n *node, number int) bool {
	h := n.heard[number]
	return number == n.number || h.at > 0 && w.step-h.at < liveFor
}

// propose decides what no node needs of the log, and drops it some time later. Nodes that are
// behind do not count, as the node that decides knows. That may be an old table: a node that has
// come back since, and has learned, has saved what comes behind all that the decider has saved.
func (w *world) propose(n *node) {
	if p := n.purge; p != nil {
		n.purge = nil
		w.execute(n, p)
		return
	}
	limits := n.kept()
	if w.broken == withoutOwn {
		limits = [1 + simLanes]int{1 << 20, 1 << 20, 1 << 20}
	}
	live, members := 0, 0
	for i := range w.view(n).Members {
		m := &w.view(n).Members[i]
		if m.Left {
			continue
		}
		members++
		if w.hears(n, int(m.Number)) {
			live++
		} else if m.Behind || w.broken == byLiveness {
			continue
		}
		if int(m.Number) == n.number {
			continue
		}
		h := n.heard[m.Number]
		if h.at == 0 {
			return // it may need anything
		}
		for lane := range limits {
			limits[lane] = min(limits[lane], h.kept[lane])
		}
	}
	if live >= min(2, members) && limits[0] < 1<<20 {
		n.purge = &limits
	}
}

// execute drops it.
func (w *world) execute(n *node, limits *[1 + simLanes]int) {
	for lane := range w.lanes {
		w.lanes[lane].first = max(w.lanes[lane].first, limits[lane]+1)
	}
	w.note("n%d purges up to %v", n.number, *limits)
}

// wants returns which nodes are to hold a shard, as a node that decides sees it.
func (w *world) wants(n *node, shard int) (nodes []int) {
	for i := range w.view(n).Members {
		if m := &w.view(n).Members[i]; !m.Left && !m.Behind {
			nodes = append(nodes, int(m.Number))
		}
	}
	score := func(number int) uint64 { return mix64(w.target + uint64(shard)*977 + uint64(number)*131) }
	slices.SortFunc(nodes, func(a, b int) int {
		if score(a) < score(b) {
			return -1
		}
		return 1
	})
	return nodes[:min(len(nodes), w.view(n).Shards.Copies)]
}

// decide has a node decide about a shard.
func (w *world) decide(n *node) {
	s := w.random.IntN(simShards)
	place := w.view(n).Shards.Places[s]
	if w.wild {
		w.decideWildly(n, s, place)
		return
	}
	want := w.wants(n, s)
	for _, c := range place.Copies {
		switch {
		case c.Phase == roster.Learns && (!w.hears(n, int(c.Node)) || !slices.Contains(want, int(c.Node))):
			w.record(n, &store.ShardCancel{Node: uint64(c.Node), Shard: uint64(s), Since: c.Since})
			return
		case c.Phase == roster.Holds && !slices.Contains(want, int(c.Node)) && (w.asksHolders(n, s, int(c.Node)) >= w.view(n).Shards.Copies || w.broken == unaskedRetire && place.Count(roster.Holds) > w.view(n).Shards.Copies):
			w.record(n, &store.ShardRetire{Node: uint64(c.Node), Shard: uint64(s), Version: place.Version})
			return
		}
	}
	for _, number := range want {
		if place.Copy(uint32(number)).Phase == 0 && place.Count(roster.Learns) == 0 && w.hears(n, number) {
			w.record(n, &store.ShardLearn{Node: uint64(number), Shard: uint64(s), Version: place.Version})
			return
		}
	}
}

// decideWildly has a node decide without reason: the table has to see to what is right.
func (w *world) decideWildly(n *node, s int, place roster.Place) {
	number := uint32(1 + w.random.IntN(len(w.nodes)-1))
	c := place.Copy(number)
	switch w.random.IntN(6) {
	case 0, 1:
		w.record(n, &store.ShardLearn{Node: uint64(number), Shard: uint64(s), Version: place.Version})
	case 2, 3:
		if w.asksHolders(n, s, int(number)) > 0 || w.broken == unaskedRetire {
			w.record(n, &store.ShardRetire{Node: uint64(number), Shard: uint64(s), Version: place.Version})
		}
	case 4:
		w.record(n, &store.ShardFree{Node: uint64(number), Shard: uint64(s)}) // of no copy at all
	default:
		w.record(n, &store.ShardCancel{Node: uint64(number), Shard: uint64(s), Since: c.Since})
	}
}

// giveUp has a node give up another one that is away, if others say that they hold its
// shards.
func (w *world) giveUp(n *node, number int) {
	m := w.view(n).Member(uint32(number))
	if m == nil || m.Left || m.Behind && !w.wild || w.hears(n, number) {
		return
	}
	if w.broken == unheardHolders || w.heldByOthers(n, number) {
		w.record(n, &store.Behind{Node: uint64(number), Session: m.Session, Changes: w.view(n).Shards.Changes})
	}
}

// heldByOthers reports whether another one says of each shard of a node that it holds it, too.
func (w *world) heldByOthers(n *node, number int) bool {
	for s := range simShards {
		place := w.view(n).Shards.Places[s]
		if place.Copy(uint32(number)).Phase == roster.Holds && w.asksHolders(n, s, number) == 0 {
			return false
		}
	}
	return true
}

// asksHolders returns how many nodes besides one say that they hold a shard.
func (w *world) asksHolders(n *node, shard, besides int) (holders int) {
	for _, c := range w.view(n).Shards.Places[shard].Copies {
		x := w.nodes[c.Node]
		if x.number != besides && c.Phase == roster.Holds && x.up && x.paused < w.step && w.answers(x, shard) {
			holders++
		}
	}
	return holders
}

// remove has an operator remove a node.
func (w *world) remove(n *node, number int, forced bool) {
	m := w.view(n).Member(uint32(number))
	if m == nil || m.Left || number == n.number || w.view(n).Nodes() < 3 {
		return
	}
	if w.heldByOthers(n, number) { // the table asks for more unless it is forced
		w.record(n, &store.Leave{Node: uint64(number), Forced: forced})
	}
}
