package cluster

// The sender of a lane.

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"github.com/bloomery/bloomery/server/internal/door/cluster/messages"
)

// outgoing is a message that has not come back. Its bytes never change: whenever it
// is published again it is the same message, which the table of senders recognises
// (I2). It belongs to lane.send.
type outgoing struct {
	counter  uint64
	bytes    []byte
	rides    []*ride
	open     bool // its last publication is not answered
	acked    bool // one was answered with success
	attempts int
	born     time.Duration // when it was published first, as Door.tick counts
	last     time.Duration // when it was published last
	retry    time.Duration // how long after last it is published again
}

const (
	// mostOpen is how many messages of a lane are published at a time: while they
	// are on their way, what comes is gathered for the next.
	mostOpen = 4
	// enoughWaiting is how many bytes of a lane are sent without waiting for more.
	enoughWaiting = 16 << 10
	// mostWaiting is how many bytes may wait to be sent, all lanes together.
	mostWaiting = 16 << 20

	retryFirst = 50 * time.Millisecond // after a failed publication
	retryMost  = time.Second
	retryLost  = 5 * time.Second // after one that was said to be kept
	retryStuck = 10 * time.Second
)

// enqueue adds rides to those that wait. Wait has them sent: a caller that puts many
// records in order, one by one, before it waits for them has them in one message.
// What nobody waits for is sent a little later.
func (l *lane) enqueue(rides []*ride) {
	n := 0
	for _, r := range rides {
		n += len(r.bytes)
	}
	l.send.Lock()
	first := len(l.waiting) == 0
	l.waiting = append(l.waiting, rides...)
	l.send.Unlock()
	l.d.waitingBytes.Add(int64(n))
	switch {
	case l.waitingBytes.Add(int64(n)) >= enoughWaiting:
		l.signal()
	case first:
		l.later.Reset(retryFirst)
	}
}

// signal has the sender look at what there is.
func (l *lane) signal() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// sender publishes what waits, and again what was not answered, until the door is
// closed.
func (l *lane) sender() {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		select {
		case <-l.d.closed:
			return
		case <-l.wake:
		case <-timer.C:
		}
		for _, m := range l.due() {
			l.publish(m)
		}
		for {
			m := l.next()
			if m == nil {
				break
			}
			l.d.room.wake()
			l.publish(m)
		}
		if l.oldest.Load() != 0 {
			timer.Reset(retryFirst)
		}
	}
}

// next makes a message of what waits, if one may be sent now.
func (l *lane) next() *outgoing {
	l.send.Lock()
	defer l.send.Unlock()
	if l.pending >= mostOpen || len(l.flight) >= messages.Window {
		return nil
	}
	for counter := range l.flight {
		if l.counter+1-counter >= messages.Window {
			return nil // an older one could not be told from a repeat
		}
	}
	rides := l.take()
	if len(rides) == 0 {
		return nil
	}
	head := messages.Header{
		Cluster: l.d.id.Load(), Node: l.d.number.Load(), Session: l.d.session.Load(), Counter: l.counter + 1,
		After: l.after(rides),
	}
	if rides[0].batch.group {
		head.Flags = messages.Group
	}
	size := messages.HeadBytes
	for _, r := range rides {
		size += len(r.bytes)
	}
	b := messages.AppendHeader(make([]byte, 0, size), &head)
	for _, r := range rides {
		b = append(b, r.bytes...)
		r.bytes = nil
	}
	m := &outgoing{counter: head.Counter, bytes: messages.AppendSum(b), rides: rides, open: true, attempts: 1, last: l.d.tick()}
	m.born = m.last
	l.counter = m.counter
	l.flight[m.counter] = m
	l.pending++
	l.age()
	return m
}

// take takes as many rides out of those that wait as fit into a message. A group
// has a message of its own.
func (l *lane) take() (rides []*ride) {
	taken, size := 0, 0
	for _, r := range l.waiting {
		if len(rides) > 0 && (size+len(r.bytes) > l.d.limit-messages.HeadBytes ||
			r.batch != rides[0].batch && (r.batch.group || rides[0].batch.group)) {
			break
		}
		taken++
		if r.gone {
			continue
		}
		size += len(r.bytes)
		r.sent = true
		rides = append(rides, r)
	}
	rest := copy(l.waiting, l.waiting[taken:])
	clear(l.waiting[rest:])
	l.waiting = l.waiting[:rest]
	l.waitingBytes.Add(-int64(size))
	l.d.waitingBytes.Add(-int64(size))
	return rides
}

// after returns what has to be applied before a message of these rides. Everything
// named has come here, so it had its sequence before the message is sent: nodes that
// wait for it never wait in a circle.
func (l *lane) after(rides []*ride) (list []messages.Place) {
	if l.number != 0 {
		return []messages.Place{l.d.catalogue().place()}
	}
	for _, r := range rides {
		list = append(list, r.after...)
	}
	if len(list) > messages.MaxPlaces {
		list = latest(list)
	}
	return list
}

// latest keeps one place of each lane.
func latest(list []messages.Place) (kept []messages.Place) {
	slices.SortFunc(list, func(a, b messages.Place) int {
		return cmp.Or(cmp.Compare(a.Lane, b.Lane), cmp.Compare(b.Seq, a.Seq))
	})
	return slices.CompactFunc(list, func(a, b messages.Place) bool { return a.Lane == b.Lane })
}

// age notes when the oldest message in flight was sent first.
func (l *lane) age() {
	oldest := time.Duration(0)
	for _, m := range l.flight {
		if oldest == 0 || m.born < oldest {
			oldest = m.born
		}
	}
	l.oldest.Store(int64(oldest))
}

// due returns the messages that are to be published again.
func (l *lane) due() (list []*outgoing) {
	l.send.Lock()
	defer l.send.Unlock()
	now := l.d.tick()
	for _, m := range l.flight {
		wait := retryStuck
		if !m.open {
			wait = m.retry
		}
		if now-m.last < wait {
			continue
		}
		m.open = true
		m.attempts++
		m.last = now
		list = append(list, m)
	}
	return list
}

// publish sends a message. The sender is the only caller, so messages are sent in
// the order of their counters, but for those that are sent again.
func (l *lane) publish(m *outgoing) {
	l.d.stats.sent.Add(1)
	if m.attempts > 1 {
		l.d.stats.repeated.Add(1)
	}
	attempt := m.attempts
	l.d.config.Log.Publish(l.number, m.bytes, func(err error) { l.answered(m, attempt, err) })
}

// answered notes what became of a publication. Whatever it was, the message is
// published again until the tail brings it: an acknowledgement that was lost, or one
// that the log did not keep, makes no difference.
func (l *lane) answered(m *outgoing, attempt int, err error) {
	l.send.Lock()
	if err == nil && l.flight[m.counter] == m && !m.acked {
		m.acked = true
		l.pending--
	}
	if m.attempts == attempt && m.open {
		m.open = false
		m.retry = retryLost
		if err != nil {
			m.retry = min(retryFirst<<min(m.attempts, 10), retryMost)
		}
		l.full.Store(errors.Is(err, ErrFull))
	}
	l.send.Unlock()
	l.signal()
}

// returned takes a message of this node out of flight: the tail has it.
func (l *lane) returned(counter uint64) *outgoing {
	l.send.Lock()
	defer l.send.Unlock()
	m := l.flight[counter]
	if m == nil {
		return nil
	}
	delete(l.flight, counter)
	m.open = false
	if !m.acked {
		l.pending--
	}
	l.full.Store(false)
	l.age()
	l.d.answeredAt.Store(int64(l.d.tick()))
	return m
}
