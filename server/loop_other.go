//go:build !unix

package server

// Connections on systems other than Unix.

// socket has nothing to offer here: connections work by net.Conn alone.
type socket struct{}

func (socket) write([]byte) (int, error) { return 0, nil }

// unsent is not known here.
func (c *conn) unsent() int { return 0 }

func (c *conn) loop() error { return c.readLoop() }
