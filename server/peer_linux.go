package server

// Whether a client is still there, by a look at its socket.

import "golang.org/x/sys/unix"

// peer looks at the socket without reading from it.
func (s *socket) peer() int {
	if !s.live {
		return present
	}
	fds := []unix.PollFd{{Fd: int32(s.fd), Events: unix.POLLRDHUP}}
	if n, err := unix.Poll(fds, 0); n < 1 || err != nil {
		return present
	}
	if fds[0].Revents&(unix.POLLHUP|unix.POLLERR|unix.POLLNVAL) != 0 {
		return left
	}
	return closed
}
