package cluster

// The tail of a lane: messages that are applied here.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/door/cluster/messages"
	"github.com/bloomery/bloomery/server/internal/store"
)

// took is called by the log for every message of the lane. It returns when the
// message is applied, or passed over, or the door has failed.
func (l *lane) took(seq uint64, msg []byte) {
	own := l.seq.Load()
	switch {
	case seq <= own || l.d.over.Load():
		return
	case seq != own+1:
		l.d.fail(fmt.Errorf("lane %s: %w: it goes on at %d, and this node has all up to %d", l.name(), ErrPurged, seq, own))
		return
	}
	var h messages.Header
	err := l.parse(&h, msg)
	if errors.Is(err, bloomery.ErrCorrupt) {
		msg, err = l.reread(&h, seq, msg, err)
	}
	if l.d.over.Load() {
		return
	}
	if err != nil {
		err = fmt.Errorf("lane %s, message %d: %w", l.name(), seq, err)
		if errors.Is(err, messages.ErrStray) {
			l.tookStray(seq, msg, err)
		} else {
			l.d.fail(err)
		}
		return
	}
	if !l.d.applied(h.After) {
		return
	}
	l.taken.Add(1)
	l.bytes.Add(int64(len(msg) + messageCost))
	l.d.keep.took(len(msg))
	l.recent.Load().keep(seq, msg)
	l.d.state.Touch(l.records)
	if h.Flags&messages.Group != 0 {
		l.d.alone(func() { l.applyMessage(seq, &h, messages.SumOf(msg)) })
	} else {
		l.applyMessage(seq, &h, messages.SumOf(msg))
	}
	l.moved.wake()
	l.signal()
}

// parse reads a message. Its records are in l.records.
func (l *lane) parse(h *messages.Header, msg []byte) error {
	records, err := messages.Parse(h, msg)
	if err == nil {
		l.records, err = messages.Records(l.records[:cap(l.records)], records)
	}
	return err
}

// rereadIn is for how long a leader is asked for a message that came damaged: some times
// as long as it takes to choose one. The lane is held meanwhile, and whatever waits for
// it, so that cannot go on for ever.
const rereadIn = 30 * time.Second

// reread reads a message again that came damaged, as the leader of the stream has it:
// the copy that it came from may be damaged, and others not. It returns what the leader
// has, and the error of that.
func (l *lane) reread(h *messages.Header, seq uint64, msg []byte, damage error) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), rereadIn)
	defer cancel()
	kept, err := l.d.read(ctx, l, seq)
	why := damage.Error() // not the error itself: one that is messages.ErrStray would have the message be passed over
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return nil, fmt.Errorf("%w: %s, and no leader of the stream has answered for %v: start this node again when the log has a majority", bloomery.ErrCorrupt, why, rereadIn)
	case err != nil || kept == nil:
		return nil, errors.Join(fmt.Errorf("%w: %s", bloomery.ErrCorrupt, why), err)
	case bytes.Equal(kept, msg):
		return kept, damage
	}
	l.d.config.Slog.Error("a message was damaged, and read from the leader of its stream: check the disk of this node", "lane", l.name(), "message", seq)
	*h = messages.Header{}
	return kept, l.parse(h, kept)
}

// tookStray passes over bytes that no node has sent, such as what somebody else
// publishes to the subject of a stream. Every node does so, and it is no reason for all
// of them to end.
func (l *lane) tookStray(seq uint64, msg []byte, why error) {
	l.d.config.Slog.Warn("the log has a message that is passed over", "error", why, "bytes", len(msg))
	l.d.stats.stray.Add(1)
	l.recent.Load().keep(seq, msg)
	l.apply.Lock()
	l.journal = l.d.keep.journal.Load()
	l.passed(seq, messages.SumOf(msg))
	l.apply.Unlock()
	l.moved.wake()
	l.signal()
}

// passed notes that all up to a message is applied. The caller holds apply.
func (l *lane) passed(seq uint64, sum uint32) {
	l.begun.Store(seq)
	l.sum = sum
	l.journal.Mark(l.number, seq)
	l.seq.Store(seq)
}

