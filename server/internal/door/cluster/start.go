package cluster

// How a node starts: from a snapshot and the log to the present.

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/server/internal/door/cluster/claims"
	"github.com/bloomery/bloomery/server/internal/door/cluster/messages"
	"github.com/bloomery/bloomery/server/internal/roster"
	"github.com/bloomery/bloomery/server/internal/store"
)

// askEvery is how often a node without a session sends its request again.
const askEvery = time.Second

// Start makes this node current and returns when it may serve (I5):
//
//	snapshot ── tail of the catalogue ── first record ── tails of all lanes ── heads ── number, session ── a round trip in every lane ── holders
//
// The session fences whatever an earlier process of this node has sent and is still on
// its way, and the round trip is behind everything that was acknowledged before. alone
// runs a function while no client reads or writes: groups are applied so. It may be
// nil.
func (d *Door) Start(ctx context.Context, alone func(func())) error {
	if alone != nil {
		d.alone = alone
	}
	err := d.start(ctx)
	if err == nil {
		d.config.Slog.Info("this node serves", "cluster", d.config.Cluster, "node", d.number.Load(), "session", d.session.Load())
		return nil
	}
	if failed := d.failed(); failed != nil {
		err = failed
	}
	return fmt.Errorf("cluster: start: %w", errors.Join(err, d.Close()))
}

func (d *Door) start(ctx context.Context) error {
	if err := d.recover(ctx); err != nil {
		return err
	}
	if err := d.followAll(ctx); err != nil {
		return err
	}
	for _, l := range d.all() {
		if err := d.current(ctx, l); err != nil {
			return err
		}
	}
	if err := d.complete(); err != nil {
		return err
	}
	if err := d.join(ctx); err != nil {
		return err
	}
	if d.state.Roster().Spread() && !d.canBeAsked() {
		return errUnasked
	}
	if err := d.talk(); err != nil {
		return err
	}
	if err := d.begin(ctx); err != nil {
		return err
	}
	for _, l := range d.all() {
		d.tasks.Go(l.sender)
	}
	if err := d.hello(ctx); err != nil {
		return err
	}
	d.keepOn()
	d.moveOn()
	d.presence.turn.Store(int64(d.tick()))
	d.tasks.Go(d.attend)
	d.tasks.Go(d.notify)
	if v := d.voters(); v != nil {
		v.Judge(d.removed)
	}
	if v, ok := d.config.Log.(Vouching); ok {
		v.Vouch(d.question)
	}
	d.serving.Store(true) // it has everything: others that meet it may ask
	return d.meet(ctx)
}

// followAll begins the tails of all lanes. A node that has no snapshot learns from the
// first record of the catalogue which there are. It does not wait for more of the
// catalogue than that: what is behind may have to wait for another lane.
func (d *Door) followAll(ctx context.Context) error {
	kept := d.state.Roster() != nil
	if err := d.follow(d.catalogue()); err != nil {
		return err
	}
	if !kept {
		if err := d.born(ctx); err != nil {
			return fmt.Errorf("first record: %w", err)
		}
	}
	if !d.keep.opened {
		if err := d.config.Log.Lanes(d.state.Roster().Lanes, !kept); err != nil {
			return err
		}
	}
	for _, l := range d.all()[1:] {
		if err := d.follow(l); err != nil {
			return err
		}
	}
	return nil
}

func (d *Door) failed() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.failure
}

// later remembers what Close has to call.
func (d *Door) later(stop func()) {
	d.mu.Lock()
	d.stops = append(d.stops, stop)
	d.mu.Unlock()
}

// follow begins the tail of a lane.
func (d *Door) follow(l *lane) error {
	stop, err := d.config.Log.Tail(l.number, l.seq.Load()+1, l.took)
	if err != nil {
		return fmt.Errorf("lane %s: %w", l.name(), err)
	}
	d.later(stop)
	return nil
}

// current returns when a lane has all that it had when its tail was begun. The head is
// asked for after that.
func (d *Door) current(ctx context.Context, l *lane) error {
	first, last, err := d.head(ctx, l)
	if err != nil {
		return err
	}
	if err := l.lacks(first); err != nil {
		return err
	}
	return d.until(ctx, l, func() bool { return l.seq.Load() >= last })
}

