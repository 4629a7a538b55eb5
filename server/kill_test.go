package server

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"github.com/bloomery/bloomery/server/internal/engine"
)

// TestKilledClientRunsNothing asks that of a client that was killed no command is run
// that has arrived: SIGTERM would wait for hundreds of them.
func TestKilledClientRunsNothing(t *testing.T) {
	s, err := New(t.Context(), Config{Addr: []string{"127.0.0.1:0"}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	ours, theirs := net.Pipe()
	defer func() { _ = ours.Close() }()
	defer func() { _ = theirs.Close() }()
	c := &conn{server: s, nc: ours}
	c.session = engine.NewSession(1, "", "", time.Now(), c.kill)
	c.session.Authenticated = true
	run := func() int {
		var w engine.Workspace
		w.Add([][]byte{[]byte("PING")})
		return s.engine.Exec(c.session, &w, 0)
	}
	if n := run(); n != 1 {
		t.Fatalf("Exec ran %d commands, want 1", n)
	}
	c.session.Kill()
	if n := run(); n != 0 {
		t.Errorf("when the client was killed Exec ran %d commands, want none", n)
	}
}

// TestDrainsWithoutTime has a server end on a machine so busy that the deadline of every
// last read has passed before it: what has been sent is answered all the same. Whether
// anything is left for the last read is a matter of chance, so it does so ten times.
func TestDrainsWithoutTime(t *testing.T) {
	for range 10 {
		drainWithoutTime(t)
	}
}

func drainWithoutTime(t *testing.T) {
	t.Helper()
	s, err := New(t.Context(), Config{Addr: []string{"127.0.0.1:0"}})
	if err != nil {
		t.Fatal(err)
	}
	s.quiet = -time.Second
	served := make(chan error, 1)
	ctx, end := context.WithCancel(t.Context())
	go func() { served <- s.Serve(ctx) }()
	nc, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = nc.Close() }()
	first := make([]byte, len("+PONG\r\n")) // the server has accepted the client
	if _, err := nc.Write([]byte("PING\r\n")); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(nc, first); err != nil {
		t.Fatal(err)
	}
	const n = 10_000 // as much as a socket takes
	replies := make(chan []byte)
	go func() {
		all, _ := io.ReadAll(nc)
		replies <- all
	}()
	if _, err := nc.Write(bytes.Repeat([]byte("PING\r\n"), n)); err != nil {
		t.Fatal(err)
	}
	end()
	if got := bytes.Count(<-replies, []byte("+PONG\r\n")); got != n {
		t.Errorf("%d of %d commands were answered", got, n)
	}
	if err := <-served; err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
