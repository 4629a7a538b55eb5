package server

import (
	"strings"
	"testing"
	"time"

	"github.com/bloomery/bloomery/server/internal/engine"
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
	}{
		{waiting, 0, time.Hour, ""},
		{waiting, 10 * time.Second, 10*time.Second - 1, ""},
		{waiting, 10 * time.Second, 10 * time.Second, idleReason},
		{partial, 0, stalled - 1, ""},
		{partial, 0, stalled, partReason},
		{partial, 10 * time.Second, 10 * time.Second, partReason},
		{partial, 10 * time.Second, 10*time.Second - 1, ""},
		{running, 10 * time.Second, time.Hour, ""},
		{writing, 10 * time.Second, stalled - 1, ""},
		{writing, 0, stalled, replyReason},
	} {
		c := &conn{session: engine.NewSession(1, "", "", began, func() {})}
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
