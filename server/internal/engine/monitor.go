package engine

// What MONITOR shows.

import (
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
)

// Limits of what MONITOR shows.
const (
	// monitorBytes is how much a monitor may be behind before it is dropped,
	// monitorHeld what its buffers may take.
	monitorBytes = 4 << 20
	monitorHeld  = 2 * monitorBytes
	// monitorArgs and monitorArgBytes bound a line.
	monitorArgs     = 1024
	monitorArgBytes = 4 << 10
)

// monitors are the sessions that see all commands. list is nil if there are none:
// that is all that others look at.
type monitors struct {
	list atomic.Pointer[[]*Monitor]
	mu   sync.Mutex // who changes list
}

// Monitor is the lines that a session which sees all commands has not got yet.
// Who adds one never waits: a monitor that is too far behind is dropped.
//
// Safe for concurrent use.
type Monitor struct {
	session *Session
	wake    chan struct{}
	done    chan struct{} // closed when it ends

	// mu guards what follows.
	mu    sync.Mutex
	lines []byte
	spare []byte
	out   int // bytes that Next has returned and that are not written yet
	ended bool
}

// Next waits for lines and returns them; they are valid until it is called again.
// It reports false when the monitor has ended.
func (m *Monitor) Next() ([]byte, bool) {
	m.mu.Lock()
	m.out = 0
	m.mu.Unlock()
	for {
		select {
		case <-m.done:
			return nil, false
		case <-m.wake:
		}
		m.mu.Lock()
		if len(m.lines) > 0 {
			lines := m.lines
			m.lines, m.spare, m.out = m.spare[:0], lines, len(lines)
			m.mu.Unlock()
			return lines, true
		}
		m.mu.Unlock()
	}
}

// add appends a line. It reports false if that is too much.
func (m *Monitor) add(line []byte) bool {
	m.mu.Lock()
	if m.ended {
		m.mu.Unlock()
		return true
	}
	if m.out+len(m.lines)+len(line) > monitorBytes {
		m.mu.Unlock()
		return false
	}
	m.lines = append(m.lines, line...)
	m.mu.Unlock()
	select {
	case m.wake <- struct{}{}:
	default:
	}
	return true
}

// end ends the monitor and reports whether it had not ended before.
func (m *Monitor) end() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ended {
		return false
	}
	m.ended, m.lines, m.spare = true, nil, nil
	close(m.done)
	return true
}

// Monitor makes the session see all commands. It reports false if there is no
// memory for that.
func (x *Context) Monitor() bool {
	if x.s.monitor.Load() != nil {
		return true
	}
	if !x.e.hold(x.s, monitorHeld) {
		x.e.hold(x.s, -monitorHeld)
		return false
	}
	m := &Monitor{session: x.s, wake: make(chan struct{}, 1), done: make(chan struct{})}
	x.s.monitor.Store(m)
	x.e.monitors.change(func(list []*Monitor) []*Monitor { return append(list, m) })
	return true
}

// Monitor returns what the session has to be sent as a monitor, nil if it is none.
func (s *Session) Monitor() *Monitor { return s.monitor.Load() }

// unmonitor ends the monitor of a session, if it has one.
func (e *Engine) unmonitor(s *Session) {
	m := s.monitor.Swap(nil)
	if m == nil {
		return
	}
	m.end()
	e.monitors.remove(m)
	e.hold(s, -monitorHeld)
}

func (l *monitors) change(change func([]*Monitor) []*Monitor) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var list []*Monitor
	if old := l.list.Load(); old != nil {
		list = slices.Clone(*old)
	}
	if list = change(list); len(list) == 0 {
		l.list.Store(nil)
		return
	}
	l.list.Store(&list)
}

func (l *monitors) remove(m *Monitor) {
	l.change(func(list []*Monitor) []*Monitor {
		return slices.DeleteFunc(list, func(v *Monitor) bool { return v == m })
	})
}

// feed shows calls that were run to the monitors. Those of operators are not
// shown, and secrets are left out.
func (e *Engine) feed(s *Session, calls []Call) {
	list := e.monitors.list.Load()
	if list == nil {
		return
	}
	var line []byte
	for i := range calls {
		c := &calls[i]
		if c.cmd == nil || c.queued || c.cmd.Flags&Admin != 0 {
			continue
		}
		line = appendLine(line[:0], s, c)
		for _, m := range *list {
			if !m.add(line) && m.end() {
				e.monitors.remove(m) // its session gives the memory back
				m.session.Kill()
			}
		}
	}
}

// appendLine appends what MONITOR shows of a call.
func appendLine(b []byte, s *Session, c *Call) []byte {
	micros := s.now.UnixMicro()
	b = fmt.Appendf(b, "+%d.%06d [0 %s]", micros/1e6, micros%1e6, s.Addr)
	for i := range c.Args {
		b = append(b, ' ')
		if i == monitorArgs {
			b = appendQuoted(b, "... ("+strconv.Itoa(len(c.Args)-i)+" more arguments)")
			break
		}
		b = appendQuoted(b, c.cmd.Show(c.Args, i, monitorArgBytes))
	}
	return append(b, "\r\n"...)
}

// appendQuoted appends a string in quotes; bytes that would spoil a line are
// escaped as Redis does.
func appendQuoted(b []byte, s string) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c == '\n':
			b = append(b, `\n`...)
		case c == '\r':
			b = append(b, `\r`...)
		case c == '\t':
			b = append(b, `\t`...)
		case c == '\a':
			b = append(b, `\a`...)
		case c == '\b':
			b = append(b, `\b`...)
		case c < ' ' || c > '~':
			b = append(b, '\\', 'x', hex[c>>4], hex[c&15])
		default:
			b = append(b, c)
		}
	}
	return append(b, '"')
}
