//go:build linux && !race

package peers

// How connections are read and written on Linux.

import (
	"io"
	"net"
	"os"
	"syscall"
	"unsafe"
)

// socket is a connection whose system calls the scheduler is not told of. Those of net.Conn wake a thread of the
// scheduler if all of the process was at rest, as it is before most questions and answers: that thread looks after system
// calls that block, and takes longer than they do. These never block, and are short: TLS writes 16 KiB at a time. The race
// detector needs to be told of them.
//
// One goroutine may read, and another one write.
type socket struct {
	net.Conn
	raw syscall.RawConn
	// Of Read, and of Write: what is left, what was done, and the functions themselves, so that no call allocates them.
	in, out           []byte
	got, put          int
	failedIn          error
	failedOut         error
	tryRead, tryWrite func(fd uintptr) (done bool)
}

// unwatched returns a connection that does what conn does.
func unwatched(conn net.Conn) net.Conn {
	c, ok := conn.(syscall.Conn)
	if !ok {
		return conn
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return conn
	}
	s := &socket{Conn: conn, raw: raw}
	s.tryRead, s.tryWrite = s.readSome, s.writeAll
	return s
}

// Read implements net.Conn.
func (s *socket) Read(b []byte) (int, error) {
	s.in, s.got, s.failedIn = b, 0, nil
	err := s.raw.Read(s.tryRead)
	s.in = nil
	if err == nil {
		err = s.failedIn
	}
	return s.got, err
}

// Write implements net.Conn.
func (s *socket) Write(b []byte) (int, error) {
	s.out, s.put, s.failedOut = b, 0, nil
	err := s.raw.Write(s.tryWrite)
	s.out = nil
	if err == nil {
		err = s.failedOut
	}
	return s.put, err
}

// readSome reads what there is. It reports false if there is nothing.
func (s *socket) readSome(fd uintptr) (done bool) {
	if len(s.in) == 0 {
		return true
	}
	n, errno := transfer(syscall.SYS_READ, fd, s.in)
	switch {
	case errno == syscall.EAGAIN:
		return false
	case errno != 0:
		s.failedIn = &net.OpError{Op: "read", Net: "tcp", Addr: s.RemoteAddr(), Err: os.NewSyscallError("read", errno)}
	case n == 0:
		s.failedIn = io.EOF
	default:
		s.got = n
	}
	return true
}

// writeAll writes what is left. It reports false if the other end has to read first.
func (s *socket) writeAll(fd uintptr) (done bool) {
	for s.put < len(s.out) {
		n, errno := transfer(syscall.SYS_WRITE, fd, s.out[s.put:])
		switch {
		case errno == syscall.EAGAIN:
			return false
		case errno != 0:
			s.failedOut = &net.OpError{Op: "write", Net: "tcp", Addr: s.RemoteAddr(), Err: os.NewSyscallError("write", errno)}
			return true
		}
		s.put += n
	}
	return true
}

// transfer reads or writes b, which is not empty.
func transfer(trap, fd uintptr, b []byte) (int, syscall.Errno) {
	for {
		n, _, errno := syscall.RawSyscall(trap, fd, uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)))
		if errno != syscall.EINTR {
			return int(n), errno
		}
	}
}
