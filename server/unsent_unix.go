//go:build unix && !linux

package server

// Bytes that a client has not taken, where the system does not know them.

// unsent is not known here: what the socket takes is all there is to see.
func (c *conn) unsent() int { return 0 }
