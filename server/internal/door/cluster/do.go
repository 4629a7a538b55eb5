package cluster

// Do: how ops of this node are put in order.

import (
	"errors"
	"fmt"
	"time"

	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/door/cluster/messages"
	"github.com/bloomery/bloomery/server/internal/order"
	"github.com/bloomery/bloomery/server/internal/store"
)

// Do implements door.Door. Records are encoded here, in the caller's goroutine;
// their memory is the caller's again when it returns, but for Result.
func (d *Door) Do(ops []*door.Op) {
	d.put(ops, false)
}

// DoGroup implements door.Grouper.
func (d *Door) DoGroup(ops []*door.Op) error {
	if len(ops) == 0 {
		return nil
	}
	size, first := 0, &ops[0].Record
	for _, op := range ops {
		r := &op.Record
		if r.Part() != first.Part() || r.Part() && (r.ID != first.ID || r.Index != first.Index) {
			return fmt.Errorf("%w: records of several lanes", door.ErrGroup)
		}
		if !d.sends(r) {
			return fmt.Errorf("%w: %w", door.ErrGroup, errUnfit)
		}
		size += len(store.AppendRecord(nil, r))
	}
	if size > d.limit-messages.HeadBytes {
		return fmt.Errorf("%w: %d bytes, a message has room for %d", door.ErrGroup, size, d.limit-messages.HeadBytes)
	}
	d.put(ops, true)
	if op := ops[0]; op.Settled {
		if op.Err != nil {
			return op.Err
		}
		if errors.Is(op.Result.Err, door.ErrMemory) {
			return op.Result.Err
		}
	}
	return nil
}

// put puts ops in order, all of them as one message if they are a group.
func (d *Door) put(ops []*door.Op, group bool) {
	b := &batch{rides: make([]ride, len(ops)), group: group, done: make(chan struct{}), until: time.Now().Add(d.config.Timeout)}
	for _, op := range ops {
		op.Err, op.Settled, op.Way = nil, false, nil
	}
	refused := d.Refuses()
	var bytes []byte
	for i := 0; i < len(ops); {
		n := 1
		for n < len(ops)-i && sameRun(ops[i], ops[i+n]) {
			n++
		}
		switch {
		case refused != nil:
			refuse(ops[i:i+n], refused)
		default:
			bytes = d.prepare(b, ops[i:i+n], b.rides[i:i+n], bytes)
		}
		i += n
	}
	if group {
		whole(b, ops)
	}
	d.enqueue(b, ops)
}

// whole settles all ops of a group if one of them cannot be sent.
func whole(b *batch, ops []*door.Op) {
	for _, op := range ops {
		if !op.Settled {
			continue
		}
		err, why := op.Err, op.Result.Err
		for i, other := range ops {
			answer(ops[i:i+1], why)
			other.Err = err
			b.rides[i].op = nil
		}
		return
	}
}

// sameRun reports whether two ops are on the same part, and asked for together.
func sameRun(a, b *door.Op) bool {
	return a.Record.Part() && b.Record.Part() && a.Record.ID == b.Record.ID && a.Record.Index == b.Record.Index &&
		(a.Admit == nil) == (b.Admit == nil)
}

// refuse settles ops that were not sent.
func refuse(ops []*door.Op, err error) {
	for _, op := range ops {
		op.Settled = true
		op.Err, op.Result.Err, op.Result.Changed, op.Result.Done, op.Result.N = err, err, false, 0, 0
	}
}

// answer settles ops that were not sent since their answer is known.
func answer(ops []*door.Op, err error) {
	for _, op := range ops {
		op.Settled = true
		op.Result.Err, op.Result.Changed, op.Result.Done, op.Result.N = err, false, 0, 0
	}
}

