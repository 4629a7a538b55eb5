package engine

// CLIENT PAUSE.

import (
	"sync"
	"sync/atomic"
	"time"
)

// What a pause holds back.
const (
	pauseNone   = iota
	pauseWrites // commands that write
	pauseAll    // all but those of operators
)

// pause holds commands of clients back for some time. Nobody waits inside the
// engine: Exec stops in front of a command that is held back, and the connection
// waits, outside of all locks.
//
// Safe for concurrent use.
type pause struct {
	mode    atomic.Uint32
	waiting atomic.Int64 // connections

	// mu guards what follows, and changes of mode.
	mu      sync.Mutex
	end     time.Time     // by a clock that nobody sets
	changed chan struct{} // closed when the pause ends or becomes another
	timer   *time.Timer
	over    bool // for good: the server ends
}

// begin pauses for so long, at least. A pause that is there becomes what mode
// says, and ends no earlier than it would have.
func (p *pause) begin(mode uint32, d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over {
		return
	}
	if end := time.Now().Add(d); p.changed == nil || end.After(p.end) {
		p.end = end
	}
	p.wake()
	p.changed = make(chan struct{})
	p.mode.Store(mode)
	if p.timer != nil {
		p.timer.Stop()
	}
	p.timer = time.AfterFunc(time.Until(p.end), p.expire)
}

// wake lets those who wait look again. The caller holds mu.
func (p *pause) wake() {
	if p.changed != nil {
		close(p.changed)
		p.changed = nil
	}
}

// expire ends a pause whose time has passed.
func (p *pause) expire() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.changed != nil && !time.Now().Before(p.end) {
		p.mode.Store(pauseNone)
		p.wake()
	}
}

// finish ends the pause, for good if the server ends.
func (p *pause) finish(over bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.over = p.over || over
	p.mode.Store(pauseNone)
	if p.timer != nil {
		p.timer.Stop()
	}
	p.wake()
}

// until returns what is closed when the pause ends or becomes another, nil if
// there is none.
func (p *pause) until() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.changed
}

// paused reports whether a call is held back at present. Operators are not, so
// that they can end the pause, and neither is who gives a password.
func (e *Engine) paused(s *Session, c *Call) bool {
	mode := e.pause.mode.Load()
	if mode == pauseNone || s.alone {
		return false
	}
	cmd := e.table.resolve(c.Args)
	if cmd == nil || cmd.Flags&(Admin|NoAuth) != 0 {
		return false
	}
	return mode == pauseAll || cmd.writes() || cmd.Name == "exec" && s.queuedWrite
}

// EndPause ends a pause of clients, and lets no other begin: the server ends.
func (e *Engine) EndPause() { e.pause.finish(true) }

// WaitPause returns when the pause that has made Exec stop ends or becomes
// another, or when Wake is called for the session. ended reports whether Wake was
// called before.
func (e *Engine) WaitPause(s *Session, ended func() bool) {
	changed := e.pause.until()
	if changed == nil {
		return
	}
	wake := make(chan struct{}, 1)
	s.wake.Store(&wake)
	defer s.wake.Store(nil)
	if ended() {
		return
	}
	e.pause.waiting.Add(1)
	defer e.pause.waiting.Add(-1)
	select {
	case <-changed:
	case <-wake:
	}
}

// Wake ends a wait of the session for the end of a pause. Any goroutine may call
// it; it does not wait.
func (s *Session) Wake() {
	if wake := s.wake.Load(); wake != nil {
		select {
		case *wake <- struct{}{}:
		default:
		}
	}
}

// End has no further call of the session run, but those of a transaction that has
// begun: its client is gone. Any goroutine may call it; it does not wait.
func (s *Session) End() {
	s.ended.Store(true)
	s.Wake()
}

// Pause holds the commands of clients back for so long: all of them, or those
// that write.
func (x *Context) Pause(d time.Duration, all bool) {
	mode := uint32(pauseWrites)
	if all {
		mode = pauseAll
	}
	x.e.pause.begin(mode, d)
}

// Unpause ends a pause.
func (x *Context) Unpause() { x.e.pause.finish(false) }

// Waiting returns how many clients wait for the end of a pause.
func (x *Context) Waiting() int64 { return x.e.pause.waiting.Load() }
