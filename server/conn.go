package server

// A connection: what it reads, runs and answers, and how it ends.

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/bloomery/bloomery/internal/resp"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/session"
)

const (
	// maxRest is how much of a command that has not arrived whole is copied,
	// so that the connection can return its buffers while it waits.
	maxRest = 16 << 10
	// minRate is how many bytes a second a command must bring, on average,
	// when it takes longer than the limit to arrive.
	minRate = 1 << 10
)

// Why a connection ends.
var (
	errQuit     = errors.New("server: the client quit")
	errKilled   = errors.New("server: the connection was killed")
	errTooSlow  = errors.New("server: a command takes too long to arrive")
	errReplies  = errors.New("server: too much memory waits for clients to take their replies")
	errQuery    = errors.New("server: a command is larger than the limit")
	errNoMemory = errors.New("server: no memory for a command")
)

// errParked is why exec stops in front of a call that waits for news.
var errParked = errors.New("server: a call waits for news")

// What a connection is asked to do by others.
const (
	open     = iota
	draining // answer what has arrived, then end
	killed   // end
)

// What the goroutine of a connection is doing. The patrol decides by it what to
// expect of the client.
const (
	waiting = iota // for a command
	partial        // for the rest of a command
	running        // commands: the client is owed something
	writing        // replies that the client has not taken
	phases  = 4
)

// longAgo is a deadline that wakes whoever waits.
var longAgo = time.Unix(1, 0)

// conn is a connection. One goroutine, its own, reads, runs, writes and closes.
// Others only leave a mark in ending and wake it: they never wait for it.
type conn struct {
	server  *Server
	nc      net.Conn
	tls     *tlsLayer // nil without TLS
	socket  socket
	session *engine.Session
	parser  resp.Parser
	err     error // why the connection ends
	said    bool  // an error was sent that the client should be able to read

	b     *buffers  // nil while idle
	rest  []byte    // the beginning of a command, while b is nil
	held  int       // bytes counted in the budget
	ran   bool      // a command was run since the last wait
	began time.Time // when the present command began to arrive, if it is late
	mark  int64     // bytes read before it

	looked time.Time // when gone last looked at the socket
	closed time.Time // since when the client is known to send nothing more
	absent bool      // it is gone

	monitor   *session.Monitor // whose lines are sent
	streaming atomic.Bool      // the client is a monitor, or was
	writing   sync.Mutex       // held by who writes to a monitor

	ending atomic.Uint32
	due    atomic.Bool   // a call that is parked is to be run again
	unseen atomic.Bool   // the last read may have hidden the end of the stream: see loop
	in     atomic.Int64  // bytes read
	out    atomic.Int64  // bytes written
	state  atomic.Uint64 // steps*phases + phase: every change is progress
	steps  uint64
	watch  watch // the notes of the patrol
}

// enter notes what the goroutine does now.
func (c *conn) enter(phase uint64) {
	c.steps++
	c.state.Store(c.steps*phases + phase)
}

// serve reads and answers until the client leaves.
func (c *conn) serve() {
	defer c.server.drop(c)
	defer c.rescue()
	err := c.handshake()
	if err == nil {
		err = c.loop()
	}
	c.report(err)
	c.farewell()
	if c.said {
		c.linger()
	}
}

// rescue keeps a fault in one command from ending the server.
func (c *conn) rescue() {
	if v := recover(); v != nil {
		c.server.log.Error("command failed", "client", c.session.Addr, "error", fmt.Sprint(v), "stack", string(debug.Stack()))
	}
}

func (c *conn) report(err error) {
	for _, usual := range []error{errQuit, errKilled, io.EOF, net.ErrClosed, os.ErrDeadlineExceeded, syscall.ECONNRESET, syscall.EPIPE} {
		if errors.Is(err, usual) {
			return
		}
	}
	c.server.log.Debug("connection ended", "client", c.session.Addr, "error", err)
}

// linger discards what the client still sends, for a moment: closing a socket
// with unread data would destroy the error on its way to the client.
func (c *conn) linger() {
	c.release()
	closeWrite(c.nc)
	_ = c.nc.SetReadDeadline(time.Now().Add(time.Second))
	if c.ending.Load() == open {
		_, _ = io.CopyN(io.Discard, c.nc, 64<<20)
	}
}

