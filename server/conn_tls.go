package server

// The TLS of a connection.

import (
	"container/list"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"
	"time"
)

const (
	// handshakeMost is how long a handshake may take, or the limit on progress
	// if that is shorter.
	handshakeMost = 10 * time.Second
	// handshakeBytes is what counts in the budget for a handshake, and how much
	// a client may send in one: crypto/tls would keep up to 256 KiB of it.
	handshakeBytes = 32 << 10
	// Of all clients, one in handshakeShare may be in its handshake, and
	// minHandshakes in any case.
	handshakeShare = 4
	minHandshakes  = 16
	// stuckAfter is when a client that does not go on with its handshake has to
	// make room for another.
	stuckAfter = time.Second
	// farewellMost is how long the note that a stream ends may take.
	farewellMost = time.Second

	// rawBytes is how much is read at once.
	rawBytes = 64 << 10

	recordHead = 5
	// Types of records are from change_cipher_spec to heartbeat.
	firstRecordType, lastRecordType = 20, 24
	// maxRecord is how long a record may be that is waited for. Longer ones
	// are refused by crypto/tls.
	maxRecord = recordHead + 16<<10 + 2<<10
	// maxSilent is how many bytes of records may come without any data in them:
	// new keys have a few dozen. crypto/tls keeps a message of the handshake
	// until it is whole, up to 64 KiB of it.
	maxSilent = 4 << 10
)

// Why a connection with TLS ends that could be read.
var (
	errLongHandshake = errors.New("server: the client sends too much in its handshake")
	errSilent        = errors.New("server: the client sends records without data")
)

const textPlain = "-ERR this address expects TLS: connect with --tls\r\n"

// againError means that there is no whole record. It is temporary: crypto/tls goes on
// where it was.
type againError struct{}

func (againError) Error() string   { return "server: the record is not there yet" }
func (againError) Timeout() bool   { return true }
func (againError) Temporary() bool { return true }

var _ net.Error = againError{}

// tlsLayer is the TLS of a connection. When the handshake is over, nothing in it
// waits: it turns bytes into others, and the connection reads and writes its socket
// as one without TLS does, by the same rules.
//
//	socket ─► buffers.raw ─► conn ─► buffers.in      buffers.out ─► conn ─► sealed ─► socket
//
// It is also what conn takes for the network: Read and Write.
type tlsLayer struct {
	net.Conn // the socket
	owner    *conn
	conn     *tls.Conn
	rest     []byte // the beginning of a record, while the connection has no buffers

	done bool // the handshake
	head []byte
	left int // bytes of the record that is read, during the handshake
	sent int // bytes of all records of the handshake
	// inside means that this connection is one of those that may compute.
	inside bool
	since  time.Time
	place  *list.Element // among the handshakes

	in     []byte // whole records
	silent int    // bytes of records since there was data in one

	// mu guards out.
	mu  sync.Mutex
	out []byte // sealed and not sent
}

func newTLSLayer(c *conn, config *tls.Config) *tlsLayer {
	t := &tlsLayer{Conn: c.nc, owner: c, since: time.Now()}
	t.conn = tls.Server(t, config)
	return t
}

// Read implements net.Conn for crypto/tls.
func (t *tlsLayer) Read(p []byte) (int, error) {
	if !t.done {
		return t.readRecord(p)
	}
	if len(t.in) == 0 {
		t.in = nil // its memory goes to another connection, or is free
		return 0, againError{}
	}
	n := copy(p, t.in)
	t.in = t.in[n:]
	return n, nil
}