// applied waits until places are applied here. It reports false if the door was
// closed before that. A place that a message names had its sequence before the
// message was sent, so no two lanes wait for each other.
func (d *Door) applied(places []messages.Place) bool {
	lanes := d.all()
	for _, p := range places {
		if p.Lane < len(lanes) && !lanes[p.Lane].reach(p.Seq) {
			return false
		}
	}
	return true
}

// applyMessage applies the message with the next sequence, or passes over it. What
// it does depends on the state and the message only (I7).
func (l *lane) applyMessage(seq uint64, h *messages.Header, sum uint32) {
	l.apply.Lock()
	defer l.apply.Unlock()
	l.begun.Store(seq)
	defer l.passed(seq, sum)
	l.journal = l.d.keep.journal.Load()
	if h.Node == 0 {
		l.applyUnnumbered(h)
		return
	}
	switch l.verdict(h) {
	case messages.Repeat:
		l.d.stats.passed.Add(1)
		return
	case messages.Fenced:
		l.d.stats.passed.Add(1)
		l.drop(h)
		return
	}
	l.d.stats.applied.Add(1)
	var rides []*ride
	if l.own(h) {
		if m := l.returned(h.Counter); m != nil {
			rides = m.rides
		}
	}
	before := l.d.state.Roster()
	l.applyRecords(seq, h, rides)
	settle(rides)
	if l.number == 0 && l.d.state.Roster() != before {
		l.d.lookAtRoster()
	}
}

// verdict says what to do with a message of a node that has a number.
func (l *lane) verdict(h *messages.Header) messages.Verdict {
	r := l.d.state.Roster()
	if r == nil || h.Cluster != r.ID {
		return messages.Repeat // of another cluster
	}
	if l.number == 0 { // the roster is as old as the message
		if m := r.Member(h.Node); m == nil || m.Left || m.Session != h.Session {
			return messages.Fenced
		}
	}
	return l.senders.Take(h.Node, h.Session, h.Counter)
}

func (l *lane) own(h *messages.Header) bool {
	return h.Node == l.d.number.Load() && h.Session == l.d.session.Load() && h.Session != 0
}

// drop answers a message of this node that is known never to be applied.
func (l *lane) drop(h *messages.Header) {
	if !l.own(h) {
		return
	}
	m := l.returned(h.Counter)
	if m == nil {
		return
	}
	for _, r := range m.rides {
		if r.op != nil {
			r.err = fmt.Errorf("%w: %w", door.ErrDown, ErrSuperseded)
		}
	}
	settle(m.rides)
}

// settle lets go of ops. The caller holds apply.
func settle(rides []*ride) {
	for _, r := range rides {
		if r.op != nil {
			r.op = nil
			r.batch.over(1)
		}
	}
}

// applyRecords applies the records of a message in order. rides has an element for
// each of them if this node waits for it, and others without a record.
func (l *lane) applyRecords(seq uint64, h *messages.Header, rides []*ride) {
	group := h.Flags&messages.Group != 0
	at, held := 0, true
	for i := range l.records {
		r := &l.records[i]
		for at < len(rides) && rides[at].empty {
			at++
		}
		res := &l.scratch
		var op *door.Op
		var own *ride
		if at < len(rides) {
			own = rides[at]
			if op = own.op; op != nil {
				res = &op.Result
			}
			at++
		}
		switch {
		case !held:
			res.Err, res.Changed, res.Done, res.N = store.ErrCondition, false, 0, 0
			continue
		case r.Part():
			l.applyPart(seq, r, res)
		default:
			r.Origin = store.Origin{Session: h.Session, Counter: h.Counter}
			l.applyNames(r, res)
		}
		switch {
		case errors.Is(res.Err, contents.ErrMemory):
			l.lost(rides, res.Err)
			return
		case ofLaterRelease(r, res.Err):
			l.lost(rides, fmt.Errorf("%w: a later one is needed", res.Err))
			return
		}
		if op != nil && errors.Is(res.Err, contents.ErrElsewhere) { // others have applied it, and know what came of it
			own.err = fmt.Errorf("%w: %w", door.ErrUnknown, res.Err)
		}
		if group && r.Expects() && res.Err != nil {
			held, res.Err = false, store.ErrCondition
		}
		if op != nil && op.Applied != nil && held {
			op.Applied()
		}
	}
}

