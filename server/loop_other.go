//go:build !unix

package server

// Connections on systems other than Unix.

// socket has nothing to offer here: connections work by net.Conn alone.
type socket struct{}

func (socket) write([]byte) (int, error) { return 0, nil }

// peer is not known here: a client that leaves is noticed when it is written to.
func (socket) peer() int { return present }

// unsent is not known here.
func (c *conn) unsent() int { return 0 }

func (c *conn) loop() error { return c.readLoop() }
