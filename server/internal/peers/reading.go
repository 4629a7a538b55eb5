package peers

// Who reads the answers of a line.

import (
	"bufio"
	"errors"
	"io"
	"os"
	"sync"
	"time"
)

// reading is how the answers of a line are read. To wake a goroutine costs more than to read an answer, so
// whoever waits for one reads, if nobody else does: also what comes for others, until its own is there. Then one of
// those who still wait goes on. The goroutine of the line reads for those who may go away meanwhile, and when nobody
// has asked lately, so that it is known when the line ends.
type reading struct {
	reads   bool      // somebody reads
	reader  int16     // the slot of who reads and is to be told when it takes long, -1 if that is the line
	readers []int16   // the slots of those who read when it is their turn
	patient int       // how many wait who do not read
	lately  bool      // something was asked since rest has looked
	rests   bool      // the goroutine of the line reads nothing
	turn    sync.Cond // it may be its turn
	hurried bool      // reads are over at once: somebody was to be told something

	// What follows is of who reads.
	in    *reader
	head  header
	begun bool   // head is that of a frame which is being read
	long  []byte // a long body, of which
	got   int    // so many bytes were read
}

// read takes answers until the line ends, when it is its turn.
func (a *asker) read() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	for a.err == nil {
		if a.reads || a.rests {
			a.turn.Wait()
			continue
		}
		a.readFor(-1)
		a.rests = a.lately && a.patient == 0 && a.pinged.IsZero()
		if a.rests {
			a.goOn()
		}
	}
	return a.err
}

// goOn has somebody read, if somebody waits and nobody reads. The caller holds mu.
func (a *asker) goOn() {
	switch {
	case a.reads:
	case a.patient > 0 || !a.pinged.IsZero():
		a.rests = false
		a.turn.Signal()
	case len(a.readers) > 0:
		a.calls[a.readers[0]].wake()
	}
}

// rest has the goroutine of the line read again if nothing was asked lately. It reports whether that is still to be
// done. The caller holds mu.
func (a *asker) rest() (more bool) {
	if !a.lately && a.rests {
		a.rests = false
		a.turn.Signal()
	}
	a.lately = false
	return a.rests
}

// interrupt has the one who reads for a slot look whether it takes long. The caller holds mu.
func (a *asker) interrupt(slot int16) {
	if a.reads && a.reader == slot {
		a.hurried = true
		_ = a.raw.SetReadDeadline(started)
	}
}

// readFor reads a frame, or less, for the one who waits in a slot. The caller holds mu, which is free meanwhile; nobody
// else reads.
func (a *asker) readFor(slot int16) {
	a.reads, a.reader = true, slot
	a.mu.Unlock()
	err := a.frame()
	if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		a.end(err)
	}
	a.mu.Lock()
	a.reads = false
	if err != nil && a.hurried {
		a.hurried = false
		_ = a.raw.SetReadDeadline(time.Time{})
	}
}

// frame reads a frame. It goes on with one of which a part was read.
func (a *asker) frame() (err error) {
	if a.in == nil {
		a.in = &reader{bufio.NewReaderSize(a.conn, readBytes)}
	}
	if !a.begun {
		if a.head, err = a.in.header(); err != nil {
			return err
		}
		a.begun, a.long, a.got = true, nil, 0
		a.heard.Store(true)
		a.count.received.Add(int64(headerBytes + a.head.length))
	}
	switch a.head.kind {
	case kindPong:
		a.pong(a.head.number)
	case kindAnswer, kindRefused, kindLong:
		err = a.answered(&a.head)
	default:
		err = errFrame
	}
	a.begun = err != nil
	return err
}

// answered takes an answer.
func (a *asker) answered(h *header) error {
	if h.slot() >= slots {
		return errAnswer
	}
	c := &a.calls[h.slot()]
	a.mu.Lock()
	known := c.turn == uint16(h.number>>16) && c.batch != a.batch
	known = known && (c.phase == waiting || c.phase == left) && (h.kind != kindAnswer || h.length <= c.room)
	a.mu.Unlock()
	if !known {
		return errAnswer
	}
	b, err := a.body(h.length)
	if err != nil {
		return cutShort(err)
	}
	if err := a.give(c, *h, b, a.long != nil); err != nil || a.long != nil {
		return err
	}
	_, err = a.in.Discard(h.length)
	return err
}

// body returns the next n bytes, which somebody has checked: in the buffer of the reader, or in long.
func (a *asker) body(n int) ([]byte, error) {
	if n <= a.in.Size() {
		return a.in.Peek(n)
	}
	if a.long == nil {
		a.long = make([]byte, n)
	}
	some, err := io.ReadFull(a.in, a.long[a.got:])
	a.got += some
	return a.long, err
}
