package cluster

// Moves that the node which decides begins: so that the nodes hold each shard that are to.

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

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
	// learnsAtOnce is how many shards a node is to learn at a time. It learns one after the other,
	// and says in one go that it holds them: one snapshot does for all.
	learnsAtOnce = 32
	// recordsAtOnce is how many moves are decided at a time.
	recordsAtOnce = 512
	// usualCapacity counts for a node that does not say how much memory it may take.
	usualCapacity = 1 << 30
)

// deciding is what a node knows that decides. But for the last, it belongs to decideMoves.
type deciding struct {
	seen   string        // which nodes there are
	decide bool          // this node decides
	since  time.Duration // when that has changed, as Door.tick counts
	target [][]uint32    // nil if it is not known
	calm   atomic.Int64  // since for others to read
}

// decideMoves begins what is due. Every node looks who comes and goes, to say what moves wait for.
func (d *Door) decideMoves(ctx context.Context) {
	m, decides := &d.moves.deciding, d.Decides()
	if decides {
		d.giveUpAway(ctx)
	}
	r, live := d.state.Roster(), d.liveNodes()
	if seen := describe(r, live); seen != m.seen || decides && !m.decide {
		m.seen, m.since, m.target = seen, d.tick(), nil
		m.calm.Store(int64(m.since))
	}
	if m.decide = decides; !decides {
		return
	}
	if r.Shards.Paused || d.tick()-m.since < calmFor || r.Vacant() != 0 {
		return
	}
	if m.target == nil {
		m.target = targetOf(r)
	}
	if !atTarget(r, m.target) {
		d.propose(d.askHolders(ctx).decide(r, m.target))
	}
}

// movesWait returns why nothing moves, in words, "" if nothing has to, or what has to move may.
func (d *Door) movesWait(r *roster.Roster) string {
	calm := calmFor - (d.tick() - time.Duration(d.moves.calm.Load()))
	reason := ""
	switch {
	case r.Shards.Paused:
		reason = "they are paused: bloomery cluster resume-moves"
	case r.Vacant() != 0:
		reason = fmt.Sprintf("node %[1]d, which has a folder of the restore, has not started: start it, or bloomery cluster leave %[1]d", r.Vacant())
	case calm > 0:
		reason = fmt.Sprintf("a node has come, gone or changed its memory: they begin %v after that, in %v", calmFor, calm.Round(time.Second))
	}
	if reason == "" || atTarget(r, targetOf(r)) {
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

// atTarget reports whether all shards are held by the nodes that are to, and no others.
func atTarget(r *roster.Roster, target [][]uint32) bool {
	for shard := range r.Shards.Places {
		place := &r.Shards.Places[shard]
		if len(place.Copies) != len(target[shard]) || slices.ContainsFunc(target[shard], func(n uint32) bool { return place.Copy(n).Phase != roster.Holds }) {
			return false
		}
	}
	return true
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

// targetOf returns which nodes are to hold each shard.
func targetOf(r *roster.Roster) [][]uint32 {
	var nodes []placement.Node
	for i := range r.Members {
		if m := &r.Members[i]; !m.Left && !m.Behind {
			nodes = append(nodes, placement.Node{Number: m.Number, Weight: m.Weight})
		}
	}
	return placement.Target(r.ID, nodes, r.Shards.Copies)
}

// holders is what nodes that are live say of themselves: a bit for each shard that they answer
// for.
type holders map[uint32][]byte

// askHolders asks all nodes that are live which shards they answer for. One that does not answer
// is not among them.
func (d *Door) askHolders(ctx context.Context) holders {
	h := holders{}
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

// count returns how many nodes besides one answer for a shard.
func (h holders) count(shard int, besides uint32) (n int) {
	for node, b := range h {
		if node != besides && b[shard/8]>>(shard%8)&1 != 0 {
			n++
		}
	}
	return n
}

// decide returns what brings shards to their target: first those that have the fewest copies.
func (h holders) decide(r *roster.Roster, target [][]uint32) (records []store.Body) {
	places := r.Shards.Places
	order, learning := make([]int, len(places)), map[uint32]int{}
	for shard := range places {
		order[shard] = shard
		for _, c := range places[shard].Copies {
			if c.Phase == roster.Learns {
				learning[c.Node]++
			}
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return h.count(a, 0) - h.count(b, 0) })
	for _, shard := range order {
		if b := h.decideShard(r, shard, target[shard], learning); b != nil {
			records = append(records, b)
		}
		if len(records) == recordsAtOnce {
			break
		}
	}
	return records
}

// decideShard returns the next record about a shard, nil if there is nothing to do: somebody who
// is not to learn it, or cannot, need not; then who is to hold it learns it; then others retire.
func (h holders) decideShard(r *roster.Roster, shard int, want []uint32, learning map[uint32]int) store.Body {
	place := &r.Shards.Places[shard]
	for _, c := range place.Copies {
		if c.Phase != roster.Learns {
			continue
		}
		if slices.Contains(want, c.Node) && h[c.Node] != nil {
			return nil
		}
		return &store.ShardCancel{Node: uint64(c.Node), Shard: uint64(shard), Since: c.Since}
	}
	for _, node := range want {
		if place.Copy(node).Phase == 0 && h[node] != nil && learning[node] < learnsAtOnce && h.count(shard, 0) > 0 {
			learning[node]++
			return &store.ShardLearn{Node: uint64(node), Shard: uint64(shard), Version: place.Version}
		}
	}
	for _, c := range place.Copies {
		if c.Phase == roster.Holds && !slices.Contains(want, c.Node) && h.count(shard, c.Node) >= r.Shards.Copies {
			return &store.ShardRetire{Node: uint64(c.Node), Shard: uint64(shard), Version: place.Version}
		}
	}
	return nil
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
		if d.askHolders(ctx).holdAll(r, m.Number) {
			d.config.Slog.Warn("a node is away, and is given up: it learns its shards again when it returns", "node", m.Number, "seconds", float64(silent.Milliseconds())/1000)
			d.propose([]store.Body{&store.Behind{Node: uint64(m.Number), Session: m.Session, Changes: r.Shards.Changes}})
			return // the table is another one now
		}
	}
}

// holdAll reports whether others answer for each shard that a node holds.
func (h holders) holdAll(r *roster.Roster, node uint32) bool {
	for shard := range r.Shards.Places {
		if r.Shards.Places[shard].Copy(node).Phase == roster.Holds && h.count(shard, node) == 0 {
			return false
		}
	}
	return true
}
