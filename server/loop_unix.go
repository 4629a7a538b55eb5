//go:build unix

package server

// How a connection reads, runs and writes on Unix, with few system calls.

import (
	"errors"
	"io"
	"net"
	"os"
	"runtime"
	"syscall"
	"time"
)

const (
	// lookAgainAfter is when a read that did not fill its buffer is followed
	// by another, at the latest.
	lookAgainAfter = 250 * time.Millisecond
	// youngReads is how many reads of a new connection are followed by
	// another at once.
	youngReads = 4
)

// socket is a connection's own way to its file descriptor.
type socket struct {
	raw   syscall.RawConn
	fd    int
	live  bool // fd is held by the loop
	armed bool // the loop will be woken to look again
	young int  // reads to go until reads are spared
}

// write sends as much as the socket takes at once.
func (s *socket) write(out []byte) (int, error) {
	if !s.live {
		return 0, nil
	}
	for {
		n, err := syscall.Write(s.fd, out)
		switch {
		case err == nil:
			return n, nil
		case errors.Is(err, syscall.EAGAIN):
			return 0, nil
		case !errors.Is(err, syscall.EINTR):
			return 0, &net.OpError{Op: "write", Net: "socket", Err: err}
		}
	}
}

// loop reads, runs and writes until the client leaves.
//
// It works on the socket itself, inside a call of RawConn.Read that lasts as long
// as the connection is in use. That saves a system call per batch: a read that
// did not fill the buffer has taken all there was, so the goroutine can wait at
// once instead of reading again. The runtime notes what arrives while step is at
// work, since readiness is only reset when RawConn.Read begins. And a connection
// needs no buffers while it waits: they are taken when the socket has something.
//
// What a short read can hide is the end of the stream, if it came with the data:
// the socket became readable once for both. So the loop looks again a little
// later, once per quiet moment; for a call that waits the patrol sees to that.
//
// RawConn.Read holds the descriptor: a Close by another goroutine would wait
// until this one returns, perhaps for ever. So nobody else closes; see kill.
func (c *conn) loop() error {
	sc, ok := c.nc.(syscall.Conn)
	if !ok {
		return c.readLoop()
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return err
	}
	c.socket = socket{raw: raw, young: youngReads}
	for {
		err := raw.Read(c.step)
		c.socket.live = false
		switch {
		case c.err != nil:
			return c.err
		case !errors.Is(err, os.ErrDeadlineExceeded):
			return err
		case c.ending.Load() == killed:
			return errKilled
		case c.ending.Load() == draining:
			return c.finish()
		}
		if c.due.Swap(false) && c.session.Parked() {
			if err := c.resume(); err != nil {
				return err
			}
		}
		c.socket.armed = false
		c.readDeadline(time.Time{})
	}
}

// resume runs a call again that was parked. Whoever else was woken goes on before this one
// reads: most likely its client has asked anew by then, and it need not wait.
func (c *conn) resume() error {
	err := c.socket.raw.Control(func(fd uintptr) {
		c.enter(running)
		c.socket.fd, c.socket.live = int(fd), true
		if c.err = c.rerun(); c.err == nil {
			c.err = c.idle()
		}
	})
	c.socket.live = false
	runtime.Gosched()
	return errors.Join(c.err, err)
}

// lookAgain has the loop read once more, soon, unless that is arranged already.
func (c *conn) lookAgain() {
	if !c.socket.armed {
		c.socket.armed = true
		c.readDeadline(time.Now().Add(lookAgainAfter))
	}
}

// finish answers what has been sent and is still on its way: it ends when the
// client is quiet for a moment, and at the latest after a while.
func (c *conn) finish() error {
	c.socket.armed = true // by the deadlines here
	for end := time.Now().Add(drainMost); time.Now().Before(end) && c.ending.Load() != killed; {
		before := c.in.Load()
		if err := c.nc.SetReadDeadline(time.Now().Add(c.server.quiet)); err != nil {
			return err
		}
		err := c.socket.raw.Read(c.step)
		c.socket.live = false
		if c.err != nil || !errors.Is(err, os.ErrDeadlineExceeded) {
			return errors.Join(c.err, err)
		}
		// On a busy machine the deadline may have passed before anything was read.
		if err := c.readNow(); err != nil {
			return err
		}
		if c.in.Load() == before {
			return nil
		}
	}
	return nil
}

// readNow reads and runs what there is, whatever the deadline.
func (c *conn) readNow() error {
	err := c.socket.raw.Control(func(fd uintptr) { c.step(fd) })
	c.socket.live = false
	return errors.Join(c.err, err)
}

// step reads and runs what there is. It reports true when the connection is to
// end, with the reason in c.err.
func (c *conn) step(fd uintptr) (done bool) {
	c.enter(running)
	c.socket.fd, c.socket.live = int(fd), true
	if c.due.Load() && c.due.Swap(false) && c.session.Parked() {
		c.err = c.rerun()
	}
	for c.err == nil {
		if c.ending.Load() == killed {
			c.err = errKilled
			break
		}
		var space []byte
		if space, c.err = c.space(); c.err != nil {
			break
		}
		n, err := syscall.Read(int(fd), space)
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case errors.Is(err, syscall.EAGAIN):
			c.err = c.idle()
			return c.err != nil
		case err != nil:
			c.err = &net.OpError{Op: "read", Net: "socket", Err: err}
		case n == 0:
			c.err = io.EOF
		default:
			c.err = c.took(n)
		}
		if c.err != nil || n == len(space) {
			continue
		}
		if c.socket.young > 0 {
			c.socket.young--
			continue
		}
		if c.session.Parked() { // thousands of others may: the patrol has it look again if it waits for long
			c.unseen.Store(true)
		} else {
			c.lookAgain()
		}
		c.err = c.idle()
		return c.err != nil
	}
	return true
}
