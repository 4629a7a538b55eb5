package cluster

// Which nodes are asked for a shard.

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/peers"
	"github.com/bloomery/bloomery/server/internal/placement"
	"github.com/bloomery/bloomery/server/internal/roster"
)

// nearbyFor is for how long it is not looked again which nodes live, and how far they are: a
// batch asks about many shards. Who has died meanwhile is asked in vain, and then the next.
const nearbyFor = 100 * time.Millisecond

// nearby is which nodes can be asked for what, as long as the roster is this one.
type nearby struct {
	roster *roster.Roster
	own    uint32
	since  time.Duration    // as Door.tick counts
	far    map[uint32]int64 // how far nodes are that live
	lists  [placement.Shards]atomic.Pointer[[]uint32]
}

// Holders implements door.Router.
func (d *Door) Holders(shard int) []uint32 {
	v := d.nearby.Load()
	if v == nil || v.roster != d.state.Roster() || v.own != d.number.Load() || d.tick()-v.since > nearbyFor {
		v = d.lookAround()
		d.nearby.Store(v)
	}
	if list := v.lists[shard].Load(); list != nil {
		return *list
	}
	list := v.holders(shard)
	if len(list) == 0 {
		list = d.starting(v, shard)
	}
	if len(list) > 0 { // else somebody may be heard of in a moment
		v.lists[shard].Store(&list)
	}
	return list
}

// lookAround looks which nodes live. Beats go through the log, which is still for some seconds
// when its leader is lost: a node to which there is a connection lives all the same. Nodes to
// which there is none come last.
func (d *Door) lookAround() *nearby {
	v := &nearby{roster: d.state.Roster(), own: d.number.Load(), since: d.tick(), far: map[uint32]int64{}}
	d.beats.mu.Lock()
	for node, h := range d.beats.heard {
		if v.since-h.seen <= liveFor {
			v.far[node] = 0
		}
	}
	d.beats.mu.Unlock()
	if p := d.config.Direct; p != nil {
		for i := range v.roster.Members {
			node := v.roster.Members[i].Number
			if far, connected := distance(p, node); connected {
				v.far[node] = far
			} else if _, heard := v.far[node]; heard {
				v.far[node] = far
			}
		}
	}
	return v
}

// holders returns the nodes that hold a shard and live, the nearest first.
func (v *nearby) holders(shard int) (nodes []uint32) {
	if !v.roster.Spread() {
		return nil
	}
	for _, c := range v.roster.Shards.Places[shard].Copies {
		if _, lives := v.far[c.Node]; lives && c.Phase == roster.Holds && c.Node != v.own {
			nodes = append(nodes, c.Node)
		}
	}
	if len(nodes) > 1 { // those that are equally far share the work
		first := (shard + int(v.own)) % len(nodes)
		nodes = slices.Concat(nodes[first:], nodes[:first])
	}
	slices.SortStableFunc(nodes, func(a, b uint32) int { return int(v.far[a] - v.far[b]) })
	return nodes
}

// starting returns the nodes that hold a shard and start, or may: whoever has no other to ask waits for them.
func (d *Door) starting(v *nearby, shard int) (nodes []uint32) {
	if !v.roster.Spread() {
		return nil
	}
	for _, c := range v.roster.Shards.Places[shard].Copies {
		if c.Phase == roster.Holds && c.Node != v.own && (d.unheard(v, c.Node) || d.config.Direct != nil && d.config.Direct.Starts(c.Node)) {
			nodes = append(nodes, c.Node)
		}
	}
	return nodes
}

// startFor is how long a node usually takes to start, on a slow machine.
const startFor = 30 * time.Second

// unheard reports whether nothing was heard of a node since this one began to listen, which was a moment ago: where the
// other one is, is in its first beat, so nobody can tell whether it is starting, too.
func (d *Door) unheard(v *nearby, node uint32) bool {
	since := time.Duration(d.beats.since.Load())
	if m := v.roster.Member(node); d.config.Peers == nil || since == 0 || v.since-since > startFor || m == nil || m.Left || m.Behind {
		return false
	}
	d.beats.mu.Lock()
	defer d.beats.mu.Unlock()
	_, heard := d.beats.heard[node]
	return !heard
}

// meet returns when this node can ask a holder of every shard that it does not hold. Where others
// are is in their beats, which they send before they serve: who serves earlier finds no holder though
// all live. Nodes that were not heard of for as long as a silent one counts as live are down.
func (d *Door) meet(ctx context.Context) error {
	if d.config.Peers == nil {
		return nil
	}
	for began := d.tick(); d.tick()-began < liveFor && !d.meets(ctx); {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(beatEvery / 20):
		}
	}
	return nil
}

// meets reports whether this node can ask a holder of every shard that it does not hold.
func (d *Door) meets(ctx context.Context) bool {
	v, here := d.lookAround(), d.state.Holdings()
	if !v.roster.Spread() {
		return true
	}
	asked := map[uint32]bool{}
	serves := func(node uint32) bool {
		answers, known := asked[node]
		if !known {
			answers = d.askable(ctx, node)
			asked[node] = answers
		}
		return answers
	}
	for shard := range placement.Shards {
		if !here.Answers(shard) && !slices.ContainsFunc(v.holders(shard), serves) {
			return false
		}
	}
	return true
}

// askable reports whether a node that lives runs what others ask for: one that is starting does not.
func (d *Door) askable(ctx context.Context, node uint32) bool {
	if p := d.config.Direct; p != nil {
		if _, connected := distance(p, node); !connected {
			return false
		}
	}
	ctx, stop := context.WithTimeout(ctx, beatEvery/2)
	defer stop()
	b, err := d.askNode(ctx, node, d.appendQuestion(nil, &door.Question{}), placeBytes)
	if err == nil {
		_, _, err = d.readAnswer(b, nil)
	}
	return err == nil
}

// distance returns how far a node is: its round trip, in steps that measurements of equal
// nodes do not differ by, so that most questions of a batch go to the same.
func distance(p *peers.Node, node uint32) (far int64, connected bool) {
	const step, away = 200 * time.Microsecond, 1 << 30
	trip, ok := p.Trip(node)
	if !ok {
		return away, false
	}
	return int64(trip / step), true
}