// Write implements net.Conn for crypto/tls.
func (t *tlsLayer) Write(p []byte) (int, error) {
	if !t.done {
		return t.wait(t.Conn.Write, p)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.out = append(t.out, p...)
	return len(p), nil
}

// SetDeadline implements net.Conn. Deadlines are not for crypto/tls to set.
func (t *tlsLayer) SetDeadline(time.Time) error { return nil }

// SetReadDeadline implements net.Conn.
func (t *tlsLayer) SetReadDeadline(time.Time) error { return nil }

// SetWriteDeadline implements net.Conn.
func (t *tlsLayer) SetWriteDeadline(time.Time) error { return nil }

// readRecord reads from the socket during the handshake, never beyond the end of a
// record: what comes behind the handshake is not for it.
func (t *tlsLayer) readRecord(p []byte) (int, error) {
	if t.left > 0 {
		n, err := t.wait(t.Conn.Read, p[:min(len(p), t.left)])
		t.left -= n
		return n, err
	}
	n, err := t.wait(t.Conn.Read, p[:min(len(p), recordHead-len(t.head))])
	if t.head = append(t.head, p[:n]...); len(t.head) == recordHead {
		t.left, t.head = int(binary.BigEndian.Uint16(t.head[3:])), t.head[:0]
		if t.sent += recordHead + t.left; t.sent > handshakeBytes && err == nil {
			err = errLongHandshake
		}
	}
	return n, err
}

// wait lets others compute while this handshake waits for its client.
func (t *tlsLayer) wait(f func([]byte) (int, error), p []byte) (int, error) {
	t.leave()
	t.owner.enter(partial)
	n, err := f(p)
	t.owner.enter(running)
	if err != nil {
		return n, err
	}
	select {
	case t.owner.server.computing <- struct{}{}:
		t.inside = true
		return n, nil
	case <-t.owner.server.ended:
		return n, net.ErrClosed
	}
}

// leave ends what wait began.
func (t *tlsLayer) leave() {
	if t.inside {
		t.inside = false
		<-t.owner.server.computing
	}
}

// stuck reports whether a handshake waits for its client, for long.
func (t *tlsLayer) stuck() bool {
	return time.Since(t.since) > stuckAfter && t.owner.state.Load()%phases == partial
}

// unpack gives b memory for records, with the one that has begun to arrive.
func (t *tlsLayer) unpack(b *buffers) {
	if cap(b.raw) == 0 {
		b.raw = make([]byte, 0, rawBytes)
	}
	b.raw = append(b.raw[:0], t.rest...)
	t.rest = nil
}

// seal encrypts p and appends it to what is to be sent, which it returns. It uses the
// memory of space if it can.
func (t *tlsLayer) seal(space, p []byte) ([]byte, error) {
	t.mu.Lock()
	if len(t.out) == 0 {
		t.out = space[:0]
	}
	t.mu.Unlock()
	_, err := t.conn.Write(p)
	return t.take(), err
}

// take returns what is sealed and not sent.
func (t *tlsLayer) take() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := t.out
	t.out = nil
	return out
}

// wholeRecords returns how many bytes at the beginning of b are records that have
// arrived whole. What cannot be a record counts: crypto/tls refuses it.
func wholeRecords(b []byte) int {
	at := 0
	for len(b)-at >= recordHead {
		n := recordHead + int(binary.BigEndian.Uint16(b[at+3:]))
		if n > maxRecord || b[at] < firstRecordType || b[at] > lastRecordType {
			return len(b)
		}
		if len(b)-at < n {
			break
		}
		at += n
	}
	return at
}

// queueHandshake finds a place for a connection that begins with a handshake. If all
// are taken, the oldest has to go if it is stuck: it is returned, to be killed. The
// caller holds mu.
func (s *Server) queueHandshake(c *conn) (displaced *conn, ok bool) {
	if int64(s.handshakes.Len()) >= max(minHandshakes, s.settings.MaxClients.Load()/handshakeShare) {
		oldest := s.handshakes.Front()
		displaced = oldest.Value.(*conn)
		if !displaced.tls.stuck() {
			return nil, false
		}
		s.handshakes.Remove(oldest)
	}
	c.tls.place = s.handshakes.PushBack(c)
	return displaced, true
}

