package server

// What clients are answered while a server reads its data.

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/bloomery/bloomery/internal/resp"
	"github.com/bloomery/bloomery/server/internal/answer"
)

// Why a server that starts answers nothing else.
const (
	whyLoading = "the server is starting: it reads its data"
	whyJoining = "this node is starting: it answers when it has all that its cluster has"
)

const (
	// lobbyClients is how many clients are kept until the server is ready. Further ones
	// are answered and closed.
	lobbyClients = 1024
	// lobbyBytes bounds a command, which has to be read whole to be answered.
	lobbyBytes = 64 << 10
	// lobbyReplies is how many bytes of answers are gathered before they are sent: one
	// to a command of two bytes is long.
	lobbyReplies = 16 << 10
	// lobbyWrite is how long a client may take to read its answers.
	lobbyWrite = time.Second
)

// lobby has the clients that come while the server reads its data. Every command is
// answered with LOADING, as by Redis, so that clients know that they can come back. It
// knows nothing of users and data: there are none yet. When the server is ready,
// connections go on as if they had come then; those with TLS are closed, since what
// is agreed on cannot be handed over.
type lobby struct {
	server *Server
	answer []byte
	tasks  sync.WaitGroup // those that accept, and one for each client

	// mu guards what follows.
	mu      sync.Mutex
	over    bool
	clients map[net.Conn]bool
	left    []guest // whoever is still there in the end
}

// starting is why the server is not ready yet.
func (s *Server) starting() string {
	if s.config.Cluster != nil {
		return whyJoining
	}
	return whyLoading
}

// openLobby takes the clients of all listeners, until close is called.
func (s *Server) openLobby() *lobby {
	l := &lobby{server: s, answer: resp.AppendError(nil, "LOADING "+s.starting()), clients: map[net.Conn]bool{}}
	for _, from := range s.listeners {
		l.tasks.Go(func() { l.accept(from) })
	}
	return l
}

// close ends the lobby. Whoever is there is a client of the server from now on, or, if
// that did not start, is sent away.
func (l *lobby) close(started bool) {
	l.mu.Lock()
	l.over = true
	for nc := range l.clients {
		_ = nc.SetReadDeadline(longAgo)
	}
	l.mu.Unlock()
	l.interrupt(longAgo)
	l.tasks.Wait()
	l.interrupt(time.Time{})
	for _, g := range l.left {
		if !started {
			_ = g.nc.Close()
			continue
		}
		_ = g.nc.SetDeadline(time.Time{})
		l.server.admit(g)
	}
}

// interrupt sets when Accept of the listeners gives up.
func (l *lobby) interrupt(at time.Time) {
	for _, from := range l.server.listeners {
		if d, ok := from.Listener.(interface{ SetDeadline(t time.Time) error }); ok {
			_ = d.SetDeadline(at)
		}
	}
}

// accept takes the clients of a listener.
func (l *lobby) accept(from listener) {
	for {
		nc, err := from.Accept()
		if err == nil {
			l.take(guest{nc: nc, secure: from.secure})
			continue
		}
		if errors.Is(err, net.ErrClosed) || l.ended() {
			return
		}
		time.Sleep(5 * time.Millisecond) // out of file descriptors, most likely
	}
}

func (l *lobby) ended() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.over
}

// take answers a client in a goroutine of its own, if there is room for it.
func (l *lobby) take(g guest) {
	if l.keeps(g) {
		return
	}
	if !g.secure {
		_ = l.write(g.nc, l.answer)
	}
	_ = g.nc.Close()
}

// keeps reports whether a client can stay.
func (l *lobby) keeps(g guest) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.over:
		l.left = append(l.left, g)
	case len(l.clients) >= lobbyClients:
		return false
	default:
		l.clients[g.nc] = true
		l.tasks.Go(func() { l.serve(g) })
	}
	return true
}

// serve answers a client until it leaves or the lobby ends.
func (l *lobby) serve(g guest) {
	stays := false
	if g.secure {
		l.serveTLS(g.nc)
	} else {
		g.rest, stays = l.talk(g.nc)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.clients, g.nc)
	if stays {
		l.left = append(l.left, g)
	} else {
		_ = g.nc.Close()
	}
}

func (l *lobby) serveTLS(nc net.Conn) {
	l.readUntil(nc, time.Now().Add(handshakeMost))
	secure := tls.Server(nc, l.server.tlsConfig())
	defer secure.Close() //nolint:errcheck // the client has gone, or is sent away
	_ = nc.SetWriteDeadline(time.Now().Add(handshakeMost))
	if secure.Handshake() != nil {
		return
	}
	l.readUntil(nc, time.Time{})
	_, _ = l.talk(secure)
}

// readUntil sets the deadline of reads, unless they have to end now.
func (l *lobby) readUntil(nc net.Conn, at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.over {
		_ = nc.SetReadDeadline(at)
	}
}

// talk answers commands. It returns what has come of one that is not whole, and whether
// the client is still there.
func (l *lobby) talk(nc net.Conn) (rest []byte, stays bool) {
	var p resp.Parser
	var args [][]byte
	var out []byte
	for {
		if len(rest) >= lobbyBytes {
			l.dismiss(nc, l.answer) // to what is too long to wait for
			return nil, false
		}
		rest = slices.Grow(rest, 4<<10)
		n, err := nc.Read(rest[len(rest):cap(rest)])
		rest = rest[:len(rest)+n]
		out = out[:0]
		at := 0
		for {
			found, n, err := p.Next(rest[at:], args[:0])
			if err != nil {
				l.dismiss(nc, resp.AppendError(out, "ERR Protocol error: "+err.Error()))
				return nil, false
			}
			if n == 0 {
				break
			}
			at += n
			if args = found; len(args) == 0 {
				continue
			}
			if answer.Is(args[0], "quit") {
				_ = l.write(nc, resp.AppendStatus(out, "OK"))
				return nil, false
			}
			if out = append(out, l.answer...); len(out) >= lobbyReplies {
				if l.write(nc, out) != nil {
					return nil, false
				}
				out = out[:0]
			}
		}
		rest = slices.Delete(rest, 0, at)
		if len(out) > 0 && l.write(nc, out) != nil {
			return nil, false
		}
		if err != nil {
			return rest, errors.Is(err, os.ErrDeadlineExceeded) && l.ended()
		}
	}
}

// dismiss sends a last answer. What the client still sends is discarded, for a moment:
// closing a socket with unread data would destroy the answer on its way.
func (l *lobby) dismiss(nc net.Conn, answer []byte) {
	_ = l.write(nc, answer)
	closeWrite(nc)
	l.readUntil(nc, time.Now().Add(time.Second))
	_, _ = io.CopyN(io.Discard, nc, 64<<20)
}

func (l *lobby) write(nc net.Conn, b []byte) error {
	_ = nc.SetWriteDeadline(time.Now().Add(lobbyWrite))
	_, err := nc.Write(b)
	return err
}
