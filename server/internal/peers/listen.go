package peers

// Connections of other nodes.

import (
	"bufio"
	"context"
	"errors"
	"net"
	"time"
)

const (
	// mostGreeting bounds handshakes at a time. Another one ends the oldest, so strangers who
	// do not finish theirs keep nobody out.
	mostGreeting = 64
	// mostLines bounds connections of others.
	mostLines = 1024
)

// accept takes connections of others until the node is closed.
func (n *Node) accept() {
	for {
		conn, err := n.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // there may be no file for it: that passes
			select {
			case <-n.closed.Done():
				return
			case <-time.After(retryFirst):
				continue
			}
		}
		if place, ok := n.begin(conn); ok {
			n.tasks.Go(func() { n.serve(conn, place) })
		}
	}
}

// begin gives a connection a place among the handshakes, and ends the one that has had it for
// longest.
func (n *Node) begin(conn net.Conn) (place uint64, ok bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed.Err() != nil {
		_ = conn.Close()
		return 0, false
	}
	place = n.greeted % mostGreeting
	n.greeted++
	if old := n.greeting[place]; old != nil {
		_ = old.Close()
	}
	n.greeting[place] = conn
	return place, true
}

// serve answers a node until its connection ends.
func (n *Node) serve(raw net.Conn, place uint64) {
	ctx, cancel := context.WithTimeout(n.closed, greetIn)
	defer cancel()
	_ = raw.SetDeadline(time.Now().Add(greetIn))
	conn, from, err := n.meet(ctx, raw)
	n.mu.Lock()
	greeting := n.greeting[place] == raw
	if greeting {
		n.greeting[place] = nil
	}
	// A handshake that lost its place, or came too late, is over.
	if err != nil || !greeting || n.closed.Err() != nil {
		n.mu.Unlock()
		_ = raw.Close()
		if err != nil {
			n.config.Slog.Debug("a connection was refused", "part", "peers", "from", raw.RemoteAddr().String(), "error", err)
		}
		return
	}
	_ = raw.SetDeadline(time.Time{})
	a := newAnswerer(from, n.answer)
	a.init(conn, raw, &n.count)
	n.lines[a] = true
	n.mu.Unlock()
	n.meets(from)
	n.tasks.Go(a.write)
	a.readers.Go(func() { a.readOn(&reader{bufio.NewReaderSize(conn, readBytes)}) })
	a.readers.Wait()
	a.running.Wait()
	n.mu.Lock()
	delete(n.lines, a)
	n.mu.Unlock()
}
