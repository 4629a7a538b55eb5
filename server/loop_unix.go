//go:build unix

package server

import (
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"time"
)

// loop reads, runs and writes until the client leaves.
//
// It works on the socket itself, inside one call of RawConn.Read that lasts as
// long as the connection. That saves a system call per batch: a read that did
// not fill the buffer has taken all there was, so the goroutine can wait at once
// instead of reading again to be told that there is nothing. Nothing is missed:
// the runtime notes what arrives while step is at work, since readiness is only
// reset when RawConn.Read begins. And a connection needs no buffers while it
// waits: they are taken when the socket has something.
func (c *conn) loop() error {
	sc, ok := c.nc.(syscall.Conn)
	if !ok {
		return errors.New("connection has no socket")
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return err
	}
	err = raw.Read(c.step)
	if c.err == nil && errors.Is(err, os.ErrDeadlineExceeded) {
		err = c.finish(raw) // the server is closing
	}
	return errors.Join(c.err, err)
}

// finish answers what has been sent and is still on its way: it ends when the
// client is quiet for a moment, and at the latest after a while.
func (c *conn) finish(raw syscall.RawConn) error {
	const (
		quiet = 50 * time.Millisecond
		while = time.Second
	)
	for end := time.Now().Add(while); time.Now().Before(end); {
		before := c.seen
		if err := raw.Control(func(fd uintptr) { c.step(fd) }); err != nil || c.err != nil {
			return err
		}
		if err := c.nc.SetReadDeadline(time.Now().Add(quiet)); err != nil {
			return err
		}
		if err := raw.Read(c.step); !errors.Is(err, os.ErrDeadlineExceeded) || c.err != nil {
			return err
		}
		if c.seen == before {
			return nil
		}
	}
	return nil
}

// step reads and runs what there is. It reports true when the connection is to
// end, with the reason in c.err.
func (c *conn) step(fd uintptr) (done bool) {
	for {
		space, err := c.space()
		if err != nil {
			c.err = err
			return true
		}
		n, err := syscall.Read(int(fd), space)
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case errors.Is(err, syscall.EAGAIN):
			c.idle()
			return false
		case err != nil:
			c.err = &net.OpError{Op: "read", Net: "tcp", Err: err}
			return true
		case n == 0:
			c.err = io.EOF
			return true
		}
		if c.err = c.took(n); c.err != nil {
			return true
		}
		if n < len(space) {
			c.idle()
			return false
		}
	}
}