// prepare encodes a run of ops behind bytes, and makes rides of those that are to be
// sent.
func (d *Door) prepare(b *batch, ops []*door.Op, rides []ride, bytes []byte) []byte {
	first := &ops[0].Record
	if first.Marks() {
		answer(ops, nil)
		return bytes
	}
	if !d.sends(first) {
		refuse(ops, fmt.Errorf("%w: %w", door.ErrRefused, errUnfit))
		return bytes
	}
	if !first.Part() && len(first.NewName()) > store.MaxName {
		answer(ops, store.ErrLength)
		return bytes
	}
	if !first.Part() {
		if err := d.lacksRoom(first, ops[0].Granted); err != nil {
			refuse(ops, err) // no command takes that for another error of its own
			return bytes
		}
	}
	l := d.laneOf(first)
	if err := l.down(); err != nil {
		refuse(ops, fmt.Errorf("%w: %w", door.ErrDown, err))
		return bytes
	}
	if err := d.state.Leaves(first); err != nil && first.Part() {
		answer(ops, err)
		return bytes
	}
	if first.Part() {
		if err := d.admit(ops, rides); errors.Is(err, contents.ErrElsewhere) {
			refuse(ops, fmt.Errorf("%w: %w", door.ErrRefused, err))
			return bytes
		} else if err != nil {
			answer(ops, err)
			return bytes
		}
	}
	for i, op := range ops {
		if op.Settled {
			continue
		}
		if o, ok := op.Record.Body.(*store.RebuildSwap); ok {
			rides[i].after = d.partsOf(o.ID)
		}
		if o, ok := op.Record.Body.(*store.Reveal); ok {
			rides[i].after = d.partsOf(o.ID) // before it is looked at what they have
			if err := d.state.Vouch(o); errors.Is(err, contents.ErrElsewhere) {
				refuse(ops[i:i+1], fmt.Errorf("%w: %w", door.ErrRefused, err))
				continue
			} else if err != nil {
				answer(ops[i:i+1], err)
				continue
			}
		}
		from := len(bytes)
		bytes = store.AppendRecord(bytes, &op.Record)
		if len(bytes)-from > d.limit-messages.HeadBytes {
			refuse(ops[i:i+1], fmt.Errorf("%w: a record of %d bytes: a message of the cluster has room for %d", door.ErrRefused, len(bytes)-from, d.limit-messages.HeadBytes))
			bytes = bytes[:from]
			continue
		}
		rides[i].batch, rides[i].lane, rides[i].op = b, l, op
		rides[i].bytes = bytes[from:len(bytes):len(bytes)]
	}
	return bytes
}

// sends reports whether a record can be sent in this cluster.
func (d *Door) sends(r *store.Record) bool {
	level := uint64(Level)
	if roster := d.state.Roster(); roster != nil {
		level = roster.Level
	}
	return r.Sent(level)
}

var errUnfit = errors.New("cluster: this cannot be done in a cluster")

// admit asks for the memory of a run under the read lock of its part: the room that
// it is given has to do for what other nodes add before it. The error is contents.ErrRetry if
// the part is gone, and contents.ErrElsewhere if this node does not answer for it: nobody would
// have the result.
func (d *Door) admit(ops []*door.Op, rides []ride) error {
	p := ops[0].Part
	if p == nil {
		if e := d.state.Names.ByID(ops[0].Record.ID); e != nil {
			p = contents.PartAt(e, ops[0].Record.Index)
		}
	}
	switch {
	case p == nil:
		return contents.ErrRetry
	case !d.state.Answers(p):
		return contents.ErrElsewhere
	case ops[0].Admit == nil:
		return nil
	}
	p.RLock()
	defer p.RUnlock()
	if p.Gone() {
		return contents.ErrRetry
	}
	d.admitRun(p, ops, rides)
	return nil
}

func (d *Door) admitRun(p *contents.Part, ops []*door.Op, rides []ride) {
	admit := ops[0].Admit
	if aside, ok := d.admitAll(admit, p, ops); ok {
		rides[0].admit, rides[0].aside = admit, aside
		return
	}
	if len(ops) == 1 {
		answer(ops, door.ErrMemory)
		return
	}
	for i := range ops {
		d.admitRun(p, ops[i:i+1], rides[i:i+1])
	}
}

