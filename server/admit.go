package server

// How clients come in: accept, Dial, and refusals.

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	"github.com/bloomery/bloomery/internal/resp"
	"github.com/bloomery/bloomery/server/internal/engine"
)

const (
	textDenied = "-DENIED bloomery is running in protected mode: no password is set, so only clients on this machine may connect. " +
		"Set a password (--password), or turn protected mode off (--protected-mode=false) if the network is trusted.\r\n"
	textTooMany = "-ERR max number of clients reached\r\n"
)

// accept takes clients until the listener is closed.
func (s *Server) accept(l listener) {
	for wait := time.Duration(0); ; {
		nc, err := l.Accept()
		if err == nil {
			wait = 0
			s.admit(nc, l.secure)
			continue
		}
		if errors.Is(err, net.ErrClosed) {
			return
		}
		// Out of file descriptors, most likely: wait, clients may leave.
		wait = min(max(2*wait, 5*time.Millisecond), time.Second)
		s.log.Warn("accept failed", "error", err, "retry", wait)
		if within(wait, s.ended) {
			return
		}
	}
}

// Dial connects to the server within the process, whatever addresses it listens
// on. It works from New on, before Serve too, and fails when the server ends.
func (s *Server) Dial(context.Context) (net.Conn, error) {
	ours, theirs, err := connected()
	if err != nil {
		return nil, fmt.Errorf("server: dial: %w", err)
	}
	select {
	case <-s.ended:
		_ = ours.Close()
		_ = theirs.Close()
		return nil, fmt.Errorf("server: dial: %w", net.ErrClosed)
	default:
	}
	s.admit(ours, false)
	return theirs, nil
}

// admit starts a connection, with TLS if it is secure, or answers why not.
func (s *Server) admit(nc net.Conn, secure bool) {
	s.accepted.Add(1)
	c := &conn{server: s, nc: nc}
	if secure {
		c.tls = newTLSLayer(c, s.tlsConfig())
	} else if s.onlyLocal(nc) {
		s.refuse(c, textDenied)
		return
	}
	s.mu.Lock()
	ok := !s.closing && int64(len(s.conns)) < s.settings.MaxClients.Load()
	var displaced *conn
	if ok && secure {
		displaced, ok = s.queueHandshake(c)
	}
	if !ok {
		s.mu.Unlock()
		s.refuse(c, textTooMany)
		return
	}
	s.nextID++
	c.session = engine.NewSession(s.nextID, nc.RemoteAddr().String(), nc.LocalAddr().String(), s.config.Now(), c.kill)
	c.session.Authenticated, c.session.Gone = s.engine.Users.Open(), c.gone
	c.session.OnWake(c.wake)
	c.parser = resp.Parser{MaxLength: s.config.MaxQuery, Guest: !c.session.Authenticated, Room: maxArgs}
	s.conns[s.nextID] = c
	s.wg.Add(1)
	s.mu.Unlock()
	go c.serve()
	if displaced != nil {
		s.log.Debug("client closed", "client", displaced.session.Addr, "reason", "its handshake makes room for that of another")
		displaced.kill()
	}
}

// refuse ends a connection that has not begun. One with TLS gets no reason: that
// would take a handshake.
func (s *Server) refuse(c *conn, text string) {
	s.rejected.Add(1)
	s.log.Debug("client refused", "client", c.nc.RemoteAddr().String(), "reason", text[1:len(text)-2])
	if c.tls == nil {
		_ = c.nc.SetWriteDeadline(time.Now().Add(time.Second))
		_, _ = c.nc.Write([]byte(text))
	}
	_ = c.nc.Close()
}

// onlyLocal reports whether protected mode refuses a client because it is on another
// machine and nobody would ask it who it is.
func (s *Server) onlyLocal(nc net.Conn) bool {
	return s.config.ProtectedMode && s.engine.Users.Open() && !onLoopback(nc.RemoteAddr())
}

// warnOfRefusals warns at the start if protected mode will refuse clients of other machines.
func (s *Server) warnOfRefusals() {
	if !s.config.ProtectedMode || !s.engine.Users.Open() || s.config.TLSAuthClients == tls.RequireAndVerifyClientCert {
		return
	}
	var open []listener
	for _, l := range s.listeners {
		if !onLoopback(l.Addr()) {
			open = append(open, l)
		}
	}
	if len(open) > 0 {
		s.log.Warn("clients of other machines are refused, since there is no password: set one (--password, BLOOMERY_PASSWORD or --acl-file), or let everyone in with --protected-mode=false",
			"addr", addresses(open))
	}
}

func onLoopback(a net.Addr) bool {
	t, ok := a.(*net.TCPAddr)
	return !ok || t.IP.IsLoopback()
}

// drop closes a connection that has ended. Its own goroutine calls it.
func (s *Server) drop(c *conn) {
	_ = c.nc.Close()
	c.release()
	s.engine.Close(c.session)
	s.pastIn.Add(c.in.Load())
	s.pastOut.Add(c.out.Load())
	s.mu.Lock()
	delete(s.conns, c.session.ID)
	s.mu.Unlock()
	s.wg.Done()
}

// connections returns all connections, in the order in which they came.
func (s *Server) connections() []*conn {
	s.mu.Lock()
	all := make([]*conn, 0, len(s.conns))
	for _, c := range s.conns {
		all = append(all, c)
	}
	s.mu.Unlock()
	slices.SortFunc(all, func(a, b *conn) int { return int(a.session.ID - b.session.ID) })
	return all
}
