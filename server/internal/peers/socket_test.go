package peers

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"time"
)

// sockets returns an end of a connection, and the other one as it is without this package.
func sockets(t *testing.T) (near, far net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if near, err = net.Dial("tcp", l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if far, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = near.Close(), far.Close() })
	return unwatched(near), far
}

// TestSocket writes more than fits into the buffers of a connection, and reads it up to its end.
func TestSocket(t *testing.T) {
	near, far := sockets(t)
	want := bytes.Repeat([]byte("0123456789abcdef"), 1<<20)
	wrote := make(chan error, 1)
	go func() {
		n, err := near.Write(want)
		if err == nil && n != len(want) {
			err = io.ErrShortWrite
		}
		wrote <- errors.Join(err, near.Close())
	}()
	got, err := io.ReadAll(unwatched(far))
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("read %d of %d bytes: %v", len(got), len(want), err)
	}
	if err := <-wrote; err != nil {
		t.Error(err)
	}
	if n, err := near.Write(want); n != 0 || !errors.Is(err, net.ErrClosed) {
		t.Errorf("written to one that is closed: %d, %v", n, err)
	}
}

// TestSocketFails looks at errors by which others decide what to do.
func TestSocketFails(t *testing.T) {
	near, far := sockets(t)
	b := make([]byte, 8)
	if n, err := near.Read(nil); n != 0 || err != nil {
		t.Errorf("read nothing: %d, %v", n, err)
	}
	_ = near.SetReadDeadline(time.Unix(1, 0))
	_, err := near.Read(b)
	var passes net.Error
	if !errors.Is(err, os.ErrDeadlineExceeded) || !errors.As(err, &passes) || !passes.Timeout() {
		t.Errorf("behind its deadline: %v", err)
	}
	_ = near.SetReadDeadline(time.Time{}) // it can be used again
	if _, err := far.Write([]byte("hello")); err != nil {
		t.Fatal(err)
	}
	if n, err := near.Read(b); err != nil || string(b[:n]) != "hello" {
		t.Errorf("read %q, %v", b[:n], err)
	}
	_ = far.(*net.TCPConn).SetLinger(0)
	_ = far.Close()
	if _, err := near.Read(b); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("read from one that was reset: %v", err)
	}
}
