package peers

// The asking end of a connection.

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"time"
)

// Slots. A question takes one, and another one for each slotBytes of its length and of the room
// for its answer, until it is answered. So slots bound both: questions on their way, and bytes.
const (
	classSlots = 128 // of questions that wait for nobody, and as many of others
	slots      = 2 * classSlots
	slotBytes  = 32 << 10
)

// slotsOf returns how many slots a question takes.
func slotsOf(length, room int) int { return 1 + (length+room)/slotBytes }

// Errors of Ask. Every error wraps one of these, and its cause.
var (
	// ErrUnsent means that the other node has done nothing, nor will it.
	ErrUnsent = errors.New("peers: the question was not asked")
	// ErrUnknown means that the question was sent, and that there is no answer.
	ErrUnknown = errors.New("peers: the question was sent, and was not answered")
)

func unsent(node uint32, cause error) error {
	return fmt.Errorf("%w: node %d: %w", ErrUnsent, node, cause)
}

func unknown(node uint32, cause error) error {
	return fmt.Errorf("%w: node %d: %w", ErrUnknown, node, cause)
}

var (
	errRefused = errors.New("it refuses")
	errLong    = errors.New("its answer is too long")
	errAnswer  = errors.New("peers: an answer that nobody has asked for")
)

// Phases of a call.
const (
	idle    = iota
	waiting // for an answer
	left    // nobody waits any more, but the answer is still to come
	void    // it was taken back before it was sent, but still lies among what waits
	given
)

// call is a question on its way, in its slot.
type call struct {
	phase  byte
	turn   uint16
	room   int
	more   int16  // the next slot that it has taken, -1 for none
	size   int    // of its frame
	batch  uint64 // when it was put into out
	at     int    // where its frame is there
	due    int64  // when whoever waits is told that it takes long, in nanoseconds; 0 for never
	to     []byte // where the caller wants the answer
	answer []byte
	err    error
	done   chan struct{}
}

// wake tells whoever waits that something has happened.
func (c *call) wake() {
	select {
	case c.done <- struct{}{}:
	default:
	}
}

// asker is the end of a line that asks.
type asker struct {
	line
	node    uint32
	calls   [slots]call // guarded by mu
	free    [2]chan int16
	large   [2]chan struct{} // who takes several slots does so alone
	voids   int              // calls that are void; guarded by mu, as is
	under   int              // how many bytes the frames of all calls have, and
	dues    int              // how many calls are due
	trip    atomic.Int64     // round trip in nanoseconds, 0 if not known
	reading                  // guarded by mu, but what is read

	pinged time.Time // guarded by mu, as is
	pings  uint32    // how many were sent; the last one is awaited if pinged is set
}

func newAsker(node uint32) *asker {
	a := &asker{node: node}
	a.turn.L = &a.mu
	a.taken = a.freeVoids
	a.ended = a.giveUp
	for class := range a.free {
		a.free[class], a.large[class] = make(chan int16, classSlots), make(chan struct{}, 1)
		for i := range classSlots {
			a.free[class] <- int16(class*classSlots + i)
		}
	}
	for i := range a.calls {
		a.calls[i].done = make(chan struct{}, 1)
	}
	return a
}

// ask asks a question. See Node.Ask.
func (a *asker) ask(ctx context.Context, q Question, to []byte) ([]byte, error) {
	slot, err := a.take(ctx, q)
	if err != nil {
		return nil, unsent(a.node, err)
	}
	p, err := a.put(slot, q, patience(ctx), 0, to)
	if err != nil {
		return nil, err
	}
	return p.AwaitAll(ctx)
}

// put has the question sent that has a slot.
func (a *asker) put(slot int16, q Question, patience uint32, due int64, to []byte) (Pending, error) {
	c := &a.calls[slot]
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.err != nil {
		a.release(slot)
		return Pending{}, unsent(a.node, a.err)
	}
	c.turn++
	h := header{kind: kindQuestion, number: uint32(c.turn)<<16 | uint32(slot), room: q.Room, patience: patience}
	c.phase, c.room, c.to = waiting, q.Room, to
	c.at, c.batch = len(a.out), a.batch
	a.out = appendFrame(a.out, h, q.Body) // the body is the caller's again when put returns
	c.size = len(a.out) - c.at
	a.under += c.size
	if c.due = due; due > 0 {
		a.dues++
		a.lately = true
	}
	a.send(a.under <= directBytes)
	return Pending{a, slot, h.number}, nil
}