// enqueue hands the rides of a batch to their lanes. What is settled has none.
func (d *Door) enqueue(b *batch, ops []*door.Op) {
	left := 0
	for i := range b.rides {
		if b.rides[i].op != nil {
			left++
		} else {
			b.rides[i].release()
		}
	}
	if left == 0 {
		return
	}
	b.left.Store(int32(left))
	list := make([]*ride, 0, left)
	for i := range b.rides {
		if r := &b.rides[i]; r.op != nil {
			ops[i].Way = r
			list = append(list, r)
		}
	}
	for from := 0; from < len(list); {
		to := from + 1
		for to < len(list) && list[to].lane == list[from].lane {
			to++
		}
		list[from].lane.enqueue(list[from:to])
		from = to
	}
}

// release gives back what was set aside.
func (r *ride) release() {
	if r.admit != nil {
		r.admit.Settle(r.aside)
		r.admit = nil
	}
}

// partsOf returns how far the lanes of a filter's parts are here: its contents are
// there once those sequences are applied.
func (d *Door) partsOf(id uint64) (list []messages.Place) {
	e := d.state.Names.ByID(id)
	if e == nil {
		return nil
	}
	seen := map[*lane]bool{}
	for i := range contents.Parts(e) {
		if l := d.partLane(id, uint32(i)); !seen[l] {
			seen[l] = true
			list = append(list, l.place())
		}
	}
	return list
}

// Ready implements door.Door. Whoever writes in pieces has one of them on its way, so
// that there is room for others.
func (d *Door) Ready(bool) {
	order.Waits("room in the lanes")
	for d.Busy() {
		timer := time.AfterFunc(retryFirst, d.room.wake) // a lane may go down meanwhile
		d.room.mu.Lock()
		if d.Busy() {
			d.room.cond.Wait()
		}
		d.room.mu.Unlock()
		timer.Stop()
	}
}

// Wait implements door.Door: it returns when the records are applied here (I4), or
// the time is over.
func (d *Door) Wait(ops []*door.Op) {
	wake(ops)
	var timer *time.Timer
	for _, op := range ops {
		if op.Settled {
			continue
		}
		r, ok := op.Way.(*ride)
		if !ok {
			op.Settled = true
			continue
		}
		select {
		case <-r.batch.done:
		default:
			order.Waits("records on their way")
			if timer == nil {
				timer = time.NewTimer(time.Until(r.batch.until))
				defer timer.Stop()
			} else {
				timer.Reset(time.Until(r.batch.until))
			}
			d.wait(op, r, timer.C)
		}
		d.settled(op, r)
	}
}

// wake has the lanes of ops send what waits there.
func wake(ops []*door.Op) {
	var last *lane
	for _, op := range ops {
		if r, ok := op.Way.(*ride); ok && !op.Settled && r.lane != last {
			last = r.lane
			last.signal()
		}
	}
}

// wait waits for a batch, and gives the op up if it takes too long.
func (d *Door) wait(op *door.Op, r *ride, timeout <-chan time.Time) {
	var why error
	select {
	case <-r.batch.done:
		return
	case <-timeout:
		why = fmt.Errorf("no answer within %v", d.config.Timeout)
	case <-d.broken:
		why = d.Serving()
	case <-d.closed:
		why = errClosed
	}
	op.Err = r.giveUp(why)
}

var errClosed = errors.New("cluster: the door was closed")

// settled gives an op back to its caller.
func (d *Door) settled(op *door.Op, r *ride) {
	if op.Err == nil {
		op.Err = r.err
	}
	if op.Result.Await(); op.Err != nil {
		op.Result.Err = op.Err
	}
	op.Settled, op.Way = true, nil
	r.release()
}
