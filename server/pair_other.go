//go:build !unix

package server

// Connections within the process, on other systems than Unix.

import (
	"errors"
	"net"
)

// connected returns the two ends of a connection within the process.
func connected() (a, b net.Conn, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = l.Close() }()
	if b, err = net.Dial("tcp", l.Addr().String()); err != nil {
		return nil, nil, err
	}
	a, err = l.Accept()
	if err == nil && a.RemoteAddr().String() != b.LocalAddr().String() {
		err = errors.Join(errors.New("another program connected first"), a.Close())
	}
	if err != nil {
		return nil, nil, errors.Join(err, b.Close())
	}
	return a, b, nil
}