// patience returns how long the asker waits, in milliseconds.
func patience(ctx context.Context) uint32 {
	end, ok := ctx.Deadline()
	if !ok {
		return 0
	}
	return uint32(min(max(time.Until(end).Milliseconds(), 1), math.MaxUint32))
}

// take takes the slots of a question.
func (a *asker) take(ctx context.Context, q Question) (slot int16, err error) {
	class := 0
	if q.Waits {
		class = 1
	}
	n := slotsOf(len(q.Body), q.Room)
	if n > 1 {
		select {
		case a.large[class] <- struct{}{}:
		default:
			select {
			case a.large[class] <- struct{}{}:
			case <-ctx.Done():
				return 0, ctx.Err()
			}
		}
		defer func() { <-a.large[class] }()
	}
	for slot = -1; n > 0; n-- {
		var i int16
		select {
		case i = <-a.free[class]:
		default:
			select {
			case i = <-a.free[class]:
			case <-ctx.Done():
				a.putBack(slot)
				return 0, ctx.Err()
			case <-a.gone:
				a.putBack(slot)
				return 0, errClosed
			}
		}
		a.calls[i].more = slot
		slot = i
	}
	return slot, nil
}

// putBack frees slots that are only taken.
func (a *asker) putBack(slot int16) {
	for slot >= 0 {
		more := a.calls[slot].more
		a.free[int(slot)/classSlots] <- slot
		slot = more
	}
}

// release frees the slots of a call. The caller holds mu.
func (a *asker) release(slot int16) {
	c := &a.calls[slot]
	a.under -= c.size
	if c.due > 0 {
		a.dues--
	}
	c.due = 0
	select {
	case <-c.done: // it was told both
	default:
	}
	c.phase, c.size, c.to, c.answer, c.err = idle, 0, nil, nil, nil
	a.putBack(slot)
}

// leave is called by an asker that does not wait any longer. It returns nil if the answer is there.
func (a *asker) leave(slot int16, number uint32, why error) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	c := &a.calls[slot]
	switch {
	case c.phase != waiting:
		return nil
	case c.batch == a.batch: // nobody has begun to write it
		a.out[c.at+kindAt] = kindVoid
		c.phase, c.to = void, nil
		a.voids++
		return unsent(a.node, why)
	}
	c.phase, c.to = left, nil
	a.add(header{kind: kindCancel, number: number}, nil)
	return unknown(a.node, why)
}

// freeVoids frees the slots of questions that were taken back: not before, or they would be
// without bound while a node does not read. The caller holds mu.
func (a *asker) freeVoids() {
	for i := 0; a.voids > 0; i++ {
		if a.calls[i].phase == void {
			a.voids--
			a.release(int16(i))
		}
	}
}

// giveUp tells all that wait that the line has ended. The caller holds mu.
func (a *asker) giveUp() {
	for i := range a.calls {
		c := &a.calls[i]
		switch {
		case c.phase != waiting:
			continue
		case c.batch == a.batch:
			c.err = unsent(a.node, a.err)
		default:
			c.err = unknown(a.node, a.err)
		}
		c.phase = given
		c.wake()
	}
	a.turn.Signal()
}

// give hands an answer over.
func (a *asker) give(c *call, h header, b []byte, fresh bool) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch c.phase {
	case left: // if only lately
		a.release(int16(h.slot()))
		return nil
	case waiting:
	default:
		return errAnswer
	}
	switch {
	case h.kind == kindRefused:
		c.err = unsent(a.node, fmt.Errorf("%w: %s", errRefused, b))
	case h.kind == kindLong:
		c.err = unknown(a.node, errLong)
	case fresh:
		c.answer = b
	default:
		c.answer = append(c.to[:0], b...)
	}
	c.phase = given
	c.wake()
	return nil
}

// ping measures the round trip, if the last ping was answered.
func (a *asker) ping() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.err != nil || !a.pinged.IsZero() {
		return
	}
	a.pings++
	a.pinged = time.Now()
	a.add(header{kind: kindPing, number: a.pings}, nil)
	a.goOn()
}

// pong takes the answer to a ping. One slow trip counts for an eighth.
func (a *asker) pong(number uint32) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if number != a.pings || a.pinged.IsZero() {
		return
	}
	trip := max(int64(time.Since(a.pinged)), 1)
	a.pinged = time.Time{}
	if old := a.trip.Load(); old > 0 {
		trip = old + (trip-old)/8
	}
	a.trip.Store(trip)
}
