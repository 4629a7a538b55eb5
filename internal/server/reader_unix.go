//go:build unix

package server

import (
	"errors"
	"io"
	"net"
	"syscall"
)

// reader reads from the socket itself, so that a connection needs no buffer
// while it waits: the buffer is taken when the socket has something.
type reader struct {
	raw  syscall.RawConn
	conn *conn
	step func(fd uintptr) bool // method value, made once
	n    int
	err  error
}

func newReader(c *conn) (reader, error) {
	sc, ok := c.nc.(syscall.Conn)
	if !ok {
		return reader{}, errors.New("server: connection has no socket")
	}
	raw, err := sc.SyscallConn()
	return reader{raw: raw, conn: c}, err
}

// read reads once into c.space, waiting until there is something.
func (r *reader) read(c *conn) (int, error) {
	if r.step == nil {
		r.step = r.try
	}
	if err := r.raw.Read(r.step); err != nil {
		return 0, err
	}
	return r.n, r.err
}

// now reads once if there is something, and never waits. It works on a
// connection whose deadline has passed, too.
func (r *reader) now(*conn) (int, error) {
	done := false
	if err := r.raw.Control(func(fd uintptr) { done = r.try(fd) }); err != nil {
		return 0, err
	}
	if !done {
		return 0, io.EOF
	}
	return r.n, r.err
}

// try reads once. It reports false if there is nothing yet.
func (r *reader) try(fd uintptr) bool {
	c := r.conn
	for {
		n, err := syscall.Read(int(fd), c.space())
		switch {
		case err == nil:
			c.took(n)
			r.n, r.err = n, nil
			return true
		case errors.Is(err, syscall.EINTR):
			continue
		case errors.Is(err, syscall.EAGAIN):
			if len(c.b.in) <= maxRest {
				c.idle()
			}
			return false
		default:
			r.n, r.err = 0, &net.OpError{Op: "read", Net: "tcp", Err: err}
			return true
		}
	}
}