// space returns where the next read goes, behind what is left of an unfinished
// command. It takes buffers if there are none.
func (c *conn) space() ([]byte, error) {
	if c.b == nil {
		c.b = c.server.buffers.get()
		c.b.in = append(c.b.in, c.rest...)
		c.rest = nil
		if c.tls != nil {
			c.tls.unpack(c.b)
		}
	}
	if c.tls != nil { // a record is never as long as that
		return c.b.raw[len(c.b.raw):cap(c.b.raw)], nil
	}
	if len(c.b.in) == cap(c.b.in) {
		if err := c.grow(); err != nil {
			return nil, err
		}
	}
	return c.b.in[len(c.b.in):cap(c.b.in)], nil
}

// took runs what n more bytes in space have brought.
func (c *conn) took(n int) error {
	c.in.Add(int64(n))
	if c.tls != nil {
		c.b.raw = c.b.raw[:len(c.b.raw)+n]
		return c.unseal()
	}
	c.b.in = c.b.in[:len(c.b.in)+n]
	return c.run()
}

// complain sends an error that ends the connection, as far as the client takes
// it at once.
func (c *conn) complain(text string) {
	c.said = true
	_ = c.nc.SetWriteDeadline(time.Now().Add(time.Second))
	if c.ending.Load() != killed {
		_, _ = c.send(resp.AppendError(nil, text))
	}
}

// run takes all whole commands from the buffer, runs them and writes the replies.
func (c *conn) run() error {
	if c.streaming.Load() { // lines come between replies, not into them
		c.writing.Lock()
		defer c.writing.Unlock()
	}
	b := c.b
	at, last := 0, 0 // last is where the last command begins
	empty := false   // it has no arguments: one before it must not wait, since only the last is read again
	c.session.MayPark(false)
	for at < len(b.in) {
		base := len(b.args)
		args, n, err := c.parser.Next(b.in[at:], b.args)
		b.args = args
		if err != nil && errors.Is(err, resp.ErrRoom) {
			if err := c.exec(); err != nil { // of what came before: its arguments go
				return err
			}
			if err := c.moreRoom(); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			if failed := c.exec(); failed != nil {
				return failed
			}
			b.out = resp.AppendError(b.out, "ERR Protocol error: "+err.Error())
			c.said = true
			_ = c.write()
			return err
		}
		if n == 0 {
			break
		}
		last = at
		at += n
		if empty = len(args) == base; !empty {
			b.work.Add(args[base:len(args):len(args)])
		}
		if len(b.work.Calls) >= maxCalls || len(b.args) >= maxArgs {
			if err := c.exec(); err != nil {
				return err
			}
		}
	}
	c.session.MayPark(at == len(b.in) && !empty && !c.streaming.Load())
	err := c.exec()
	if errors.Is(err, errParked) {
		at, err = last, nil // it stays where it is, and is read again
	}
	if err != nil {
		return err
	}
	if err := c.write(); err != nil {
		return err
	}
	if at > 0 {
		b.in = b.in[:copy(b.in, b.in[at:])]
		c.startStream()
		c.ran = true
		c.server.engine.Release(c.session)
		c.settle()
	}
	return nil
}

// exec runs the commands found so far and makes their replies.
func (c *conn) exec() error {
	b := c.b
	calls := b.work.Calls
	for done := 0; done < len(calls); {
		if c.ending.Load() == killed {
			return errKilled
		}
		n := c.server.engine.Exec(c.session, &b.work, done)
		for i := done; i < done+n; i++ {
			if call := &calls[i]; !call.Mute {
				if err := c.reply(resp.Protocol(call.Proto), &call.Reply); err != nil {
					return err
				}
			}
		}
		if c.session.Parked() {
			c.forgetCalls()
			return errParked
		}
		if n == 0 {
			if err := c.paused(); err != nil {
				return err
			}
			continue
		}
		done += n
		if c.session.Quit {
			_ = c.write()
			return errQuit
		}
	}
	if len(calls) > 0 {
		c.parser.Guest = c.server.engine.Users.Guest(&c.session.Client)
	}
	c.forgetCalls()
	return nil
}

// forgetCalls makes room for the next commands.
func (c *conn) forgetCalls() {
	b := c.b
	b.work.Reset()
	if b.args = b.args[:0]; cap(b.args) > maxKeptArgs {
		b.args = make([][]byte, 0, firstArgs)
	}
}

// wake has a call that is parked run again, from any goroutine, without waiting.
func (c *conn) wake() {
	c.due.Store(true)
	_ = c.nc.SetReadDeadline(longAgo)
}

// rerun runs a call again that was parked.
func (c *conn) rerun() error {
	if _, err := c.space(); err != nil {
		return err
	}
	return c.run()
}

