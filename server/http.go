package server

// The HTTP side: handler, listeners and limits.

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/refusal"
	"github.com/bloomery/bloomery/server/internal/web"
	"github.com/bloomery/bloomery/server/internal/web/metrics"
)

// Limits of HTTP clients. A client that is slow, or idle, keeps nothing but its
// connection, and not for long.
const (
	httpClients     = 1024
	httpHeaderBytes = 16 << 10
	httpHeaderTime  = 10 * time.Second
	httpRequestTime = 30 * time.Second
	httpAnswerTime  = time.Minute
	httpIdleTime    = time.Minute
)

// httpSide is what serves HTTP.
type httpSide struct {
	handler   *web.Handler
	current   atomic.Pointer[http.Handler] // what answers: handler, when the data is read
	server    *http.Server
	listeners []net.Listener
	serving   sync.WaitGroup // of listeners
}

// openHTTP binds the addresses of HTTP and begins to answer. Until there is a handler
// the answer is that the server starts.
func (s *Server) openHTTP() error {
	c := &s.config
	listeners, err := s.listenHTTP()
	if err != nil {
		return err
	}
	side := &s.http
	side.listeners = listeners
	starting := web.Starting(s.starting())
	side.current.Store(&starting)
	side.server = &http.Server{
		Handler: side, MaxHeaderBytes: httpHeaderBytes,
		ReadHeaderTimeout: min(httpHeaderTime, c.WriteTimeout), ReadTimeout: min(httpRequestTime, c.WriteTimeout),
		WriteTimeout: httpAnswerTime, IdleTimeout: httpIdleTime, ErrorLog: slog.NewLogLogger(c.Log.Handler(), slog.LevelDebug),
		ConnState: noteState,
		ConnContext: func(ctx context.Context, nc net.Conn) context.Context {
			return web.WithLocal(ctx, onLoopback(nc.RemoteAddr()))
		},
	}
	for _, l := range listeners {
		side.serving.Go(func() { side.serve(l, s.log) })
	}
	return nil
}

// newHandler returns what answers HTTP when the data is read.
func (s *Server) newHandler() *web.Handler {
	c := &s.config
	return web.New(web.Config{
		Engine: s.engine, NewSession: s.httpSession, Ready: s.ready, Metrics: metrics.Handler(s.engine, c.MetricsFilters), Token: c.HTTPToken, Admin: c.HTTPAdmin, Debug: c.HTTPDebug,
		Protected: c.ProtectedMode, Hosts: slices.Concat(c.HTTPHosts, c.httpNames()), Origins: c.HTTPOrigins, Log: c.Log, Now: c.Now,
	})
}

// ready has a handler answer from now on.
func (h *httpSide) ready(w *web.Handler) {
	h.handler = w
	answers := http.Handler(w)
	h.current.Store(&answers)
}

// ServeHTTP implements http.Handler.
func (h *httpSide) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	(*h.current.Load()).ServeHTTP(w, r)
}

// listenHTTP opens all addresses, or none.
func (s *Server) listenHTTP() ([]net.Listener, error) {
	var all []net.Listener
	for _, addr := range s.config.HTTP {
		l, err := s.config.listen("http", addr)
		if err != nil && s.config.HTTPMayMove {
			l, err = s.config.listenElsewhere(addr, err)
		}
		if err != nil {
			closeAll(all)
			if e, ok := errors.AsType[*PortError](err); ok {
				e.Hint = "choose another address for HTTP with --http HOST:PORT, or none with --http \"\""
			}
			return nil, err
		}
		bounded := net.Listener(&boundedListener{Listener: l, waiting: map[*boundedConn]time.Time{}})
		if l.secure {
			bounded = tlsListener{bounded, s}
		}
		all = append(all, bounded)
	}
	return all, nil
}

// listenElsewhere listens on a free port in place of one that is taken; else it
// returns err.
func (c *Config) listenElsewhere(addr string, err error) (listener, error) {
	e, failed := c.endpoint("http", addr)
	host, _, split := net.SplitHostPort(e.Address)
	if failed != nil || split != nil || e.Network != "tcp" || !errors.Is(err, syscall.EADDRINUSE) {
		return listener{}, err
	}
	l, failed := c.listen("http", strings.TrimSuffix(addr, e.Address)+net.JoinHostPort(host, "0"))
	if failed != nil {
		return listener{}, err
	}
	c.Log.Warn("the default port of HTTP is taken by another program: HTTP has another port", "wanted", addr, "http", urlOf(l.Addr(), l.secure))
	return l, nil
}

