package server

// How a connection sends what MONITOR shows.

import (
	"github.com/bloomery/bloomery/server/internal/session"
)

// startStream begins to send what a monitor sees, if the client has become one.
// The reply to MONITOR is written.
func (c *conn) startStream() {
	m := c.session.Monitor()
	if m == nil || m == c.monitor {
		return
	}
	c.monitor = m
	c.streaming.Store(true)
	c.server.wg.Go(func() { c.stream(m) })
}

// stream sends lines to a monitor, between its replies. A client that does not
// take them is dropped by the engine when they are too many.
func (c *conn) stream(m *session.Monitor) {
	for {
		lines, ok := m.Next()
		if !ok {
			return
		}
		c.writing.Lock()
		n, err := c.send(lines)
		c.writing.Unlock()
		c.out.Add(int64(n))
		if err != nil {
			c.kill()
			return
		}
	}
}