var errSilent = errors.New("its leader has not answered")

// head asks for the head of a lane until it is answered. It does not wait for a question that is
// not answered before it asks again: after a pause the first ones are lost on connections that
// others have given up, and take seconds to fail.
func (d *Door) head(ctx context.Context, l *lane) (first, last uint64, err error) {
	type answer struct {
		first, last uint64
		err         error
	}
	answers := make(chan answer)
	over := make(chan struct{})
	defer close(over)
	timer := time.NewTimer(0)
	defer timer.Stop()
	err = errSilent
	for {
		var late error
		select {
		case a := <-answers:
			if err = a.err; err == nil {
				return a.first, a.last, nil
			}
			continue
		case <-timer.C:
		case <-ctx.Done():
			late = ctx.Err()
		case <-d.broken:
			late = d.failed()
		case <-d.closed:
			late = errClosed
		}
		if late != nil {
			return 0, 0, fmt.Errorf("lane %s: %w: %w", l.name(), late, err)
		}
		go func() {
			var a answer
			a.first, a.last, a.err = d.config.Log.Head(l.number)
			select {
			case answers <- a:
			case <-over:
			}
		}()
		timer.Reset(askEvery)
	}
}

// read asks for a message of a lane until that is answered; nil if the lane has none.
func (d *Door) read(ctx context.Context, l *lane, seq uint64) ([]byte, error) {
	for {
		msg, err := d.config.Log.Read(l.number, seq)
		if err == nil {
			return msg, nil
		}
		if late := d.pause(ctx, askEvery); late != nil {
			return nil, fmt.Errorf("lane %s, message %d: %w: %w", l.name(), seq, late, err)
		}
	}
}

// pause waits. The error is why there is no use in going on.
func (d *Door) pause(ctx context.Context, t time.Duration) error {
	timer := time.NewTimer(t)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-d.broken:
		return d.failed()
	case <-d.closed:
		return errClosed
	}
}

// until waits until something that the messages of a lane change has come true.
func (d *Door) until(ctx context.Context, l *lane, done func() bool) error {
	stop := context.AfterFunc(ctx, l.moved.wake)
	defer stop()
	l.moved.mu.Lock()
	defer l.moved.mu.Unlock()
	for !done() {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("lane %s: %w", l.name(), err)
		}
		if d.over.Load() {
			if err := d.failed(); err != nil {
				return err
			}
			return errClosed
		}
		l.moved.cond.Wait()
	}
	return nil
}

// request sends a record of a node that has no session, again and again, until its
// effect is there. Such records can be applied twice without harm.
func (d *Door) request(ctx context.Context, make func() store.Record, done func(*roster.Roster) bool) error {
	for !done(d.state.Roster()) {
		r := make()
		r.At = d.config.Clock().UnixMilli()
		msg := messages.AppendSum(store.AppendRecord(messages.AppendHeader(nil, &messages.Header{Cluster: d.id.Load()}), &r))
		d.config.Log.Publish(0, msg, func(error) {})
		wait, cancel := context.WithTimeout(ctx, askEvery)
		err := d.until(wait, d.catalogue(), func() bool { return done(d.state.Roster()) })
		cancel()
		switch {
		case err == nil:
		case ctx.Err() != nil:
			return ctx.Err()
		case d.over.Load():
			return err
		}
	}
	return nil
}

// born returns when the first record of the catalogue is applied. If there is none it
// sends one. Several nodes may do so: the first counts.
func (d *Door) born(ctx context.Context) error {
	cat := d.catalogue()
	_, last, err := d.head(ctx, cat)
	if err != nil {
		return err
	}
	if err := d.until(ctx, cat, func() bool { return d.state.Roster() != nil || cat.seq.Load() >= last }); err != nil {
		return err
	}
	id := random() | 1
	birth := store.Record{Body: &store.Birth{ID: id, Seed: random(), Lanes: uint64(d.config.Lanes)}}
	err = d.request(ctx, func() store.Record { return birth }, func(r *roster.Roster) bool { return r != nil && len(d.all()) > 1 })
	if err == nil {
		d.begun.Store(d.state.Roster().ID == id)
	}
	return err
}

