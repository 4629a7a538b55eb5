package session

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

// Pause holds commands of clients back for some time. Nobody waits inside the
// engine: Exec stops in front of a command that is held back, and the connection
// waits, outside of all locks.
//
// Safe for concurrent use.
type Pause struct {
	mode    atomic.Uint32
	waiting atomic.Int64 // connections

	// mu guards what follows, and changes of mode.
	mu      sync.Mutex
	end     time.Time     // by a clock that nobody sets
	changed chan struct{} // closed when the pause ends or becomes another
	timer   *time.Timer
	over    bool // for good: the server ends
}

// Begin holds back all commands of clients, or those that write, for so long at least. A
// pause that is there becomes what the new one is, and ends no earlier than it would have.
func (p *Pause) Begin(d time.Duration, all bool) {
	mode := uint32(pauseWrites)
	if all {
		mode = pauseAll
	}
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
func (p *Pause) wake() {
	if p.changed != nil {
		close(p.changed)
		p.changed = nil
	}
}

// expire ends a pause whose time has passed.
func (p *Pause) expire() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.changed != nil && !time.Now().Before(p.end) {
		p.mode.Store(pauseNone)
		p.wake()
	}
}

// End ends the pause, for good if the server ends.
func (p *Pause) End(over bool) {
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
func (p *Pause) until() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.changed
}

// Any reports whether there is a pause at present.
func (p *Pause) Any() bool { return p.mode.Load() != pauseNone }

// Holds reports whether a command is held back at present that writes, or does not.
func (p *Pause) Holds(writes bool) bool {
	mode := p.mode.Load()
	return mode == pauseAll || mode == pauseWrites && writes
}

// Waiting returns how many clients wait for the end of a pause.
func (p *Pause) Waiting() int64 { return p.waiting.Load() }

// Wait returns when the pause that holds a client back ends or becomes another, or when
// Wake is called for the client. ended reports whether Wake was called before.
func (p *Pause) Wait(c *Client, ended func() bool) {
	changed := p.until()
	if changed == nil {
		return
	}
	wake := make(chan struct{}, 1)
	c.wake.Store(&wake)
	defer c.wake.Store(nil)
	if ended() {
		return
	}
	p.waiting.Add(1)
	defer p.waiting.Add(-1)
	select {
	case <-changed:
	case <-wake:
	}
}

// Wake ends a wait of the client for the end of a pause. Any goroutine may call
// it; it does not wait.
func (c *Client) Wake() {
	if wake := c.wake.Load(); wake != nil {
		select {
		case *wake <- struct{}{}:
		default:
		}
	}
}
