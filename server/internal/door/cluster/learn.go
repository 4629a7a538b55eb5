package cluster

// Parts that a node learns from another one.

import (
	"context"
	"errors"
	"fmt"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/store"
)

// A part is learned in three steps:
//
//	lend, at a node that holds it ── pieces ──► receive ── follow, message by message ──► install
//	  frozen between two messages, with             it is where the part was                it is where the
//	  the table of senders there                    frozen                                  lane of this node is
//
// The table of senders belongs to the part until it is installed: the lane of the learner may
// have had a message that the part lacks, and the other way round, and a message that is in
// the log twice must count once.

// lent is a part that another node learns, as it is at a place of its lane.
type lent struct {
	part    *store.Part
	frozen  store.Frozen
	kind    catalog.Kind
	version uint64
	seq     uint64
	senders []byte
}

// lend freezes a part of a shard that this node holds. The error is store.ErrRetry if it is
// gone, and store.ErrElsewhere if this node does not answer for it.
func (d *Door) lend(id uint64, index uint32) (*lent, error) { //nolint:unparam // tests lend the first part
	e := d.state.Names.ByID(id)
	if e == nil || store.PartAt(e, index) == nil {
		return nil, store.ErrRetry
	}
	z := &lent{part: store.PartAt(e, index), kind: e.Kind}
	var err error
	l := d.laneAt(id, index, store.Everywhere(e))
	l.still(func(seq uint64) {
		z.part.Lock()
		defer z.part.Unlock()
		switch {
		case z.part.Gone():
			err = store.ErrRetry
		case z.part.Elsewhere() || !d.state.Answers(z.part):
			err = store.ErrElsewhere
		default:
			z.seq, z.senders, z.version = seq, l.senders.append(nil), z.part.Changes()
			z.frozen, err = z.part.Freeze()
		}
	})
	return z, err
}

// next returns the next piece of a part that is lent, none at its end. The error is
// store.ErrRetry if the part is gone meanwhile: it is not whole then.
func (z *lent) next(dst []byte) (piece []byte, off int64, err error) {
	z.part.RLock()
	defer z.part.RUnlock()
	if z.part.Gone() {
		return nil, 0, store.ErrRetry
	}
	piece, off = z.frozen.Next(dst)
	return piece, off, nil
}

// close ends the copy.
func (z *lent) close() {
	z.part.Lock()
	defer z.part.Unlock()
	_ = z.frozen.Close() // nothing is kept of it
}

// learned is a part on its way into the state of this node.
type learned struct {
	d       *Door
	lane    *lane
	id      uint64
	index   uint32
	of      store.Held // the copy of its shard that this node learns
	part    *store.Part
	senders senders // of the lane, at seq
	seq     uint64  // what the part has of the lane
	records []store.Record
	result  store.Result
}

// receive puts a part together that another node lends. Its bytes count from then on.
func (d *Door) receive(id uint64, index uint32, of store.Held, z *lent) (*learned, error) {
	e := d.state.Names.ByID(id)
	if e == nil {
		return nil, store.ErrRetry
	}
	table, err := wholeSenders(z.senders)
	if err != nil {
		return nil, err
	}
	var into store.Loader
	for dst := make([]byte, 256<<10); ; {
		piece, off, err := z.next(dst)
		if err == nil && len(piece) == 0 {
			break
		}
		if err == nil && into == nil {
			into, err = d.state.NewLoader(z.kind, piece, z.frozen.Size())
		} else if err == nil {
			err = into.Put(piece, off)
		}
		if err != nil {
			if into != nil {
				into.Release()
			}
			return nil, err
		}
	}
	if into == nil {
		return nil, fmt.Errorf("cluster: learn: %w: no contents", bloomery.ErrCorrupt)
	}
	p, err := store.FinishLoad(into)
	if err != nil {
		into.Release()
		return nil, err
	}
	p.SetVersion(z.version)
	d.state.Count(p)
	return &learned{d: d, lane: d.laneAt(id, index, store.Everywhere(e)), id: id, index: index, of: of, part: p, senders: table, seq: z.seq}, nil
}

// learn has the part follow its lane until it is where that is, and installs it. If that
// cannot be, the part is given up. The error is ErrPurged if the log has no more what the part
// lacks, and store.ErrRetry if the part is not to be learned any more: another one is then
// begun, if one is to be.
func (g *learned) learn(ctx context.Context) error {
	err := g.follow(ctx)
	if err != nil {
		g.d.state.Uncount(g.part)
	}
	return err
}

func (g *learned) follow(ctx context.Context) error {
	if !g.lane.reach(g.seq) { // what was lent may be ahead
		return errClosed
	}
	for {
		at, done := g.install()
		switch {
		case done:
			return nil
		case at == g.seq:
			return store.ErrRetry
		}
		for g.seq < at {
			msg, err := g.d.read(ctx, g.lane, g.seq+1)
			if err != nil {
				return err
			}
			if msg == nil {
				return fmt.Errorf("lane %s: %w: message %d", g.lane.name(), ErrPurged, g.seq+1)
			}
			if err := g.took(g.seq+1, msg); err != nil {
				return err
			}
		}
	}
}

// install makes the part one of this node, if it is where its lane is, which at says.
func (g *learned) install() (at uint64, done bool) {
	g.lane.still(func(seq uint64) {
		if at = seq; seq == g.seq {
			done = g.d.state.Install(g.id, g.index, g.part, g.of)
		}
	})
	return at, done
}

// took applies a message to the part alone, as the lane of a node that holds it does.
func (g *learned) took(seq uint64, msg []byte) error {
	var h header
	records, err := parseMessage(&h, msg)
	if err == nil {
		g.records, err = decodeRecords(g.records[:cap(g.records)], records)
	}
	if err != nil && !errors.Is(err, errStray) {
		return fmt.Errorf("lane %s, message %d: %w", g.lane.name(), seq, err)
	}
	g.seq = seq
	if err != nil || h.node == 0 || h.cluster != g.d.state.Roster().ID || g.senders.take(h.node, h.session, h.counter) != fresh {
		return nil
	}
	g.part.Lock()
	defer g.part.Unlock()
	for i := range g.records {
		r := &g.records[i]
		if r.ID != g.id || r.Index != g.index || !r.Part() {
			continue
		}
		store.Apply(g.d.state, r, g.part, &g.result)
		if errors.Is(g.result.Err, store.ErrMemory) {
			return g.result.Err
		}
		if h.flags&flagGroup != 0 && r.Expects() && g.result.Err != nil {
			break // a group is of one part, and nothing of it is applied
		}
	}
	return nil
}