// handshake begins TLS, where the connection has it. It is the only part that waits
// for the client by itself: within a limit, counted in the budget and among the
// clients, and computing in turns with others.
func (c *conn) handshake() error {
	t := c.tls
	if t == nil {
		return nil
	}
	defer func() {
		t.leave()
		c.server.mu.Lock()
		c.server.handshakes.Remove(t.place)
		c.server.mu.Unlock()
	}()
	if !c.hold(handshakeBytes) {
		return errNoMemory
	}
	defer c.hold(0)
	c.deadline(time.Now().Add(min(handshakeMost, c.server.config.WriteTimeout)))
	if err := t.conn.Handshake(); err != nil {
		c.server.badHandshakes.Add(1)
		c.failed(err)
		return err
	}
	t.done = true
	c.deadline(time.Time{})
	c.enter(waiting)
	if c.server.onlyLocal(c.nc) && len(t.conn.ConnectionState().VerifiedChains) == 0 {
		c.server.rejected.Add(1)
		c.said = true
		_, _ = c.send([]byte(textDenied))
		return errQuit
	}
	return nil
}

// failed has the client learn why its handshake failed, if it is still there.
func (c *conn) failed(err error) {
	if c.ending.Load() != open || errors.Is(err, io.EOF) || isTimeout(err) {
		return
	}
	c.said = true // crypto/tls has sent an alert
	if e, ok := errors.AsType[tls.RecordHeaderError](err); ok && e.Conn != nil {
		_, _ = c.nc.Write([]byte(textPlain))
	}
}

func isTimeout(err error) bool {
	e, ok := errors.AsType[net.Error](err)
	return ok && e.Timeout()
}

// unseal decrypts what has arrived whole, as much at a time as the buffer takes, and
// runs it.
func (c *conn) unseal() error {
	b, t := c.b, c.tls
	whole := wholeRecords(b.raw)
	t.in = b.raw[:whole]
	unread := whole // when there was data last
	for {
		if len(b.in) == cap(b.in) {
			if err := c.run(); err != nil {
				return err
			}
		}
		if len(b.in) == cap(b.in) {
			if err := c.grow(); err != nil {
				return err
			}
		}
		n, err := t.conn.Read(b.in[len(b.in):cap(b.in)])
		b.in = b.in[:len(b.in)+n]
		if n > 0 {
			t.silent, unread = 0, len(t.in)
		}
		if err == nil {
			continue
		}
		if failed := c.run(); failed != nil {
			return failed
		}
		if !errors.Is(err, againError{}) {
			c.said = !errors.Is(err, io.EOF) // an alert
			return err
		}
		if t.silent += unread; t.silent > maxSilent {
			return errSilent
		}
		b.raw = b.raw[:copy(b.raw, b.raw[whole:])]
		return c.flush()
	}
}

// flush sends what crypto/tls has to say by itself: new keys.
func (c *conn) flush() error {
	if c.streaming.Load() {
		c.writing.Lock()
		defer c.writing.Unlock()
	}
	if out := c.tls.take(); len(out) > 0 {
		return c.transmit(out)
	}
	return nil
}

// send sends p from outside of the loop, and waits until the socket has taken it.
func (c *conn) send(p []byte) (int, error) {
	if c.tls != nil {
		sealed, err := c.tls.seal(nil, p)
		if err != nil {
			return 0, err
		}
		p = sealed
	}
	return c.nc.Write(p)
}

// farewell ends the stream in order, so that the client can be sure that nothing was
// cut off.
func (c *conn) farewell() {
	if c.tls == nil || !c.tls.done || c.ending.Load() == killed || !c.writing.TryLock() {
		return
	}
	defer c.writing.Unlock()
	_ = c.tls.conn.CloseWrite()
	_ = c.nc.SetWriteDeadline(time.Now().Add(farewellMost))
	if c.ending.Load() != killed {
		_, _ = c.nc.Write(c.tls.take())
	}
}

// deadline sets when waits for the client end, in both directions. If someone marked
// the connection meanwhile, that one's deadline holds.
func (c *conn) deadline(t time.Time) {
	_ = c.nc.SetDeadline(t)
	switch c.ending.Load() {
	case killed:
		_ = c.nc.SetDeadline(longAgo)
	case draining:
		_ = c.nc.SetReadDeadline(longAgo)
	}
}
