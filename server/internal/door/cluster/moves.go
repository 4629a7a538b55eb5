package cluster

// What a node does for its shards: it learns those that the table gives to it, and lets go of
// those that the table takes from it.

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/placement"
	"github.com/bloomery/bloomery/server/internal/roster"
	"github.com/bloomery/bloomery/server/internal/status"
	"github.com/bloomery/bloomery/server/internal/store"
)

const (
	// moveEvery is how often a node looks whether a move is due.
	moveEvery = time.Second
	// defaultMoveRate is how many bytes of contents a node learns a second.
	defaultMoveRate = 64 << 20
)

// moves is what a node knows of its own moves.
type moves struct {
	still   bool                   // nothing begins by itself: for tests, which do that
	next    time.Duration          // when the next bytes may come, as Door.tick counts; belongs to learnOn
	learned atomic.Int64           // bytes
	parts   atomic.Int64           // that were learned
	said    placement.Weight       // of this node, the last that it has sent or found; belongs to sayWeight
	failed  atomic.Pointer[string] // why something could not be learned, "" if nothing is wrong
	deciding
}

// moveOn begins the tasks of moves. Without others to ask there are none.
func (d *Door) moveOn() {
	if d.config.Peers == nil || d.moves.still {
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	d.later(stop)
	again := func(due func(*roster.Roster) bool, task func(context.Context)) {
		d.tasks.Go(func() {
			for d.pause(ctx, moveEvery) == nil {
				if due(d.state.Roster()) && d.Current() == nil {
					task(ctx)
				}
			}
		})
	}
	again(func(r *roster.Roster) bool { return r.Level >= store.LevelShards }, d.sayWeight)
	for _, task := range []func(context.Context){d.learnShards, d.retireShards, d.decideMoves} {
		again((*roster.Roster).Spread, task)
	}
}

// mostStuck is how long a reason is, at most, that others are told.
const mostStuck = 200

// stuck returns why this node cannot learn what it is to hold, "" if it can.
func (d *Door) stuck() string {
	failed := d.moves.failed.Load()
	if failed == nil {
		return ""
	}
	return (*failed)[:min(len(*failed), mostStuck)]
}

// pace waits until the bytes that have come are no more than the rate allows.
func (d *Door) pace(ctx context.Context, n int) error {
	m := &d.moves
	m.learned.Add(int64(n))
	now := d.tick()
	m.next = max(m.next, now) + time.Duration(float64(n)/float64(d.config.MoveRate)*float64(time.Second))
	if m.next-now < time.Millisecond { // not worth a timer
		return nil
	}
	return d.pause(ctx, m.next-now)
}

// learnShards learns all shards that this node is to learn, one part at a time, and says of
// those that a durable snapshot has that it holds them.
func (d *Door) learnShards(ctx context.Context) {
	failed := ""
	for _, v := range d.state.ToLearn() {
		err := d.learnShard(ctx, v)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			failed = fmt.Sprintf("shard %d: %v", v.Shard, err)
		}
	}
	if before := d.moves.failed.Swap(&failed); failed != "" && (before == nil || *before != failed) {
		d.config.Slog.Warn("a shard cannot be learned yet", "error", failed)
	}
	if d.unsaved() {
		if err := d.Snapshot(); err != nil && !errors.Is(err, status.ErrSaving) {
			d.config.Slog.Error("snapshot failed", "error", err)
		}
	}
	d.sayHeld()
}

// learnShard learns the parts of a shard that are not here.
func (d *Door) learnShard(ctx context.Context, v store.Learning) error {
	for _, p := range v.Parts {
		if d.state.Holdings().Learns(v.Shard) != v.Since {
			return nil
		}
		if err := d.learnPart(ctx, v.Held, p); err != nil {
			return err
		}
		d.moves.parts.Add(1)
	}
	d.state.Learned(v.Held) // if anything is missing, it is learned next time
	return nil
}

var errNoSource = errors.New("cluster: no node that holds it answers")

