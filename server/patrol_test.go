package server

import (
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/session"
)

// TestOverdue asks when the patrol closes which connections.
func TestOverdue(t *testing.T) {
	const idleReason, partReason, replyReason = "idle timeout", "middle of a command", "take its replies"
	const stalled = time.Minute
	began := time.Unix(1_700_000_000, 0)
	for _, tt := range []struct {
		phase       uint64
		idle, quiet time.Duration
		want        string
		monitor     bool
	}{
		{waiting, 0, time.Hour, "", false},
		{waiting, 10 * time.Second, 10*time.Second - 1, "", false},
		{waiting, 10 * time.Second, 10 * time.Second, idleReason, false},
		{partial, 0, stalled - 1, "", false},
		{partial, 0, stalled, partReason, false},
		{partial, 10 * time.Second, 10 * time.Second, partReason, false},
		{partial, 10 * time.Second, 10*time.Second - 1, "", false},
		{running, 10 * time.Second, time.Hour, "", false},
		{writing, 10 * time.Second, stalled - 1, "", false},
		{writing, 0, stalled, replyReason, false},
		{waiting, 10 * time.Second, time.Hour, "", true},
	} {
		c := &conn{session: engine.NewSession(1, "", "", began, func() {})}
		if tt.monitor {
			new(session.Monitors).Add(&c.session.Client)
		}
		c.state.Store(5*phases + tt.phase)
		if got := c.overdue(began, tt.idle, stalled); got != "" {
			t.Errorf("%+v: closed at the first look: %s", tt, got)
		}
		if got := c.overdue(began.Add(tt.quiet), tt.idle, stalled); got != tt.want && (tt.want == "" || !strings.Contains(got, tt.want)) {
			t.Errorf("%+v: %q", tt, got)
		}
		c.state.Store(6*phases + tt.phase)
		if got := c.overdue(began.Add(2*time.Hour), tt.idle, stalled); got != "" {
			t.Errorf("%+v: closed in spite of progress: %s", tt, got)
		}
	}
}

// TestPatrolHasItsOwnClock steps the clock of the configuration: clients stay, however long
// they seem to have been idle.
func TestPatrolHasItsOwnClock(t *testing.T) {
	var step atomic.Int64
	s, err := New(t.Context(), Config{Addr: []string{"127.0.0.1:0"}, IdleTimeout: time.Minute, Now: func() time.Time { return time.Now().Add(time.Duration(step.Load())) }})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	nc, err := s.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = nc.Close() }()
	ping := func() {
		t.Helper()
		reply := make([]byte, 7)
		if _, err := nc.Write([]byte("PING\r\n")); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(nc, reply); err != nil || string(reply) != "+PONG\r\n" {
			t.Fatalf("PING = %q, %v", reply, err)
		}
	}
	ping()
	for _, to := range []time.Duration{24 * time.Hour, -24 * time.Hour} {
		step.Store(int64(to))
		s.inspect(time.Now())
		s.inspect(time.Now())
		ping()
	}
	for i := time.Duration(1); len(s.connections()) > 0; i++ { // its own clock counts
		s.inspect(time.Now().Add(2 * i * time.Minute))
	}
}