// ofLaterRelease reports whether a record that was not applied makes a filter of a kind that
// only a later release has: the ids of filters would not be those of others behind it. Senders
// ask the same before they send it, so no client can make a node meet one.
func ofLaterRelease(r *store.Record, err error) bool {
	if !errors.Is(err, bloomery.ErrVersion) {
		return false
	}
	_, err = store.NewBytes(r.Body)
	return errors.Is(err, bloomery.ErrVersion)
}

// lost ends the service of a node that could not apply a message as others have: the
// system has no memory, or a later release is needed. What it was asked for may be kept, by
// them.
func (l *lane) lost(rides []*ride, err error) {
	err = fmt.Errorf("lane %s: %w: other nodes may have it", l.name(), err)
	for _, r := range rides {
		if r.op != nil {
			r.err = fmt.Errorf("%w: %w", door.ErrUnknown, err)
		}
	}
	l.d.fail(err)
}

// applyPart applies a record of a part. A snapshot may have it already.
func (l *lane) applyPart(seq uint64, r *store.Record, res *store.Result) {
	if l.ahead != nil && seq <= l.ahead[r.ID+uint64(r.Index)] {
		res.Err = nil
		return
	}
	var p *contents.Part
	if e := l.d.state.Names.ByID(r.ID); e != nil {
		p = contents.PartAt(e, r.Index)
	}
	if p == nil {
		res.Err, res.Changed, res.Done, res.N = contents.ErrRetry, false, 0, 0
		return
	}
	l.d.state.Prepare(r, p, res)
	p.Lock()
	store.Apply(l.d.state, r, p, res)
	l.journal.Add(r, res)
	if errors.Is(res.Err, contents.ErrElsewhere) {
		l.journal.Pass(r)
	}
	l.d.keep.save.Note(p)
	p.Unlock()
	l.d.state.Conclude(res)
}

// applyNames applies a record of the catalogue.
func (l *lane) applyNames(r *store.Record, res *store.Result) {
	if l.number != 0 {
		res.Err = contents.ErrType // no node sends that
		return
	}
	l.d.state.Await(r)
	names := l.d.state.Names
	names.Lock()
	store.Apply(l.d.state, r, nil, res)
	l.journal.Add(r, res)
	res.Release()
	names.Unlock()
}

// applyUnnumbered applies a message of a node that has no session. Its records can
// be applied again without harm, and only such are.
func (l *lane) applyUnnumbered(h *messages.Header) {
	if l.number != 0 {
		return
	}
	for i := range l.records {
		r := &l.records[i]
		roster := l.d.state.Roster()
		switch r.Body.(type) {
		case *store.Birth:
		case *store.Found:
			if roster == nil {
				l.d.fail(errFounded) // the node was about to begin the cluster itself
				return
			}
			continue
		case *store.Join, *store.Session:
			if roster == nil || h.Cluster != roster.ID {
				continue
			}
		default:
			continue
		}
		l.applyNames(r, &l.scratch)
		l.d.stats.applied.Add(1)
	}
	l.d.lookAtRoster()
}

// lookAtRoster makes the lanes that the first record names. It stops the node if another
// process has its number, or it was removed or given up.
func (d *Door) lookAtRoster() {
	r := d.state.Roster()
	if r != nil && len(d.all()) == 1 {
		d.widen(r)
	}
	m := r.Member(d.number.Load())
	if m == nil {
		return
	}
	switch session := d.session.Load(); {
	case m.Left:
		d.retire()
		d.fail(ErrRemoved)
	case session != 0 && m.Session != session:
		d.fail(ErrSuperseded)
	case session != 0 && m.Behind:
		d.fail(ErrGivenUp)
	}
}

// Errors that end the service of a node.
var (
	// ErrPurged means that a node was away for so long that what it lacks is no
	// longer in the log: it has to fetch a snapshot.
	ErrPurged = errors.New("cluster: the log no longer has what this node lacks")
	// ErrSuperseded means that another process has begun a session with the number
	// of this node.
	ErrSuperseded = errors.New("cluster: another process has the number of this node")
	// ErrGivenUp means that the node was away for so long that others hold its shards now.
	ErrGivenUp = errors.New("cluster: this node was given up while others did not hear of it: start it again, and it learns its shards")
	// ErrRemoved means that the node was removed from the cluster.
	ErrRemoved = errors.New("cluster: this node was removed from the cluster")
)
