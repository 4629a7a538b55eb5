package server

// How a connection reads, runs and writes, with any net.Conn.

import (
	"errors"
	"os"
	"time"
)

const (
	// quiet is how long a client must send nothing for a connection that
	// drains to end, drainMost when it ends in any case.
	quiet     = 50 * time.Millisecond
	drainMost = 3 * time.Second
)

// readLoop reads, runs and writes until the client leaves. It works with any
// net.Conn.
func (c *conn) readLoop() error {
	var end time.Time // when draining ends
	silent := false   // a read has brought nothing meanwhile
	for {
		n, err := c.readOnce()
		if err != nil {
			return err
		}
		switch {
		case n >= 0:
			silent = false
		case end.IsZero():
			end = time.Now().Add(drainMost)
		case silent:
			return nil
		default: // on a busy machine the deadline may have passed before anything was read
			silent = true
		}
		if !end.IsZero() {
			if time.Now().After(end) {
				return nil
			}
			_ = c.nc.SetReadDeadline(time.Now().Add(c.server.quiet))
		}
	}
}

// readOnce runs what one read brings. It returns -1 if the connection is asked
// to drain and nothing came.
func (c *conn) readOnce() (int, error) {
	space, err := c.space()
	if err != nil {
		return 0, err
	}
	n, err := c.nc.Read(space)
	c.enter(running)
	if n <= 0 && errors.Is(err, os.ErrDeadlineExceeded) && c.ending.Load() == open && c.due.Swap(false) {
		c.readDeadline(time.Time{})
		if c.session.Parked() {
			if err := c.run(); err != nil {
				return 0, err
			}
		}
		return 0, c.idle()
	}
	switch {
	case c.ending.Load() == killed:
		return 0, errKilled
	case n > 0: // an error comes back with the next read
		if err := c.took(n); err != nil {
			return 0, err
		}
		return n, c.idle()
	case errors.Is(err, os.ErrDeadlineExceeded) && c.ending.Load() == draining:
		return -1, nil
	}
	return 0, err
}
