package cluster

// Parts that a node learns from another one.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/door/cluster/messages"
	"github.com/bloomery/bloomery/server/internal/peers"
	"github.com/bloomery/bloomery/server/internal/roster"
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

// learned is a part on its way into the state of this node.
type learned struct {
	d       *Door
	lane    *lane
	id      uint64
	index   uint32
	of      roster.Held // the copy of its shard that this node learns
	part    *contents.Part
	senders messages.Senders // of the lane, at seq
	seq     uint64           // what the part has of the lane
	records []store.Record
	result  store.Result
}

// learnFrom learns a part from a node that holds it. The error is contents.ErrRetry if it is not
// to be learned any more.
func (d *Door) learnFrom(ctx context.Context, node uint32, id uint64, index uint32, of roster.Held) error {
	e := d.state.Names.ByID(id)
	if e == nil {
		return contents.ErrRetry
	}
	l := d.laneAt(id, index, contents.Everywhere(e))
	l.recent.Store(&recent{}) // before it is frozen, so that little has to be read from the log
	defer l.recent.Store(nil)
	b, err := d.ask(ctx, node, question(askLend, uint64(d.number.Load()), id, uint64(index)), peers.MaxBody)
	if err != nil {
		return err
	}
	z, first, err := parseLoan(b)
	if err != nil {
		return err
	}
	p, err := d.receive(ctx, node, e.Kind, &z, first)
	if err != nil {
		d.giveBack(ctx, node)
		return err
	}
	g := &learned{d: d, lane: l, id: id, index: index, of: of, part: p, seq: z.seq}
	g.senders, err = messages.WholeSenders(z.senders)
	if err == nil {
		err = g.follow(ctx)
	}
	if err != nil {
		d.state.Uncount(p)
	}
	return err
}

// giveBack ends a loan of which not all was read: until then nobody else can copy the part.
func (d *Door) giveBack(ctx context.Context, node uint32) {
	short, cancel := context.WithTimeout(ctx, askEvery)
	defer cancel()
	_, _ = d.ask(short, node, question(askReturn, uint64(d.number.Load())), 0) // it ends by itself too
}

// receive puts a part together that another node lends. Its bytes count from then on. They are
// asked for first: the pieces, and the contents made of them, are here at the same time.
func (d *Door) receive(ctx context.Context, node uint32, kind catalog.Kind, z *loan, first []byte) (*contents.Part, error) {
	if d.config.Headroom != nil && d.config.Headroom()/2 < z.size {
		return nil, fmt.Errorf("%w: a part of %d bytes, and %d are left below max-memory", door.ErrMemory, z.size, d.config.Headroom())
	}
	piece, off, sum, err := parsePiece(first, 0)
	if err != nil {
		return nil, err
	}
	into, err := d.state.NewLoader(kind, piece, int64(z.size))
	if err != nil {
		return nil, err
	}
	err = d.pace(ctx, len(piece))
	for got, number := uint64(len(piece)), uint64(1); err == nil && got < z.size; number++ {
		var b []byte
		b, err = d.ask(ctx, node, question(askPiece, uint64(d.number.Load()), z.number, number), lendPiece)
		if err == nil {
			piece, off, sum, err = parsePiece(b, sum)
		}
		if err == nil {
			err = into.Put(piece, off)
		}
		if err == nil {
			got += uint64(len(piece))
			err = d.pace(ctx, len(piece))
		}
	}
	var p *contents.Part
	if err == nil {
		p, err = contents.FinishLoad(into)
	}
	if err != nil {
		into.Release()
		return nil, err
	}
	p.SetVersion(z.version)
	d.state.Count(p)
	return p, nil
}

// follow has the part follow its lane until it is where that is, and installs it. The error is
// ErrPurged if the log has no more what the part lacks, and contents.ErrRetry if the part is not to
// be learned any more: another one is then begun, if one is to be.
func (g *learned) follow(ctx context.Context) error {
	if !g.lane.reach(g.seq) { // what was lent may be ahead
		return errClosed
	}
	for {
		if !g.d.state.AwaitSealed(g.part, ctx.Done()) { // it may be swapped in by now: the lane is not to stand still for that
			return ctx.Err()
		}
		at, done := g.install()
		switch {
		case done:
			return nil
		case at == g.seq:
			return contents.ErrRetry
		}
		for g.seq < at {
			msg, err := g.lane.recent.Load().at(g.seq+1), error(nil)
			if msg == nil {
				msg, err = g.d.read(ctx, g.lane, g.seq+1)
			}
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
	var h messages.Header
	records, err := messages.Parse(&h, msg)
	if err == nil {
		g.records, err = messages.Records(g.records[:cap(g.records)], records)
	}
	if err != nil && !errors.Is(err, messages.ErrStray) {
		return fmt.Errorf("lane %s, message %d: %w", g.lane.name(), seq, err)
	}
	g.seq = seq
	if err != nil || h.Node == 0 || h.Cluster != g.d.state.Roster().ID || g.senders.Take(h.Node, h.Session, h.Counter) != messages.Fresh {
		return nil
	}
	if err = g.apply(h.Flags&messages.Group != 0); err != nil {
		return err
	}
	if err = g.part.Opened(); errors.Is(err, contents.ErrMemory) { // nobody sees the part before that
		return err
	}
	return nil
}

// apply applies the records of a message that are of the part.
func (g *learned) apply(group bool) error {
	g.part.Lock()
	defer g.part.Unlock()
	for i := range g.records {
		r := &g.records[i]
		if r.ID != g.id || r.Index != g.index || !r.Part() {
			continue
		}
		store.Apply(g.d.state, r, g.part, &g.result)
		if errors.Is(g.result.Err, contents.ErrMemory) {
			return g.result.Err
		}
		if group && r.Expects() && g.result.Err != nil {
			break // a group is of one part, and nothing of it is applied
		}
	}
	return nil
}

// recentBytes is how much of a lane is kept for the part that is being learned.
const recentBytes = 4 << 20

// recent are the last messages of a lane. A part that is learned follows them as fast as they
// come; what is older is read from the log.
//
// Safe for concurrent use. There may be none.
type recent struct {
	mu       sync.Mutex // guards what follows
	first    uint64     // sequence of the first
	messages [][]byte
	bytes    int
}

// keep takes the next message.
func (r *recent) keep(seq uint64, msg []byte) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if seq != r.first+uint64(len(r.messages)) {
		r.first, r.messages, r.bytes = seq, nil, 0
	}
	r.messages = append(r.messages, bytes.Clone(msg))
	for r.bytes += len(msg); r.bytes > recentBytes && len(r.messages) > 1; r.first++ {
		r.bytes -= len(r.messages[0])
		r.messages = r.messages[1:]
	}
}

// at returns a message, nil if it is not among the last.
func (r *recent) at(seq uint64) []byte {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if seq < r.first || seq-r.first >= uint64(len(r.messages)) {
		return nil
	}
	return r.messages[seq-r.first]
}
