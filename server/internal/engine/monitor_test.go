package engine

import (
	"bytes"
	"testing"
	"time"

	"github.com/bloomery/bloomery/server/internal/session"
	"github.com/bloomery/bloomery/server/internal/store"
	"github.com/bloomery/bloomery/server/internal/traits"
)

// monitored is an engine with a session that sees what another one does.
func monitored(t *testing.T, maxMemory int64) (e *Engine, x *Context, killed *int) {
	t.Helper()
	e = New(Config{State: store.New(), MaxMemory: maxMemory})
	killed = new(int)
	return e, &Context{e: e, s: NewSession(1, "", "", time.Time{}, func() { *killed++ })}, killed
}

// TestMonitorGetsWhatIsRun asks which calls a monitor sees, in which order, and that
// it costs memory as long as it is there.
func TestMonitorGetsWhatIsRun(t *testing.T) {
	e, x, killed := monitored(t, 1<<30)
	if x.s.Monitor() != nil || !x.Server().Monitor() || !x.Server().Monitor() {
		t.Fatal("the session is no monitor")
	}
	if e.Budget.Clients() != session.MonitorBytes || x.s.Memory() != session.MonitorBytes {
		t.Errorf("%d bytes are held, want %d", e.Budget.Clients(), session.MonitorBytes)
	}
	other := NewSession(2, "a", "", time.Time{}, nil)
	other.now = time.Unix(5, 7000)
	cmd, admin := &Command{Name: "x"}, &Command{Name: "y", Flags: traits.Admin}
	queued := callOf(cmd, "queued")
	queued.queued = true
	e.feed(other, []Call{callOf(cmd, "one"), callOf(admin, "secret"), callOf(nil, "none"), queued, callOf(cmd, "two")})
	lines, ok := x.s.Monitor().Next()
	if !ok || string(lines) != "+5.000007 [0 a] \"one\"\r\n+5.000007 [0 a] \"two\"\r\n" {
		t.Errorf("the monitor sees %q", lines)
	}
	e.feed(other, []Call{callOf(cmd, "three")})
	if lines, ok = x.s.Monitor().Next(); !ok || !bytes.Contains(lines, []byte("three")) || bytes.Contains(lines, []byte("two")) {
		t.Errorf("then it sees %q", lines)
	}
	m := x.s.Monitor()
	e.unmonitor(x.s)
	e.unmonitor(x.s)
	if _, ok := m.Next(); ok || x.s.Monitor() != nil || e.notes.Monitors.Any() || e.Budget.Clients() != 0 {
		t.Errorf("the monitor has not ended, %d bytes are held", e.Budget.Clients())
	}
	e.feed(other, []Call{callOf(cmd, "four")})
	if *killed != 0 {
		t.Errorf("the session was killed %d times", *killed)
	}
}

// TestMonitorsInTurn ends one of three monitors: the others go on.
func TestMonitorsInTurn(t *testing.T) {
	e := New(Config{State: store.New(), MaxMemory: 1 << 30})
	var all []*Context
	for id := range int64(3) {
		x := &Context{e: e, s: NewSession(id, "", "", time.Time{}, func() {})}
		x.Server().Monitor()
		all = append(all, x)
	}
	e.unmonitor(all[1].s)
	e.feed(all[0].s, []Call{callOf(&Command{}, "x")})
	for _, i := range []int{0, 2} {
		if lines, ok := all[i].s.Monitor().Next(); !ok || len(lines) == 0 {
			t.Errorf("monitor %d sees nothing", i)
		}
	}
	if all[1].s.Monitor() != nil {
		t.Error("a monitor that was ended is there")
	}
	e, x, _ := monitored(t, session.MonitorBytes/2)
	if x.Server().Monitor() || x.s.Monitor() != nil || e.notes.Monitors.Any() || e.Budget.Clients() != 0 {
		t.Error("there is no memory for a monitor, and there is one")
	}
}
