// Package web serves HTTP: probes, metrics, the JSON API and the page.
//
//	listener or mux ─► Handler ─► route ─► guard ─► call ─► engine
//
// Every request that has to do with data runs commands in a session of the engine,
// as a connection of the Redis protocol does: users, the memory budget, the slow
// log, MONITOR and the counters of commands hold for both.
//
// What there is stands in one table, [Handler.routes]; each file of the package has
// the routes of its subject. openapi.yaml describes the API, and a test holds both
// equal.
package web

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"sync"
	"time"

	"github.com/bloomery/bloomery/server/internal/engine"
)

// Config is what a Handler is made from.
type Config struct {
	// Engine runs commands; nil means that there is no server, only the page.
	Engine *engine.Engine
	// NewSession returns the session of a request: that of a client that has
	// connected and has not authenticated.
	NewSession func(remote, local string) *engine.Session
	// Ready returns why the server is not ready, nil if it is; nil means that it
	// always is.
	Ready func() error
	// Metrics serves /metrics; nil means that there are none.
	Metrics http.Handler
	// Token is the secret of Authorization: Bearer, "" for none.
	Token string
	// Admin allows requests that change something.
	Admin bool
	// Debug serves profiles and traces to requests with the token.
	Debug bool
	// Protected refuses anonymous requests of other machines while there is no
	// password.
	Protected bool
	// Hosts are names under which anonymous requests may reach the server,
	// besides those of loopback and addresses; "*" allows all.
	Hosts []string
	// Origins are those of other sites whose pages may read copies of filters, as
	// https://example.org; "*" allows all.
	Origins []string
	// Log receives what the handler reports; nil means nothing.
	Log *slog.Logger
	// Now returns the time; nil means time.Now.
	Now func() time.Time
}

// Handler answers requests. Make it with New, and end it with End and Wait before
// the engine goes.
//
// Safe for concurrent use.
type Handler struct {
	Config
	mux     *http.ServeMux
	methods []string // of all routes
	token   digest
	origin  *http.CrossOriginProtection
	slots   chan struct{} // taken by requests that run
	streams chan struct{} // taken by those of events
	turns   chan struct{} // taken by those that compute
	spaces  sync.Pool     // of *engine.Workspace
	recent  recent

	// mu guards ending, and active while it may still grow.
	mu     sync.Mutex
	ending bool
	active sync.WaitGroup // requests
	ended  chan struct{}  // closed when ending
}

const (
	// mostRunning is how many requests run at a time, mostStreams how many
	// clients have events.
	mostRunning = 64
	mostStreams = 64
)

// New returns a handler.
func New(c Config) *Handler {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Ready == nil {
		c.Ready = func() error { return nil }
	}
	h := &Handler{
		Config: c, mux: http.NewServeMux(), token: digestOf(c.Token), origin: http.NewCrossOriginProtection(),
		slots: make(chan struct{}, mostRunning), streams: make(chan struct{}, mostStreams), turns: make(chan struct{}, mostComputing), ended: make(chan struct{}),
	}
	h.spaces.New = func() any { return new(engine.Workspace) }
	h.register()
	return h
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	secure(w.Header())
	if !h.enter() {
		w.Header().Set("Connection", "close")
		writeProblem(w, problem{http.StatusServiceUnavailable, "ending", "the server is shutting down"})
		return
	}
	defer h.active.Done()
	defer h.rescue(w, r)
	if h.shared(w.Header(), r) && r.Method == http.MethodOptions {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	if _, pattern := h.mux.Handler(r); pattern == "" {
		h.unmatched(w, r)
		return
	}
	h.mux.ServeHTTP(w, r)
}

// enter counts a request. It reports false if the handler ends.
func (h *Handler) enter() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ending {
		return false
	}
	h.active.Add(1)
	return true
}

// End refuses requests from now on and ends the streams of events. It does not wait.
func (h *Handler) End() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.ending {
		h.ending = true
		close(h.ended)
	}
}

// Wait returns when all requests have ended: call End first.
func (h *Handler) Wait() { h.active.Wait() }

// rescue keeps a fault in one request from ending the server.
func (h *Handler) rescue(w http.ResponseWriter, r *http.Request) {
	v := recover()
	if v == nil {
		return
	}
	if err, ok := v.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(v) // for net/http: a response that was cut short
	}
	h.Log.Error("request failed", "client", r.RemoteAddr, "method", r.Method, "error", fmt.Sprint(v), "stack", string(debug.Stack()))
	writeProblem(w, problem{http.StatusInternalServerError, "internal", "internal error; the log of the server has the details"})
}

// secure sets the headers that every response has. Nothing is for other origins,
// for frames, or to be guessed at.
func secure(head http.Header) {
	head.Set("Content-Security-Policy", contentPolicy)
	head.Set("X-Content-Type-Options", "nosniff")
	head.Set("X-Frame-Options", "DENY")
	head.Set("Referrer-Policy", "no-referrer")
	head.Set("Cross-Origin-Resource-Policy", "same-origin")
	head.Set("Cross-Origin-Opener-Policy", "same-origin")
}

const contentPolicy = "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'"
