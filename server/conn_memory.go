package server

// What a connection counts in the budget of memory.

import "github.com/bloomery/bloomery/internal/memory"

// argumentBytes is what an argument of a command takes beside its bytes: its
// slice.
const argumentBytes = 24

const (
	textNoMemory = "OOM command not allowed when used memory > 'maxmemory'."
	textQuery    = "ERR Protocol error: query larger than the limit of this server (--max-query)"
)

// hold makes n the number of bytes that count for this connection in the
// budget. It reports false, and leaves it as it was, if there is no room.
func (c *conn) hold(n int) bool {
	more := n - c.held
	if more == 0 {
		return true
	}
	if !c.server.engine.Hold(c.session, more) {
		c.server.engine.Hold(c.session, -more)
		return false
	}
	c.held = n
	return true
}

// settle counts what the connection keeps for a command that has not arrived
// whole: its bytes, if they are more than a buffer of the pool, and room for its
// arguments.
func (c *conn) settle() bool {
	if c.parser.Idle() {
		c.parser.Room = maxArgs
	}
	n := len(c.rest) + (c.parser.Room-maxArgs)*argumentBytes
	if c.b != nil && (cap(c.b.in) > readBytes || !c.parser.Idle()) {
		n += cap(c.b.in)
	}
	if c.tls != nil {
		n += len(c.tls.rest)
	}
	return c.hold(n)
}

// Read buffers grow by this factor, large ones by more: what they leave behind is
// in memory until it is collected.
const (
	growth      = 2
	largeGrowth = 4
	largeBuffer = 1 << 20
)

// grow makes the read buffer larger. Memory follows the bytes that have arrived
// and is counted before it is allocated.
func (c *conn) grow() error {
	limit := c.server.config.MaxQuery + readBytes
	if cap(c.b.in) >= limit {
		c.complain(textQuery)
		return errQuery
	}
	factor := growth
	if cap(c.b.in) >= largeBuffer {
		factor = largeGrowth
	}
	size := min(factor*cap(c.b.in), limit)
	if wants := c.parser.Wants(); wants > 0 && wants < size {
		size = max(wants, len(c.b.in)+readBytes)
	}
	before := c.held
	if !c.hold(before + size) { // the old one is there until it is copied
		c.complain(textNoMemory)
		return errNoMemory
	}
	c.server.collect(size)
	in := make([]byte, len(c.b.in), size)
	memory.Copy(in, c.b.in)
	c.b.in = in
	c.settle()
	return nil
}

// moreRoom counts memory for further arguments of a command that has very many.
func (c *conn) moreRoom() error {
	if !c.hold(c.held + c.parser.Room*argumentBytes) {
		c.complain(textNoMemory)
		return errNoMemory
	}
	c.parser.Room *= 2
	return nil
}