// learnPart learns a part from a node that holds it: the next one if one cannot lend it. One that
// is gone, or not to be learned any more, is none to learn.
func (d *Door) learnPart(ctx context.Context, of roster.Held, p store.PartID) error {
	err := errNoSource
	for _, node := range d.sources(of.Shard) {
		switch err = d.learnFrom(ctx, node, p.ID, p.Index, of); {
		case err == nil || errors.Is(err, contents.ErrRetry):
			return nil
		case errors.Is(err, door.ErrMemory) || ctx.Err() != nil:
			return err
		}
	}
	return err
}

// sources returns the nodes that may lend parts of a shard, in any order.
func (d *Door) sources(shard int) (nodes []uint32) {
	place := &d.state.Roster().Shards.Places[shard]
	for _, v := range d.live() {
		if place.Copy(v.Node).Phase == roster.Holds {
			nodes = append(nodes, v.Node)
		}
	}
	rand.Shuffle(len(nodes), func(i, j int) { nodes[i], nodes[j] = nodes[j], nodes[i] })
	return nodes
}

// durable returns the shards that the last snapshot of this node has.
func (d *Door) durable() []roster.Held {
	d.keep.mu.Lock()
	defer d.keep.mu.Unlock()
	return d.keep.held
}

// learnedCopies returns the copies that this node has learned and does not hold yet, as the table
// says.
func (d *Door) learnedCopies() (list []roster.Held) {
	table, own := d.state.Roster().Shards, d.number.Load()
	for _, v := range d.state.Holdings().Held() {
		if c := table.Places[v.Shard].Copy(own); c.Phase == roster.Learns && c.Since == v.Since {
			list = append(list, v)
		}
	}
	return list
}

// unsaved reports whether there is a shard to say of that it is held, which no durable snapshot
// has. After a failure, most likely a full disk, give people a minute.
func (d *Door) unsaved() bool {
	saved := d.durable()
	if ago, failing := d.keep.save.Failing(); failing && ago < time.Minute {
		return false
	}
	return slices.ContainsFunc(d.learnedCopies(), func(v roster.Held) bool { return !slices.Contains(saved, v) })
}

// sayHeld says that this node holds what it has learned, once a durable snapshot has it that was
// begun when all of it was here: then a power cut takes nothing from it, and others may retire.
func (d *Door) sayHeld() {
	var bodies []store.Body
	for _, v := range roster.Both(d.learnedCopies(), d.durable()) {
		bodies = append(bodies, &store.ShardHold{Node: uint64(d.number.Load()), Shard: uint64(v.Shard), Since: v.Since})
	}
	d.propose(bodies)
}

// propose sends records about shards. What becomes of them the table shows.
func (d *Door) propose(bodies []store.Body) {
	if len(bodies) == 0 {
		return
	}
	ops := make([]*door.Op, len(bodies))
	for i, b := range bodies {
		ops[i] = &door.Op{Record: store.Record{At: d.config.Clock().UnixMilli(), Body: b}}
	}
	d.Do(ops)
	d.Wait(ops)
}

// retireShards lets go of the shards that this node retires from: when what it has sent for them
// has come back, since nobody else could tell what became of it.
func (d *Door) retireShards(ctx context.Context) {
	own := d.number.Load()
	var free []store.Body
	table := d.state.Roster().Shards
	for shard := range table.Places {
		if c := table.Places[shard].Copy(own); c.Phase == roster.Retires {
			free = append(free, &store.ShardFree{Node: uint64(own), Shard: uint64(shard), Since: c.Since})
		}
	}
	if len(free) == 0 || d.settle(ctx) != nil {
		return
	}
	for _, b := range free {
		d.state.Yield(int(b.(*store.ShardFree).Shard))
	}
	d.state.Sweep()
	d.propose(free)
}

// settle returns when all ops that this node has begun are applied, or given up.
func (d *Door) settle(ctx context.Context) error {
	d.alone(func() {}) // whoever was let in before has sent what he sends
	var batches []*batch
	for _, l := range d.all() {
		l.send.Lock()
		for _, r := range l.waiting {
			batches = append(batches, r.batch)
		}
		for _, m := range l.flight {
			for _, r := range m.rides {
				batches = append(batches, r.batch)
			}
		}
		l.send.Unlock()
	}
	for _, b := range batches {
		timer := time.NewTimer(time.Until(b.until))
		select {
		case <-b.done:
		case <-timer.C:
		case <-ctx.Done():
		}
		timer.Stop()
	}
	return ctx.Err()
}
