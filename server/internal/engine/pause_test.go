package engine

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bloomery/bloomery/server/internal/store"
)

// pausedEngine is an engine with a command of every sort that a pause knows.
func pausedEngine() (*Engine, *Session) {
	e := New(Config{State: store.New(), Commands: []Command{
		{Name: "read", Flags: ReadOnly}, {Name: "write", Flags: Write}, {Name: "wrote", Flags: ReadOnly | Wrote},
		{Name: "operate", Flags: Admin | Write}, {Name: "auth", Flags: NoAuth}, {Name: "exec", Flags: Immediate},
		{Name: "box", Subcommands: []Command{{Name: "look", Flags: ReadOnly}, {Name: "operate", Flags: Admin}}},
	}})
	return e, NewSession(1, "", "", time.Time{}, func() {})
}

// TestPauseHoldsBack asks which commands a pause holds back.
func TestPauseHoldsBack(t *testing.T) {
	e, s := pausedEngine()
	held := func() string {
		var all []string
		for _, line := range []string{"read", "WRITE", "wrote", "operate", "auth", "exec", "box look", "box operate", "box none", "none"} {
			c := callOf(nil, strings.Fields(line)...)
			if e.paused(s, &c) {
				all = append(all, line)
			}
		}
		return strings.Join(all, ", ")
	}
	x := &Context{e, s}
	for _, c := range []struct {
		name string
		do   func()
		want string
	}{
		{"no pause", func() {}, ""},
		{"a pause of all", func() { x.Pause(time.Hour, true) }, "read, WRITE, wrote, exec, box look"},
		{"a pause of writes", func() { x.Pause(time.Hour, false) }, "WRITE, wrote"},
		{"a transaction that writes", func() { s.queuedWrite = true }, "WRITE, wrote, exec"},
		{"inside a transaction", func() { s.alone = true }, ""},
		{"outside again", func() { s.alone = false }, "WRITE, wrote, exec"},
		{"no pause any more", x.Unpause, ""},
	} {
		if c.do(); held() != c.want {
			t.Errorf("%s holds back %q, want %q", c.name, held(), c.want)
		}
	}
}

// TestPauseEnds asks when a pause ends: at its time, at a later one if another was
// asked for meanwhile, never at an earlier one, and for good when the server ends.
func TestPauseEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, s := pausedEngine()
		x := &Context{e, s}
		mode := func(after time.Duration) uint32 {
			time.Sleep(after)
			synctest.Wait()
			return e.pause.mode.Load()
		}
		x.Pause(time.Second, true)
		if mode(time.Second-1) != pauseAll || mode(1) != pauseNone || e.pause.until() != nil {
			t.Error("a pause of a second does not end after a second")
		}
		x.Pause(time.Second, true)
		x.Pause(time.Millisecond, false)
		if mode(time.Second-1) != pauseWrites || mode(1) != pauseNone {
			t.Error("a shorter pause ends a longer one")
		}
		x.Pause(time.Second, true)
		x.Pause(time.Minute, true)
		if mode(time.Minute-1) != pauseAll || mode(1) != pauseNone {
			t.Error("a longer pause does not last")
		}
		x.Pause(time.Second, true)
		x.Unpause()
		x.Pause(time.Minute, true)
		if mode(2*time.Second) != pauseAll {
			t.Error("the end of a pause that was over ends another one")
		}
		e.EndPause()
		if x.Pause(time.Minute, true); mode(0) != pauseNone {
			t.Error("a pause begins while the server ends")
		}
	})
}

// TestWaitForPause asks that a connection waits while there is a pause, and is woken
// by its end, by another pause, and by whoever ends the connection.
func TestWaitForPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, s := pausedEngine()
		x := &Context{e, s}
		never := func() bool { return false }
		waits := func(ended func() bool, wake func()) bool {
			done := make(chan struct{})
			go func() { e.WaitPause(s, ended); close(done) }()
			synctest.Wait()
			waited := x.Waiting() == 1
			wake()
			<-done
			if x.Waiting() != 0 {
				t.Errorf("%d clients wait, and none does", x.Waiting())
			}
			return waited
		}
		if waits(never, func() {}) {
			t.Error("a client waits without a pause")
		}
		x.Pause(time.Hour, true)
		if waits(func() bool { return true }, func() {}) {
			t.Error("a client that was woken before waits")
		}
		s.Wake() // nobody waits: it is not kept for the next time
		for name, wake := range map[string]func(){
			"its time":          func() { time.Sleep(time.Hour) },
			"another pause":     func() { x.Pause(time.Hour, false) },
			"CLIENT UNPAUSE":    x.Unpause,
			"Wake":              s.Wake,
			"Wake, three times": func() { s.Wake(); s.Wake(); s.Wake() },
			"End":               s.End,
		} {
			x.Pause(time.Hour, true)
			began := time.Now()
			if !waits(never, wake) {
				t.Errorf("nobody waits for %s", name)
			}
			if took := time.Since(began); took > 0 && name != "its time" {
				t.Errorf("%s: the client waits for %v", name, took)
			}
		}
		e.EndPause()
	})
}
