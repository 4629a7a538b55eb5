package server

// Clients that leave while a command of them runs.

import "time"

const (
	// lookEvery is how often a long command looks for its client.
	lookEvery = 10 * time.Millisecond
	// closedGrace is how long a command goes on for a client that has closed its side.
	// That is also how a client says that it has sent all and waits for replies.
	closedGrace = time.Second
)

// What can be seen of a client while a command of it runs.
const (
	present = iota
	closed  // it sends nothing more, and may take replies
	left    // nothing can be sent to it
)

// gone reports whether the client has left. The goroutine of the connection calls it,
// between two pieces of a long command.
func (c *conn) gone() bool {
	now := time.Now()
	if c.absent || now.Sub(c.looked) < lookEvery {
		return c.absent
	}
	c.looked = now
	switch c.socket.peer() {
	case left:
		c.absent = true
	case closed:
		if c.closed.IsZero() {
			c.closed = now
		}
		c.absent = now.Sub(c.closed) >= closedGrace
	}
	return c.absent
}
