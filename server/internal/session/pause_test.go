package session

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestPauseEnds asks when a pause ends: at its time, at a later one if another was
// asked for meanwhile, never at an earlier one, and for good when the server ends.
func TestPauseEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p Pause
		mode := func(after time.Duration) uint32 {
			time.Sleep(after)
			synctest.Wait()
			return p.mode.Load()
		}
		p.Begin(time.Second, true)
		if mode(time.Second-1) != pauseAll || mode(1) != pauseNone || p.until() != nil {
			t.Error("a pause of a second does not end after a second")
		}
		p.Begin(time.Second, true)
		p.Begin(time.Millisecond, false)
		if mode(time.Second-1) != pauseWrites || mode(1) != pauseNone {
			t.Error("a shorter pause ends a longer one")
		}
		p.Begin(time.Second, true)
		p.Begin(time.Minute, true)
		if mode(time.Minute-1) != pauseAll || mode(1) != pauseNone {
			t.Error("a longer pause does not last")
		}
		p.Begin(time.Second, true)
		p.End(false)
		p.Begin(time.Minute, true)
		if mode(2*time.Second) != pauseAll {
			t.Error("the end of a pause that was over ends another one")
		}
		p.End(true)
		if p.Begin(time.Minute, true); mode(0) != pauseNone {
			t.Error("a pause begins while the server ends")
		}
	})
}

// TestWaitForPause asks that a connection waits while there is a pause, and is woken
// by its end, by another pause, and by whoever ends the connection.
func TestWaitForPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p Pause
		var s Client
		never := func() bool { return false }
		waits := func(ended func() bool, wake func()) bool {
			done := make(chan struct{})
			go func() { p.Wait(&s, ended); close(done) }()
			synctest.Wait()
			waited := p.Waiting() == 1
			wake()
			<-done
			if p.Waiting() != 0 {
				t.Errorf("%d clients wait, and none does", p.Waiting())
			}
			return waited
		}
		if waits(never, func() {}) {
			t.Error("a client waits without a pause")
		}
		p.Begin(time.Hour, true)
		if waits(func() bool { return true }, func() {}) {
			t.Error("a client that was woken before waits")
		}
		s.Wake() // nobody waits: it is not kept for the next time
		for name, wake := range map[string]func(){
			"its time":          func() { time.Sleep(time.Hour) },
			"another pause":     func() { p.Begin(time.Hour, false) },
			"CLIENT UNPAUSE":    func() { p.End(false) },
			"Wake":              s.Wake,
			"Wake, three times": func() { s.Wake(); s.Wake(); s.Wake() },
			"End":               s.End,
		} {
			p.Begin(time.Hour, true)
			began := time.Now()
			if !waits(never, wake) {
				t.Errorf("nobody waits for %s", name)
			}
			if took := time.Since(began); took > 0 && name != "its time" {
				t.Errorf("%s: the client waits for %v", name, took)
			}
		}
		p.End(true)
	})
}
