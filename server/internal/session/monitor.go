package session

// What MONITOR shows.

import (
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// Limits of what MONITOR shows.
const (
	// monitorBytes is how much a monitor may be behind before it is dropped.
	monitorBytes = 4 << 20
	// monitorArgs and monitorArgBytes bound a line.
	monitorArgs     = 1024
	monitorArgBytes = 4 << 10
)

// Monitors are the clients that see all commands. list is nil if there are none:
// that is all that others look at.
//
// Safe for concurrent use.
type Monitors struct {
	list atomic.Pointer[[]*Monitor]
	mu   sync.Mutex // who changes list
}

// Monitor is the lines that a client which sees all commands has not got yet.
// Who adds one never waits: a monitor that is too far behind is dropped.
//
// Safe for concurrent use.
type Monitor struct {
	client *Client
	wake   chan struct{}
	done   chan struct{} // closed when it ends

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

// MonitorBytes is what the buffers of a monitor may take.
const MonitorBytes = 2 * monitorBytes

// Monitor returns what the client has to be sent as a monitor, nil if it is none.
func (c *Client) Monitor() *Monitor { return c.monitor.Load() }

// Any reports whether somebody sees all commands.
func (l *Monitors) Any() bool { return l.list.Load() != nil }

// Add makes a client see all commands.
func (l *Monitors) Add(c *Client) {
	m := &Monitor{client: c, wake: make(chan struct{}, 1), done: make(chan struct{})}
	c.monitor.Store(m)
	l.change(func(list []*Monitor) []*Monitor { return append(list, m) })
}

// Remove ends the monitor of a client. It reports false if it has none.
func (l *Monitors) Remove(c *Client) bool {
	m := c.monitor.Swap(nil)
	if m == nil {
		return false
	}
	m.end()
	l.remove(m)
	return true
}

func (l *Monitors) change(change func([]*Monitor) []*Monitor) {
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

func (l *Monitors) remove(m *Monitor) {
	l.change(func(list []*Monitor) []*Monitor {
		return slices.DeleteFunc(list, func(v *Monitor) bool { return v == m })
	})
}

// Feed shows a line to all monitors. Those that are too far behind are dropped.
func (l *Monitors) Feed(line []byte) {
	list := l.list.Load()
	if list == nil {
		return
	}
	for _, m := range *list {
		if !m.add(line) && m.end() {
			l.remove(m) // its session gives the memory back
			m.client.Kill()
		}
	}
}

// AppendLine appends what MONITOR shows of a command of so many arguments.
func AppendLine(b []byte, c *Client, at time.Time, args int, show Shown) []byte {
	micros := at.UnixMicro()
	b = fmt.Appendf(b, "+%d.%06d [0 %s]", micros/1e6, micros%1e6, c.Addr)
	for i := range args {
		b = append(b, ' ')
		if i == monitorArgs {
			b = appendQuoted(b, "... ("+strconv.Itoa(args-i)+" more arguments)")
			break
		}
		b = appendQuoted(b, show(i, monitorArgBytes))
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
