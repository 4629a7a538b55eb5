package server

// How many bytes a client has not taken yet.

import "golang.org/x/sys/unix"

// unsent returns how many bytes the system has taken from this connection and the
// client has not acknowledged. A write to a full socket goes on only when a good
// part of the socket is empty again; this shows that a slow client reads on.
func (c *conn) unsent() (n int) {
	if c.socket.raw == nil {
		return 0
	}
	_ = c.socket.raw.Control(func(fd uintptr) {
		n, _ = unix.IoctlGetInt(int(fd), unix.SIOCOUTQ)
	})
	return n
}
