//go:build unix

package server

// Connections within the process, on Unix.

import (
	"net"
	"os"
	"syscall"
)

// connected returns the two ends of a connection within the process.
func connected() (a, b net.Conn, err error) {
	syscall.ForkLock.RLock()
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(fds[0])
		syscall.CloseOnExec(fds[1])
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, nil, err
	}
	if a, err = fileConn(fds[0]); err != nil {
		_ = syscall.Close(fds[1])
		return nil, nil, err
	}
	if b, err = fileConn(fds[1]); err != nil {
		_ = a.Close()
		return nil, nil, err
	}
	return a, b, nil
}

// fileConn makes a connection of a socket, which it closes or keeps.
func fileConn(fd int) (net.Conn, error) {
	f := os.NewFile(uintptr(fd), "socketpair")
	defer func() { _ = f.Close() }() // FileConn has made a copy
	return net.FileConn(f)
}
