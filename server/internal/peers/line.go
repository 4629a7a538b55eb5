package peers

// A line is a connection after its handshake, as both of its ends have it.

import (
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// tickEvery is how often lines are looked after. Askers send a ping then.
	tickEvery = 2 * time.Second
	// patientTicks is for how many ticks a line may be silent, or a write take, before the
	// line is given up.
	patientTicks = 5
	// writeBytes is how much is written at once: a slow peer is told from one that has
	// stopped by pieces.
	writeBytes = 256 << 10
	// keepBytes is how large a buffer may be to be used again.
	keepBytes = 128 << 10
	// largeBytes is from which length on the body of an answer is not copied.
	largeBytes = 64 << 10
	// directBytes is how much is written by whoever has it, and not by the goroutine of the line. So
	// little fits into the buffers below a connection: nobody waits for the network.
	directBytes = 48 << 10
)

// errSilent is why a line is given up.
var errSilent = errors.New("peers: the other node has stopped reading or writing")

// line sends frames. Who has little to send, while nobody else writes, does it himself: to wake
// another goroutine costs more than the frame. All else a goroutine of the line sends, so that nobody
// waits for the network. What waits is bounded by the slots of those who send.
type line struct {
	conn  net.Conn
	raw   net.Conn // below TLS: closing that never waits
	count *counters
	taken func() // called under mu when all that waits is about to be written
	ended func() // called under mu when the line has ended

	// mu guards what follows.
	mu      sync.Mutex
	some    sync.Cond // out is not empty and nobody writes, or last or err is set
	out     []byte    // frames that wait
	spare   []byte    // memory for out
	large   []large   // bodies that belong in between
	batch   uint64    // how often out was taken to be written
	writing bool      // what was taken then
	last    bool      // the line ends when all was written
	err     error     // why it has ended
	ticks   struct {  // since when nothing has happened
		silent, stuck int
		writes        uint64
	}

	gone   chan struct{} // closed when it has ended
	heard  atomic.Bool   // something was read since the last tick
	writes atomic.Uint64 // odd during a write
}

// large is a body that is not copied into out.
type large struct {
	at   int // what is before it in out
	body []byte
}

// add has a frame sent. Its body is the line's from now on. The caller holds mu.
func (l *line) add(h header, body []byte) {
	l.put(h, body)
	l.send(false)
}

// put adds a frame to those that wait: somebody calls send then.
func (l *line) put(h header, body []byte) {
	if len(body) < largeBytes {
		l.out = appendFrame(l.out, h, body)
		return
	}
	h.length = len(body)
	l.out = appendHeader(l.out, h)
	l.large = append(l.large, large{len(l.out), body})
}

// send has what waits sent: by the caller, if that is direct and little. The caller holds mu, which may
// be free meanwhile.
func (l *line) send(direct bool) {
	switch {
	case l.writing || l.err != nil: // who writes sees it
	case direct && len(l.out) <= directBytes && len(l.large) == 0:
		l.flush()
	default:
		l.some.Signal()
	}
}

func (l *line) init(conn, raw net.Conn, count *counters) {
	l.conn, l.raw, l.count, l.gone = conn, raw, count, make(chan struct{})
	l.some.L = &l.mu
	count.lines.Add(1)
}

// end ends a line. The first reason counts.
func (l *line) end(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return
	}
	l.err = err
	l.count.lines.Add(-1)
	close(l.gone)
	_ = l.raw.Close()
	l.some.Signal()
	l.ended()
}

// write sends frames that nobody else sends, until the line has ended.
func (l *line) write() {
	l.mu.Lock()
	for {
		for l.err == nil && (l.writing || len(l.out) == 0 && !l.last) {
			l.some.Wait()
		}
		if l.err != nil || len(l.out) == 0 {
			l.mu.Unlock()
			l.end(errClosed)
			return
		}
		l.flush()
	}
}

// flush writes all that waits. The caller holds mu, which is free meanwhile; nobody is writing.
func (l *line) flush() {
	b, bodies := l.out, l.large
	l.out, l.large, l.spare = l.spare[:0], nil, nil
	l.batch++
	l.writing = true
	l.taken()
	l.mu.Unlock()
	if err := l.writeOut(b, bodies); err != nil {
		l.end(err)
	}
	l.mu.Lock()
	l.writing = false
	if cap(b) <= keepBytes {
		l.spare = b
	}
	if len(l.out) > 0 || l.last || l.err != nil {
		l.some.Signal()
	}
}

// writeOut writes frames, with the bodies that belong in between.
func (l *line) writeOut(b []byte, bodies []large) error {
	from := 0
	for _, v := range bodies {
		if err := errors.Join(l.writeAll(b[from:v.at]), l.writeAll(v.body)); err != nil {
			return err
		}
		from = v.at
	}
	return l.writeAll(b[from:])
}

// writeAll writes b in pieces.
func (l *line) writeAll(b []byte) error {
	for len(b) > 0 {
		n := min(len(b), writeBytes)
		l.writes.Add(1)
		_, err := l.conn.Write(b[:n])
		l.writes.Add(1)
		if err != nil {
			return err
		}
		l.count.sent.Add(int64(n))
		b = b[n:]
	}
	return nil
}

// tick gives a line up that has been silent, or in one write, for too long.
func (l *line) tick() {
	if l.still() {
		l.end(errSilent)
	}
}

func (l *line) still() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := &l.ticks
	t.silent++
	if l.heard.Swap(false) {
		t.silent = 0
	}
	w := l.writes.Load()
	if w%2 == 0 || w != t.writes {
		t.stuck = 0
	} else {
		t.stuck++
	}
	t.writes = w
	return t.silent > patientTicks || t.stuck > patientTicks
}

// drainIn bounds how long what waits may take to be written when a node is closed.
const drainIn = time.Second

// drain has the line end when all that waits was written, or after a while.
func (l *line) drain() {
	l.mu.Lock()
	l.last = true
	l.some.Signal()
	l.mu.Unlock()
	select {
	case <-l.gone:
	case <-time.After(drainIn):
		l.end(errClosed)
	}
}
