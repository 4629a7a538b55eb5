package cluster

// What operators say of copies and moves.

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/bloomery/bloomery/server/internal/door/cluster/balance"
	"github.com/bloomery/bloomery/server/internal/placement"
	"github.com/bloomery/bloomery/server/internal/roster"
	"github.com/bloomery/bloomery/server/internal/status"
	"github.com/bloomery/bloomery/server/internal/store"
	"github.com/bloomery/bloomery/server/internal/wire"
)

var (
	errEverything = errors.New("cluster: every node of this cluster holds everything")
	errPaused     = errors.New("cluster: moves are paused: allow them with resume-moves")
)

// SetCopies implements door.Members.
func (d *Door) SetCopies(n int) error {
	if n < placement.MinCopies || n > placement.MaxCopies {
		return fmt.Errorf("cluster: copies: %d: there can be %d to %d", n, placement.MinCopies, placement.MaxCopies)
	}
	r := d.state.Roster()
	if r.Level < store.LevelShards {
		return fmt.Errorf("%w: contents can be spread from level %d on, and it is at level %d: bloomery cluster upgrade first", errEverything, store.LevelShards, r.Level)
	}
	if r.Spread() && r.Shards.Copies == n {
		return nil
	}
	if !d.canBeAsked() {
		return errUnasked
	}
	for _, v := range d.live() {
		if d.config.Direct != nil && v.Peer == "" {
			return fmt.Errorf("cluster: copies: other nodes cannot ask node %d: set its cluster-peer-addr to a free address first", v.Node)
		}
	}
	if uint64(n) > r.Nodes() {
		return fmt.Errorf("cluster: copies: %[1]d copies need %[1]d nodes, and there are %[2]d", n, r.Nodes())
	}
	if err := d.weighed(); err != nil {
		return err
	}
	for end := d.tick() + changeIn; ; {
		err := d.change(store.Record{Body: &store.ShardCopies{Copies: uint64(n), Settings: settingsOf(d.state.Roster())}})
		if !errors.Is(err, store.ErrCondition) || d.tick() > end { // else a node has said its weight meanwhile
			return err
		}
	}
}

// weighed returns when all nodes that are live have said how much they are to hold: one that has not
// would be to hold nothing, and what it holds would move away, and back.
func (d *Door) weighed() error {
	if d.state.Roster().Spread() {
		return nil // an operator may have one hold nothing
	}
	ctx, cancel := context.WithTimeout(context.Background(), changeIn)
	defer cancel()
	silent := func(node uint32) bool {
		m := d.state.Roster().Member(node)
		return m == nil || m.Weight == 0
	}
	err := d.until(ctx, d.catalogue(), func() bool { return !slices.ContainsFunc(d.liveNodes(), silent) })
	if err != nil {
		return fmt.Errorf("cluster: copies: not all nodes have said how much memory they may take: try again: %w", err)
	}
	return nil
}

// settingsOf returns the number of the settings that a record about them names.
func settingsOf(r *roster.Roster) uint64 {
	if r.Shards == nil {
		return 0
	}
	return r.Shards.Settings
}

// PauseMoves implements door.Members.
func (d *Door) PauseMoves(paused bool) error {
	r := d.state.Roster()
	if !r.Spread() {
		return errEverything
	}
	if r.Shards.Paused == paused {
		return nil
	}
	return d.change(store.Record{Body: &store.ShardPause{Paused: paused, Settings: r.Shards.Settings}})
}

// Rebalance implements door.Members.
func (d *Door) Rebalance(begin bool) (moves []status.Moves, err error) {
	r := d.state.Roster()
	switch {
	case !r.Spread():
		return nil, errEverything
	case begin && r.Shards.Paused:
		return nil, errPaused
	case begin && r.Vacant() != 0:
		return nil, fmt.Errorf("cluster: nothing moves before node %[1]d, which has a folder of the restore, has started: start it, or remove it with bloomery cluster leave %[1]d --yes", r.Vacant())
	}
	ctx, cancel := context.WithTimeout(context.Background(), changeIn)
	defer cancel()
	target := balance.Target(r)
	sizes, err := d.askSizes(ctx)
	if err != nil {
		return nil, err
	}
	if begin {
		d.propose(d.askHolders(ctx).Decide(r, target))
	}
	for i := range r.Members {
		m := &r.Members[i]
		v := status.Moves{Node: m.Number}
		for shard := range r.Shards.Places {
			wanted, c := slices.Contains(target[shard], m.Number), r.Shards.Places[shard].Copy(m.Number)
			switch {
			case wanted && c.Phase != roster.Holds:
				v.Learns++
				v.Bytes += sizes[shard]
			case !wanted && c.Phase == roster.Holds:
				v.Retires++
			}
		}
		v.Takes = time.Duration(float64(v.Bytes) / float64(d.config.MoveRate) * float64(time.Second))
		if v.Learns+v.Retires > 0 {
			moves = append(moves, v)
		}
	}
	return moves, nil
}

// askSizes returns how many bytes each shard takes, as a node says that holds it.
func (d *Door) askSizes(ctx context.Context) ([]uint64, error) {
	sizes := make([]uint64, placement.Shards)
	all := [][]byte{d.ownSizes()[1:]}
	for _, v := range d.live() {
		b, err := d.ask(ctx, v.Node, question(askSizes), placement.Shards*binary.MaxVarintLen64)
		if err != nil {
			return nil, fmt.Errorf("cluster: node %d: %w", v.Node, err)
		}
		all = append(all, b)
	}
	for _, b := range all {
		c := wire.Reader{Rest: b}
		for shard := range sizes {
			sizes[shard] = max(sizes[shard], c.Uvarint())
		}
		if c.Bad {
			return nil, errAnswer
		}
	}
	return sizes, nil
}

// ownSizes returns how many bytes each shard takes here.
func (d *Door) ownSizes() []byte {
	b := []byte{answerGiven}
	for _, n := range d.state.ShardBytes() {
		b = binary.AppendUvarint(b, n)
	}
	return b
}

// drain has other nodes hold what a node holds that is to be removed: one that is live holds
// nothing more from now on, one that is not is given up. The error is door.ErrNotYet while it holds
// something.
func (d *Door) drain(m *roster.Member) error {
	r, held := d.state.Roster(), 0
	if !r.Spread() {
		return nil
	}
	for shard := range r.Shards.Places {
		if r.Shards.Places[shard].Copy(m.Number).Phase != 0 {
			held++
		}
	}
	switch {
	case held == 0:
		return nil
	case !slices.Contains(d.liveNodes(), m.Number):
		ctx, cancel := context.WithTimeout(context.Background(), changeIn)
		defer cancel()
		if !d.askHolders(ctx).HoldAll(r, m.Number) {
			return fmt.Errorf("cluster: no live node has what node %d holds: start it, or another one that has it", m.Number)
		}
		return d.change(store.Record{Body: &store.Behind{Node: uint64(m.Number), Session: m.Session, Changes: r.Shards.Changes}})
	case r.Shards.Paused:
		return errPaused
	case r.Nodes() <= uint64(r.Shards.Copies):
		return fmt.Errorf("cluster: %d copies of everything need as many nodes: add one first, or lower the number with copies", r.Shards.Copies)
	case m.Weight != 0:
		if err := d.change(store.Record{Body: &store.Weight{Node: uint64(m.Number), Settings: r.Shards.Settings}}); err != nil {
			return err
		}
	}
	return notYet{fmt.Errorf("other nodes have still to take over shards from node %d: %d", m.Number, held)}
}
