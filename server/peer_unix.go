//go:build unix && !linux

package server

// Whether a client is still there, by a look at its socket.

import (
	"errors"

	"golang.org/x/sys/unix"
)

// peer looks at the socket without taking anything from it. The end of what a client
// sends is seen only when all before it was read.
func (s *socket) peer() int {
	if !s.live {
		return present
	}
	var b [1]byte
	n, _, err := unix.Recvfrom(s.fd, b[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
	switch {
	case err == nil && n == 0:
		return closed
	case err == nil, errors.Is(err, unix.EAGAIN), errors.Is(err, unix.EINTR):
		return present
	}
	return left
}