// paused waits while commands of clients are held back. What was answered before
// is sent first; meanwhile the buffers count.
func (c *conn) paused() error {
	if err := c.write(); err != nil {
		return err
	}
	size := c.b.size()
	ok := c.server.engine.Hold(c.session, size)
	defer c.server.engine.Hold(c.session, -size)
	if !ok {
		c.complain(textNoMemory)
		return errNoMemory
	}
	c.server.engine.Pause.Wait(&c.session.Client, func() bool { return c.ending.Load() == killed })
	return nil
}

// write sends what there is to send.
func (c *conn) write() error {
	b := c.b
	if len(b.out) == 0 {
		return nil
	}
	out := b.out
	if c.tls != nil {
		sealed, err := c.tls.seal(b.sealed, out)
		if err != nil {
			return err
		}
		b.sealed, out = sealed, sealed
	}
	err := c.transmit(out)
	b.out = b.out[:0]
	return err
}

// transmit writes to the socket. Usually it takes all at once.
func (c *conn) transmit(out []byte) error {
	n, err := c.socket.write(out)
	if err == nil && n < len(out) {
		err = c.writeSlowly(out[n:])
		n = len(out)
	}
	c.out.Add(int64(n))
	return err
}

// writeSlowly sends to a client that does not take replies as fast as they are
// made. Meanwhile its buffers count: there may be many such clients.
func (c *conn) writeSlowly(out []byte) error {
	size := c.b.size()
	if !c.server.waitsForReader(c, size) {
		return errReplies
	}
	defer c.server.readerWentOn(c, size)
	for len(out) > 0 {
		c.enter(writing)
		n := min(len(out), writeBytes)
		if _, err := c.nc.Write(out[:n]); err != nil {
			return err
		}
		out = out[n:]
	}
	c.enter(running)
	return nil
}

// idle returns buffers that are not needed while the client sends nothing. A
// short piece of a command is kept on its own.
func (c *conn) idle() error {
	if len(c.b.in) == 0 && c.parser.Idle() && len(c.b.raw) == 0 {
		c.release()
		c.enter(waiting)
		return nil
	}
	parked := c.session.Parked()
	if !parked {
		if err := c.late(); err != nil {
			return err
		}
	}
	if len(c.b.in) <= maxRest || parked {
		c.rest = append([]byte(nil), c.b.in...)
		if c.tls != nil {
			c.tls.rest = append([]byte(nil), c.b.raw...)
		}
		c.server.buffers.put(c.b)
		c.b = nil
	}
	if !c.settle() {
		c.complain(textNoMemory)
		return errNoMemory
	}
	if c.enter(partial); parked {
		c.enter(running) // it is the server's turn
	}
	return nil
}

// late ends a connection whose command arrives too slowly. One that does not
// arrive at all is for the patrol.
func (c *conn) late() error {
	now := time.Now()
	if c.ran || c.began.IsZero() {
		c.ran, c.began, c.mark = false, now, c.in.Load()
		return nil
	}
	after := now.Sub(c.began)
	if after > c.server.config.WriteTimeout && float64(c.in.Load()-c.mark) < minRate*after.Seconds() {
		return errTooSlow
	}
	return nil
}

// release returns the buffers and all that is counted for them.
func (c *conn) release() {
	if c.b != nil {
		c.server.buffers.put(c.b)
		c.b = nil
	}
	c.rest, c.began, c.ran = nil, time.Time{}, false
	c.hold(0)
}

// kill ends the connection from any goroutine, without waiting: it leaves a
// mark, takes both directions of the socket down and wakes who waits on it. The
// connection's own goroutine closes it.
func (c *conn) kill() {
	c.ending.Store(killed)
	c.session.End()
	_ = c.nc.SetDeadline(longAgo)
	shutdown(c.nc)
}

// drain asks the connection to answer what has arrived and to end.
func (c *conn) drain() {
	c.ending.CompareAndSwap(open, draining)
	_ = c.nc.SetReadDeadline(longAgo)
}

// readDeadline sets when a wait for the client ends. If someone marked the
// connection meanwhile, that one's deadline holds.
func (c *conn) readDeadline(t time.Time) {
	_ = c.nc.SetReadDeadline(t)
	if c.ending.Load() != open || c.due.Load() {
		_ = c.nc.SetReadDeadline(longAgo)
	}
}

// halfCloser is a connection whose directions can be closed one by one.
type halfCloser interface {
	CloseRead() error
	CloseWrite() error
}

func closeWrite(nc net.Conn) {
	if h, ok := nc.(halfCloser); ok {
		_ = h.CloseWrite()
	}
}

// shutdown takes both directions of a connection down without closing it.
func shutdown(nc net.Conn) {
	if h, ok := nc.(halfCloser); ok {
		_ = h.CloseWrite()
		_ = h.CloseRead()
	}
}
