package cluster

// Moves that the node which decides begins: so that the nodes hold each shard that are to.

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/bloomery/bloomery/server/internal/door/cluster/balance"
	"github.com/bloomery/bloomery/server/internal/placement"
	"github.com/bloomery/bloomery/server/internal/roster"
	"github.com/bloomery/bloomery/server/internal/store"
)

// Records name what their sender knew, and the table refuses those that do not fit: deciders that
// disagree do no harm. What the table cannot know is which nodes are lost, so whoever has a node
// retire, or gives one up, has heard from others that they hold its shards.

const (
	// calmFor is for how long nodes neither come nor go before a move begins: a rolling restart
	// moves nothing.
	calmFor = 30 * time.Second
	// usualCapacity counts for a node that does not say how much memory it may take.
	usualCapacity = 1 << 30
)

// deciding is what a node knows that decides. But for the last, it belongs to decideMoves.
type deciding struct {
	decide bool       // this node decides
	target [][]uint32 // nil if it is not known
	calm   atomic.Pointer[calm]
}

// calm is since when nothing comes or goes.
type calm struct {
	seen  string        // which nodes there are
	since time.Duration // when that has changed, as Door.tick counts
}

// calmed returns since when nodes are as they are, of which some are live: now, if that was not noted yet.
func (d *Door) calmed(r *roster.Roster, live []uint32) calm {
	seen := describe(r, live)
	if was := d.moves.calm.Load(); was != nil && was.seen == seen {
		return *was
	}
	return calm{seen, d.tick()}
}

// decideMoves begins what is due. Every node looks who comes and goes, to say what moves wait for.
func (d *Door) decideMoves(ctx context.Context) {
	m, decides := &d.moves.deciding, d.Decides()
	if decides {
		d.giveUpAway(ctx)
	}
	r := d.state.Roster()
	was, now := m.calm.Load(), d.calmed(r, d.liveNodes())
	if decides && !m.decide {
		now.since = d.tick()
	}
	if was == nil || *was != now {
		m.target = nil
		m.calm.Store(&now)
	}
	if m.decide = decides; !decides {
		return
	}
	if r.Shards.Paused || d.tick()-now.since < calmFor || r.Vacant() != 0 {
		return
	}
	if m.target == nil {
		m.target = balance.Target(r)
	}
	if !balance.Reached(r, m.target) {
		d.propose(d.askHolders(ctx).Decide(r, m.target))
	}
}

// movesWait returns why nothing moves, in words, "" if nothing has to, or what has to move may.
func (d *Door) movesWait(r *roster.Roster) string {
	left := calmFor - (d.tick() - d.calmed(r, d.liveNodes()).since)
	reason := ""
	switch {
	case r.Shards.Paused:
		reason = "they are paused: bloomery cluster resume-moves"
	case r.Vacant() != 0:
		reason = fmt.Sprintf("node %[1]d, which has a folder of the restore, has not started: start it, or bloomery cluster leave %[1]d --yes", r.Vacant())
	case left > 0:
		reason = fmt.Sprintf("nodes, their memory or copies have changed: they begin %v after that, in %v", calmFor, left.Round(time.Second))
	}
	if reason == "" || balance.Reached(r, balance.Target(r)) {
		return ""
	}
	return reason
}

// liveNodes returns this node and those that it has heard of lately.
func (d *Door) liveNodes() []uint32 {
	list := []uint32{d.number.Load()}
	for _, v := range d.live() {
		list = append(list, v.Node)
	}
	return list
}

// describe returns which nodes there are, and who of them is there.
func describe(r *roster.Roster, live []uint32) string {
	text := strconv.Itoa(r.Shards.Copies)
	for i := range r.Members {
		if m := &r.Members[i]; !m.Left {
			text += fmt.Sprint(" ", m.Number, m.Weight, m.Behind, m.Session, slices.Contains(live, m.Number))
		}
	}
	return text
}

// sayWeight says how much this node is to hold, before contents are spread too, so that this is known
// when they are. An operator may have said otherwise since this process began: then that stays.
func (d *Door) sayWeight(context.Context) {
	bytes := uint64(usualCapacity)
	if d.config.Capacity != nil {
		bytes = d.config.Capacity()
	}
	weight, r, own := placement.WeightOf(bytes), d.state.Roster(), d.number.Load()
	if weight == d.moves.said {
		return
	}
	if r.Member(own).Weight != weight {
		d.propose([]store.Body{&store.Weight{Node: uint64(own), Weight: uint8(weight), Settings: settingsOf(r)}})
	}
	if d.state.Roster().Member(own).Weight == weight {
		d.moves.said = weight
	}
}

// askHolders asks all nodes that are live which shards they answer for. One that does not answer
// is not among them.
func (d *Door) askHolders(ctx context.Context) balance.Holders {
	h := balance.Holders{}
	if b, err := d.ownShards(); err == nil {
		h[d.number.Load()] = b[1:]
	}
	for _, v := range d.live() {
		short, cancel := context.WithTimeout(ctx, askEvery)
		b, err := d.ask(short, v.Node, question(askShards), placement.Shards/8)
		cancel()
		if err == nil && len(b) == placement.Shards/8 {
			h[v.Node] = b
		}
	}
	return h
}

// giveUpAway gives up nodes that are away for long, or for which a stream would have to be kept
// beyond half of what it has room for. Others then learn what they held, and the log is not kept
// for them any more.
func (d *Door) giveUpAway(ctx context.Context) {
	r := d.state.Roster()
	heards := map[uint32]heard{}
	for _, v := range d.beats.all() {
		heards[v.Node] = v
	}
	for i := range r.Members {
		m := &r.Members[i]
		v, ok := heards[m.Number]
		if !ok {
			v.seen = time.Duration(d.beats.since.Load())
		}
		silent := d.tick() - v.seen
		if m.Left || m.Behind || m.Number == d.number.Load() || silent <= liveFor || silent <= awayFor && !d.fills(v.Kept) {
			continue
		}
		if d.askHolders(ctx).HoldAll(r, m.Number) {
			d.config.Slog.Warn("a node is away, and is given up: it learns its shards again when it returns", "node", m.Number, "seconds", float64(silent.Milliseconds())/1000)
			d.propose([]store.Body{&store.Behind{Node: uint64(m.Number), Session: m.Session, Changes: r.Shards.Changes}})
			return // the table is another one now
		}
	}
}
