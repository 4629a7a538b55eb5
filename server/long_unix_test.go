//go:build unix

package server

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/bloomery/bloomery/internal/resp"
)

// longCommand is a command that would run for minutes: very many items, asked of many
// filters.
func longCommand() []byte {
	const items = 200_000
	b := resp.AppendArray(nil, items+2)
	b = resp.AppendBulk(b, "FILTER.WHERE")
	b = resp.AppendBulk(b, "*")
	for i := range items {
		b = resp.AppendBulk(b, fmt.Sprint(i))
	}
	return b
}

// worked returns the processor time of the process.
func worked(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// longRun is a server whose one client has sent a command that runs for long.
type longRun struct {
	server *Server
	nc     net.Conn
	end    func() error
	began  time.Duration // of the processor
}

// given is the time of the processor that a command may go on for. It would take several
// times as much.
const given = 3 * time.Second

// runLong returns when the command runs.
func runLong(t *testing.T) *longRun {
	t.Helper()
	s, err := New(t.Context(), Config{Addr: []string{"127.0.0.1:0"}, ShutdownTimeout: 100 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	ctx, end := context.WithCancel(context.WithoutCancel(t.Context()))
	go func() { served <- s.Serve(ctx) }()
	r := &longRun{server: s, end: func() error { end(); return <-served }}
	if r.nc, err = (&net.Dialer{}).DialContext(t.Context(), "tcp", s.Addr().String()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.nc.Close() })
	var create bytes.Buffer
	const filters = 4000
	for i := range filters {
		fmt.Fprintf(&create, "BF.RESERVE f%d 0.01 100\r\n", i)
	}
	if _, err := r.nc.Write(create.Bytes()); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(r.nc, make([]byte, filters*len("+OK\r\n"))); err != nil {
		t.Fatal(err)
	}
	command := longCommand()
	if _, err := r.nc.Write(command); err != nil {
		t.Fatal(err)
	}
	c := s.connections()[0]
	for c.in.Load() < int64(create.Len()+len(command)) {
		time.Sleep(time.Millisecond)
	}
	r.began = worked(t)
	return r
}

// givesUp fails the test unless the connection of the long command ends, long before the
// command would, and the server ends in order.
func (r *longRun) givesUp(t *testing.T) {
	t.Helper()
	for len(r.server.connections()) > 0 {
		time.Sleep(time.Millisecond)
	}
	if took := worked(t) - r.began; took > given {
		t.Errorf("the command went on for %v of the processor", took)
	}
	if err := r.end(); err != nil {
		t.Error(err)
	}
}

// TestKillEndsALongCommand kills a client in the middle of a long command.
func TestKillEndsALongCommand(t *testing.T) {
	r := runLong(t)
	r.server.connections()[0].session.Kill()
	r.givesUp(t)
}

// TestClientThatLeavesEndsALongCommand has a client leave in the middle of a long command:
// its connection is reset, or it has only closed its side.
func TestClientThatLeavesEndsALongCommand(t *testing.T) {
	for name, reset := range map[string]bool{"reset": true, "closed": false} {
		t.Run(name, func(t *testing.T) {
			r := runLong(t)
			if reset {
				_ = r.nc.(*net.TCPConn).SetLinger(0)
			}
			_ = r.nc.Close()
			r.givesUp(t)
		})
	}
}

// TestShutdownEndsALongCommand ends a server in the middle of a long command.
func TestShutdownEndsALongCommand(t *testing.T) {
	r := runLong(t)
	if err := r.end(); err != nil {
		t.Error(err)
	}
	if took := worked(t) - r.began; took > given {
		t.Errorf("the command went on for %v of the processor", took)
	}
}

// TestHalfClosedClientIsAnswered has a client say that it sends nothing more: what it has
// sent is answered.
func TestHalfClosedClientIsAnswered(t *testing.T) {
	s, err := New(t.Context(), Config{Addr: []string{"127.0.0.1:0"}})
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	ctx, end := context.WithCancel(t.Context())
	go func() { served <- s.Serve(ctx) }()
	nc, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = nc.Close() }()
	if _, err := nc.Write([]byte("BF.ADD f x\r\nFILTER.WHERE * x\r\nKEYS *\r\n")); err != nil {
		t.Fatal(err)
	}
	if err := nc.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(nc)
	if want := ":1\r\n*2\r\n$1\r\nx\r\n*1\r\n$1\r\nf\r\n*1\r\n$1\r\nf\r\n"; string(got) != want || err != nil {
		t.Errorf("%q, %v, want %q", got, err, want)
	}
	end()
	if err := <-served; err != nil {
		t.Error(err)
	}
}
