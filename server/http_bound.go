package server

// The bound on HTTP clients, and how idle ones make room.

import (
	"crypto/tls"
	"net"
	"net/http"
	"sync"
	"time"
)

const textBusyHTTP = "HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain\r\nContent-Length: 16\r\nConnection: close\r\n\r\ntoo many clients"

// boundedListener bounds the clients of an address. While there are too many, one that
// has been waited for longest makes room for a new one: clients that keep connections
// and ask for nothing cannot keep probes and people out. If all of them are being
// answered, new ones are refused.
type boundedListener struct {
	net.Listener

	// mu guards what follows.
	mu      sync.Mutex
	open    int
	waiting map[*boundedConn]time.Time // since when a request is waited for
}

// Accept implements net.Listener.
func (l *boundedListener) Accept() (net.Conn, error) {
	for {
		nc, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if c := l.admit(nc); c != nil {
			return c, nil
		}
		_ = nc.SetWriteDeadline(time.Now().Add(time.Second))
		_, _ = nc.Write([]byte(textBusyHTTP))
		_ = nc.Close()
	}
}

// admit counts a client and returns it, nil if there is no room.
func (l *boundedListener) admit(nc net.Conn) *boundedConn {
	l.mu.Lock()
	if l.open >= httpClients {
		stuck := l.longest(time.Now())
		if stuck == nil {
			l.mu.Unlock()
			return nil
		}
		defer func() { _ = stuck.Close() }()
		delete(l.waiting, stuck)
	}
	l.open++
	l.mu.Unlock()
	return &boundedConn{Conn: nc, from: l}
}

// longest returns the client that has been waited for longest, nil if that is not
// long. The caller holds mu.
func (l *boundedListener) longest(now time.Time) (c *boundedConn) {
	first := now.Add(-stuckAfter)
	for other, since := range l.waiting {
		if since.Before(first) {
			c, first = other, since
		}
	}
	return c
}

// closeWaiting closes the connections whose request has not arrived: a shutdown does
// not wait for them.
func (l *boundedListener) closeWaiting() {
	l.mu.Lock()
	var all []*boundedConn
	for c := range l.waiting {
		all = append(all, c)
	}
	l.mu.Unlock()
	for _, c := range all {
		_ = c.Close()
	}
}

// boundOf returns what bounds the clients of a listener of HTTP.
func boundOf(l net.Listener) *boundedListener {
	if t, ok := l.(tlsListener); ok {
		l = t.Listener
	}
	return l.(*boundedListener)
}

// boundedConn is a connection that counts until it is closed.
type boundedConn struct {
	net.Conn
	from *boundedListener
	once sync.Once
}

// Close implements net.Conn.
func (c *boundedConn) Close() error {
	c.once.Do(func() {
		c.from.mu.Lock()
		defer c.from.mu.Unlock()
		c.from.open--
		delete(c.from.waiting, c)
	})
	return c.Conn.Close()
}

// noteState notes which connections wait for a request. A handshake, and a head that
// has not arrived whole, are part of the wait.
func noteState(nc net.Conn, state http.ConnState) {
	if t, ok := nc.(*tls.Conn); ok {
		nc = t.NetConn()
	}
	c := nc.(*boundedConn)
	c.from.mu.Lock()
	defer c.from.mu.Unlock()
	if state == http.StateNew || state == http.StateIdle {
		c.from.waiting[c] = time.Now()
	} else {
		delete(c.from.waiting, c)
	}
}