// join gets a number for this node, if it has none.
func (d *Door) join(ctx context.Context) error {
	if r := d.state.Roster(); r.Level > d.level {
		return fmt.Errorf("%w: the cluster is at level %d, this release supports %d: a later release is needed", bloomery.ErrVersion, r.Level, d.level)
	}
	if n := d.number.Load(); n != 0 {
		m := d.state.Roster().Member(n)
		if m == nil {
			return fmt.Errorf("this is node %d, which the cluster has never had", n)
		}
		if m.Left {
			d.retire()
			return ErrRemoved
		}
		if err := d.takeSeat(ctx, m); err != nil {
			return err
		}
		return d.claimNumber(ctx)
	}
	nonce, number := int64(random()), uint32(0)
	ask := store.Record{Body: &store.Join{Name: []byte(d.config.Name), Addr: []byte(d.config.Addr), Level: d.level, Nonce: nonce}}
	err := d.request(ctx, func() store.Record { return ask }, func(r *roster.Roster) bool {
		for i := range r.Members {
			if r.Members[i].Joined == nonce {
				number = r.Members[i].Number
				return true
			}
		}
		return false
	})
	if err != nil {
		return fmt.Errorf("join: %w", err)
	}
	if err := d.keepNumber(d.id.Load(), number); err != nil {
		return fmt.Errorf("join: %w", err)
	}
	d.number.Store(number)
	d.state.SetNode(number)
	return nil
}

// takeSeat has a node that was given a number before it was there say who it is.
func (d *Door) takeSeat(ctx context.Context, m *roster.Member) error {
	ask := store.Record{Body: &store.Join{Name: []byte(d.config.Name), Addr: []byte(d.config.Addr), Level: d.level, Nonce: m.Joined}}
	err := d.request(ctx, func() store.Record { return ask }, func(r *roster.Roster) bool { return r.Member(m.Number).Level != 0 })
	if err != nil {
		return fmt.Errorf("join: %w", err)
	}
	return nil
}

// begin gets a session. A node that had to fetch what it has says so with it: the contents of
// shards are not here, whatever the table says. What it has fetched may be older than that table.
// Only behind its session is it known what the table says of it, since up to there an earlier
// process may have said that it holds a shard.
func (d *Door) begin(ctx context.Context) error {
	fetched := d.keep.found != nil && d.keep.found.Fetched
	if err := d.beginSession(ctx, fetched); err != nil || !d.state.Holdings().Lacks() {
		return err
	}
	d.config.Slog.Warn("this node lacks contents that it has held; it learns its shards again")
	d.session.Store(0) // no process has superseded this one
	return d.beginSession(ctx, true)
}

// beginSession gets a session. From then on what earlier processes of this node have sent to
// the catalogue counts no more.
func (d *Door) beginSession(ctx context.Context, empty bool) error {
	nonce, number := int64(random()), d.number.Load()
	nonces, err := claims.ReadSessions(d.config.Files)
	if err == nil {
		nonces = append(nonces, nonce)
		err = claims.KeepSessions(d.config.Files, nonces)
	}
	if err != nil {
		return fmt.Errorf("session: %w", err)
	}
	err = d.request(ctx, func() store.Record {
		last := d.state.Roster().Member(number).Session
		return store.Record{Body: &store.Session{Node: uint64(number), Nonce: nonce, Last: last, Empty: empty}}
	}, func(r *roster.Roster) bool {
		m := r.Member(number)
		if m.Session == 0 || m.Nonce != nonce {
			return false
		}
		d.session.Store(m.Session)
		return true
	})
	if err == nil {
		err = claims.KeepSessions(d.config.Files, nonces[max(0, len(nonces)-claims.SessionsKept):])
	}
	if err != nil {
		return fmt.Errorf("session: %w", err)
	}
	return nil
}

// hello sends an empty message through every lane and waits until it comes back.
func (d *Door) hello(ctx context.Context) error {
	for {
		err := d.roundTrip(d.all()...)
		if err == nil {
			return nil
		}
		if late := d.pause(ctx, 0); late != nil {
			return errors.Join(late, err)
		}
	}
}

func random() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // it never fails
	return binary.LittleEndian.Uint64(b[:])
}
