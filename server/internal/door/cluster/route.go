package cluster

// Questions that carry commands: a node that does not hold contents has one that does run
// what a client asks for. See ADR 64.
//
//	question: askRun, room, lanes: (number, sequence) each, body
//	answer:   answerGiven, sequences of all lanes, body
//
// The asker names how far it is, in the catalogue and in the lanes of the contents; the
// other node answers when it is as far. So whatever was answered here before is seen there.

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/roster"
	"github.com/bloomery/bloomery/server/internal/wire"
)

const (
	askRun = 32

	// askAgain is how long it is waited before nodes are asked again.
	askAgain = 100 * time.Millisecond
	// placeBytes is what places take in a question or an answer, at most.
	placeBytes = (roster.MaxLanes+2)*2*binary.MaxVarintLen64 + 16
)

var _ door.Router = (*Door)(nil)

// OnQuestion implements door.Router.
func (d *Door) OnQuestion(run func(body []byte, room int, aside func()) []byte) { d.run = run }

// Self implements door.Router.
func (d *Door) Self() uint32 { return d.number.Load() }

// noteSeen notes how far a node was whose answer clients of this one get. What they ask
// next is answered by nobody who is not as far.
func (d *Door) noteSeen(lanes []int, places []uint64) {
	all := d.all()
	for _, n := range lanes {
		if n >= len(all) || n >= len(places) {
			continue
		}
		l := all[n]
		for old := l.seen.Load(); old < places[n] && !l.seen.CompareAndSwap(old, places[n]); old = l.seen.Load() {
		}
	}
}

// Again implements door.Router.
func (d *Door) Again(began time.Time) bool {
	ctx, stop := context.WithDeadline(context.Background(), began.Add(d.config.Timeout))
	defer stop()
	return d.pause(ctx, askAgain) == nil
}

// Lacks implements door.Router.
func (d *Door) Lacks() bool {
	for _, l := range d.all() {
		if l.seq.Load() < l.seen.Load() {
			return true
		}
	}
	return false
}

// CatchUp implements door.Router.
func (d *Door) CatchUp() error {
	for _, l := range d.all() {
		if err := d.reached(l, l.seen.Load()); err != nil {
			return err
		}
	}
	return nil
}

// Follow implements door.Router.
func (d *Door) Follow(a door.Answer) error { return d.reached(d.catalogue(), a.Place) }

func (d *Door) reached(l *lane, seq uint64) error {
	if l.reachBy(seq, time.Now().Add(d.config.Timeout)) {
		return nil
	}
	return fmt.Errorf("%w: lane %s lacks what another node has", door.ErrDown, l.name())
}

// reachBy is reach that does not wait for ever.
func (l *lane) reachBy(seq uint64, until time.Time) bool {
	if l.seq.Load() >= seq {
		return true
	}
	timer := time.AfterFunc(time.Until(until), l.moved.wake)
	defer timer.Stop()
	l.moved.mu.Lock()
	defer l.moved.mu.Unlock()
	for l.seq.Load() < seq {
		if l.d.over.Load() || !time.Now().Before(until) {
			return false
		}
		l.moved.cond.Wait()
	}
	return true
}

// appendQuestion appends a question, with how far this node is.
func (d *Door) appendQuestion(b []byte, q *door.Question) []byte {
	b = binary.AppendUvarint(append(b, askRun), uint64(q.Room))
	b = binary.AppendUvarint(b, uint64(len(q.Lanes)+1))
	all := d.all()
	b = all[0].appendPlace(b)
	for _, n := range q.Lanes {
		b = all[n].appendPlace(b)
	}
	return append(b, q.Body...)
}

// appendPlace appends how far this node is, and nodes were whose answers it has passed on.
func (l *lane) appendPlace(b []byte) []byte {
	b = binary.AppendUvarint(b, uint64(l.number))
	return binary.AppendUvarint(b, max(l.begun.Load(), l.seen.Load()))
}

// answerRun runs the commands of another node, when this one is as far as that was. A question without any asks
// whether it would.
func (d *Door) answerRun(q []byte, aside func()) ([]byte, error) {
	if err := d.Current(); err != nil {
		return nil, err
	}
	c := wire.Reader{Rest: q}
	room, n := c.Uvarint(), c.Uvarint()
	if c.Bad || room > door.MaxQuestion || n > roster.MaxLanes+2 {
		return nil, errQuestion
	}
	until, all := time.Now().Add(d.config.Timeout), d.all()
	for ; n > 0; n-- {
		number, seq := c.Uvarint(), c.Uvarint()
		if c.Bad || number >= uint64(len(all)) {
			return nil, errQuestion
		}
		if all[number].seq.Load() < seq {
			aside()
		}
		if !all[number].reachBy(seq, until) {
			return nil, fmt.Errorf("lane %s of this node is behind", all[number].name())
		}
	}
	var body []byte
	switch {
	case len(c.Rest) == 0:
	case d.run == nil:
		return nil, errQuestion
	default:
		body = d.runFor(c.Rest, int(room), aside)
	}
	b := make([]byte, 0, 2+(len(all)+1)*binary.MaxVarintLen64+len(body))
	b = append(b, answerGiven)
	b = binary.AppendUvarint(b, uint64(len(all)))
	for _, l := range all {
		b = binary.AppendUvarint(b, l.begun.Load())
	}
	return append(b, body...), nil
}

// runFor runs commands. A fault in one of them does not end this node.
func (d *Door) runFor(body []byte, room int, aside func()) (b []byte) {
	defer func() {
		if v := recover(); v != nil {
			d.config.Slog.Error("command of another node failed", "error", fmt.Sprint(v), "stack", string(debug.Stack()))
			b = nil // something may be done
		}
	}()
	return d.run(body, room, aside)
}

// errRefusedRun means that a node has run nothing.
var errRefusedRun = errors.New("it runs nothing for others at present")

// readAnswer reads what answerRun has answered, and appends to places how far the node was.
func (d *Door) readAnswer(b []byte, places []uint64) (door.Answer, []uint64, error) {
	var a door.Answer
	switch {
	case len(b) == 0:
		return a, nil, errQuestion
	case b[0] != answerGiven:
		return a, nil, fmt.Errorf("%w: %s", errRefusedRun, b[1:])
	}
	c := wire.Reader{Rest: b[1:]}
	n := c.Uvarint()
	if c.Bad || n == 0 || n > roster.MaxLanes+2 {
		return a, nil, errQuestion
	}
	for ; n > 0; n-- {
		places = append(places, c.Uvarint())
	}
	if c.Bad {
		return a, nil, errQuestion
	}
	return door.Answer{Body: c.Rest, Place: places[0]}, places, nil
}
