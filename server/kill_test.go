package server

import (
	"net"
	"testing"
	"time"

	"github.com/bloomery/bloomery/server/internal/engine"
)

// TestKilledClientRunsNothing asks that of a client that was killed no command is run
// that has arrived: SIGTERM would wait for hundreds of them.
func TestKilledClientRunsNothing(t *testing.T) {
	s, err := New(Config{Addr: []string{"127.0.0.1:0"}})
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