// urls returns where the page is: a browser opens it, and it shows whether /metrics has TLS.
func (h *httpSide) urls() string {
	all := make([]string, len(h.listeners))
	for i, l := range h.listeners {
		_, secure := l.(tlsListener)
		all[i] = urlOf(l.Addr(), secure)
	}
	return strings.Join(all, ",")
}

// urlOf returns the URL of an address, unix:PATH for a socket.
func urlOf(a net.Addr, secure bool) string {
	switch {
	case a.Network() == "unix":
		return unixPrefix + a.String()
	case secure:
		return "https://" + a.String()
	}
	return "http://" + a.String()
}

// httpNames returns the names among the addresses of HTTP.
func (c *Config) httpNames() (names []string) {
	for _, addr := range c.HTTP {
		e, err := c.endpoint("http", addr)
		host, _, _ := net.SplitHostPort(e.Address)
		if err == nil && e.Network == "tcp" && host != "" && net.ParseIP(host) == nil {
			names = append(names, host)
		}
	}
	return names
}

// Handler returns what answers HTTP requests: the probes /livez and /readyz,
// /metrics, the JSON API under /api/v1 and the page. The addresses of Config.HTTP
// serve it; a program can also mount it in a mux of its own, under a prefix with
// http.StripPrefix. It works from New on, and refuses requests when the server ends.
func (s *Server) Handler() http.Handler { return s.http.handler }

// HTTPAddr returns the first address that serves HTTP, nil if there is none. A port
// that was given as 0 is the one that was chosen.
func (s *Server) HTTPAddr() net.Addr {
	if len(s.http.listeners) == 0 {
		return nil
	}
	return s.http.listeners[0].Addr()
}

// httpSession returns the session of an HTTP request.
func (s *Server) httpSession(remote, local string) *engine.Session {
	s.mu.Lock()
	s.nextID++
	id := s.nextID
	s.mu.Unlock()
	session := engine.NewSession(id, remote, local, s.config.Now(), func() {})
	session.Authenticated = s.engine.Users.Open()
	return session
}

// ready returns why the server does not take reads and writes, nil if it does. Data
// is loaded by now.
func (s *Server) ready() error {
	select {
	case <-s.ended:
		return errors.New("the server is shutting down")
	default:
	}
	if err := s.door.Refuses(); err != nil {
		return fmt.Errorf("writes are refused: %s", refusal.Cause(err))
	}
	return nil
}

// serve answers the clients of a listener until that is closed.
func (h *httpSide) serve(l net.Listener, log *slog.Logger) {
	if err := h.server.Serve(l); !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
		log.Error("http ended", "addr", l.Addr().String(), "error", err)
	}
}

// endHTTP ends what answers HTTP in a server that did not start.
func (s *Server) endHTTP() {
	_ = s.http.server.Close()
	s.http.serving.Wait()
}

// drainHTTP ends all HTTP connections, those that answer a request when that is
// done, or when the time for it is over.
func (s *Server) drainHTTP() error {
	h := &s.http
	h.handler.End()
	if !s.abrupt.Load() {
		for _, l := range h.listeners {
			boundOf(l).closeWaiting()
		}
		ctx, cancel := context.WithTimeout(context.Background(), s.config.ShutdownTimeout)
		defer cancel()
		if err := h.server.Shutdown(ctx); err != nil {
			s.log.Warn("closing HTTP clients that did not take their replies in time")
		}
	}
	_ = h.server.Close()
	ended := make(chan struct{})
	go func() {
		h.handler.Wait()
		close(ended)
	}()
	if !within(killGrace, ended) {
		return errors.New("server: HTTP requests still run after all clients were closed")
	}
	return nil
}

// drainAll ends all connections of both protocols.
func (s *Server) drainAll() error {
	s.engine.Ends()
	drained := make(chan error, 1)
	go func() { drained <- s.drainHTTP() }()
	return errors.Join(s.drain(), <-drained)
}
