// Package server is the Redis protocol on TCP: listeners, connections, limits
// and shutdown. It wires the engine of package command to connections and writes
// its replies with package resp.
package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bloomery/bloomery/server/internal/command"
	"github.com/bloomery/bloomery/server/internal/door/local"
	"github.com/bloomery/bloomery/server/internal/store"
)

// How often the server looks after its connections and its keys.
const (
	patrolEvery = time.Second
	sweepEvery  = 100 * time.Millisecond
	sweepMost   = 1000
)

const deniedText = "-DENIED bloomery is running in protected mode: no password is set, so only clients on this machine may connect. " +
	"Set a password (--password), or turn protected mode off (--protected-mode=false) if the network is trusted.\r\n"

// Server serves clients. Make it with New.
type Server struct {
	config   Config
	log      *slog.Logger
	settings *command.Settings
	engine   *command.Engine
	door     *local.Door
	started  time.Time
	buffers  bufferPool

	mu      sync.Mutex
	conns   map[int64]*conn
	nextID  int64
	closing bool
	wg      sync.WaitGroup

	port     atomic.Int64
	accepted atomic.Int64
	rejected atomic.Int64
	bytesIn  atomic.Int64
	bytesOut atomic.Int64
}

var _ command.Host = (*Server)(nil)

// New returns a server that holds no data and listens to nobody yet.
func New(c Config) (*Server, error) {
	c, err := c.complete()
	if err != nil {
		return nil, err
	}
	state := store.New()
	d, err := openDoor(&c, state)
	if err != nil {
		return nil, err
	}
	s := &Server{
		config: c, log: c.Log, door: d, started: time.Now(), conns: map[int64]*conn{},
		settings: command.NewSettings(c.Defaults, c.Password),
	}
	s.settings.Server = c.parameters()
	s.settings.MaxClients.Store(int64(c.MaxClients))
	s.settings.Timeout.Store(int64(c.IdleTimeout / time.Second))
	s.engine = command.New(command.Config{
		State: state, Door: d, Keeper: d, Host: s, Settings: s.settings, MaxMemory: c.MaxMemory,
	})
	return s, nil
}

// openDoor opens the folder of c and fills state with what it holds.
func openDoor(c *Config, state *store.State) (*local.Door, error) {
	dc := local.Config{State: state, Log: c.Log}
	if c.Dir == "" {
		return local.Open(dc)
	}
	var err error
	if dc.Fsync, err = local.ParseFsync(c.Fsync); err != nil {
		return nil, err
	}
	disk, err := local.OpenDisk(c.Dir)
	if err != nil {
		return nil, err
	}
	dc.Files = disk
	return local.Open(dc)
}

// Listen opens the address of the configuration. The error of a taken port says
// which setting to change.
func (s *Server) Listen(ctx context.Context) (net.Listener, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", s.config.Addr)
	if err != nil {
		return nil, listenError(s.config.Addr, err)
	}
	if a, ok := l.Addr().(*net.TCPAddr); ok {
		s.port.Store(int64(a.Port))
	}
	return l, nil
}

// Close closes the data of a server that will not serve after all.
func (s *Server) Close() error { return s.door.Close() }

// Serve accepts clients until ctx ends, then lets those that are at work finish
// and returns nil.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	s.log.Info("ready", "addr", l.Addr().String(), "max-memory", s.config.MaxMemory, "version", s.config.Version, "pid", os.Getpid())
	// Filters are freed by the garbage collector; without this the heap may
	// grow to twice the data before it runs.
	debug.SetMemoryLimit(s.config.MaxMemory + s.config.MaxMemory/8 + 64<<20)
	patrol, stop := context.WithCancel(context.WithoutCancel(ctx))
	var background sync.WaitGroup
	background.Go(func() { s.patrol(patrol) })
	background.Go(func() { s.sweep(patrol) })
	closer := context.AfterFunc(ctx, func() { _ = l.Close() })
	defer closer()

	s.accept(l)
	_ = l.Close()
	s.drain()
	stop()
	background.Wait()
	s.log.Info("stopped")
	return s.door.Close()
}

// accept takes clients until the listener is closed.
func (s *Server) accept(l net.Listener) {
	for wait := time.Duration(0); ; {
		nc, err := l.Accept()
		if err == nil {
			wait = 0
			s.admit(nc)
			continue
		}
		if errors.Is(err, net.ErrClosed) {
			return
		}
		// Out of file descriptors, most likely: wait, clients may leave.
		wait = min(max(2*wait, 5*time.Millisecond), time.Second)
		s.log.Warn("accept failed", "error", err, "retry", wait)
		time.Sleep(wait)
	}
}

// admit starts a connection, or says why not.
func (s *Server) admit(nc net.Conn) {
	s.accepted.Add(1)
	if s.config.ProtectedMode && s.settings.Password() == "" && !onLoopback(nc.RemoteAddr()) {
		s.refuse(nc, deniedText)
		return
	}
	s.mu.Lock()
	if s.closing || int64(len(s.conns)) >= s.settings.MaxClients.Load() {
		s.mu.Unlock()
		s.refuse(nc, "-ERR max number of clients reached\r\n")
		return
	}
	s.nextID++
	c := &conn{server: s, nc: nc}
	c.session = command.NewSession(s.nextID, nc.RemoteAddr().String(), nc.LocalAddr().String(), time.Now(), c.kill)
	c.session.Authenticated = s.settings.Password() == ""
	c.parser = resetParser(s.config.MaxQuery, !c.session.Authenticated)
	s.conns[s.nextID] = c
	s.wg.Add(1)
	s.mu.Unlock()
	go c.serve()
}

func (s *Server) refuse(nc net.Conn, text string) {
	s.rejected.Add(1)
	s.log.Debug("client refused", "client", nc.RemoteAddr().String(), "reason", text[1:len(text)-2])
	_ = nc.SetWriteDeadline(time.Now().Add(time.Second))
	_, _ = nc.Write([]byte(text))
	_ = nc.Close()
}

func onLoopback(a net.Addr) bool {
	t, ok := a.(*net.TCPAddr)
	return !ok || t.IP.IsLoopback()
}

// drop forgets a connection that has ended.
func (s *Server) drop(c *conn) {
	_ = c.nc.Close()
	c.release()
	s.engine.Close(c.session)
	s.mu.Lock()
	delete(s.conns, c.session.ID)
	s.mu.Unlock()
	s.wg.Done()
}

// drain ends all connections: each answers what it has been sent. Those that are
// not done in time are closed.
func (s *Server) drain() {
	s.mu.Lock()
	s.closing = true
	open := make([]*conn, 0, len(s.conns))
	for _, c := range s.conns {
		open = append(open, c)
	}
	s.mu.Unlock()
	if len(open) > 0 {
		s.log.Info("draining", "clients", len(open))
	}
	for _, c := range open {
		_ = c.nc.SetReadDeadline(time.Unix(1, 0))
	}
	done := make(chan struct{})
	go func() {
		s.wg.Wait()
		close(done)
	}()
	timer := time.NewTimer(s.config.DrainTimeout)
	defer timer.Stop()
	select {
	case <-done:
		return
	case <-timer.C:
	}
	s.log.Warn("clients closed that did not take their replies")
	for _, c := range open {
		c.kill()
	}
	<-done
}

// patrol closes connections that are idle for too long, and those that do not
// take their replies.
func (s *Server) patrol(ctx context.Context) {
	tick := time.NewTicker(patrolEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			s.inspect(now)
		}
	}
}

func (s *Server) inspect(now time.Time) {
	idle := time.Duration(s.settings.Timeout.Load()) * time.Second
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.conns {
		began := c.writing.Load()
		switch {
		case began != 0 && now.Sub(time.Unix(0, began)) > s.config.WriteTimeout:
			s.log.Info("client closed: it does not take its replies", "client", c.session.Addr)
			c.kill()
		case idle > 0 && began == 0 && c.session.Idle(now) > idle:
			s.log.Debug("client closed: idle", "client", c.session.Addr)
			c.kill()
		}
	}
}

// sweep removes keys that are past their deadline.
func (s *Server) sweep(ctx context.Context) {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			for s.engine.Sweep(sweepMost) == sweepMost && ctx.Err() == nil {
				runtime.Gosched()
			}
		}
	}
}

// Sessions implements command.Host.
func (s *Server) Sessions() []*command.Session {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]*command.Session, 0, len(s.conns))
	for _, c := range s.conns {
		all = append(all, c.session)
	}
	slices.SortFunc(all, func(a, b *command.Session) int { return int(a.ID - b.ID) })
	return all
}

// Facts implements command.Host.
func (s *Server) Facts() command.Facts {
	s.mu.Lock()
	n := len(s.conns)
	s.mu.Unlock()
	executable, _ := os.Executable()
	return command.Facts{
		Version: s.config.Version, Started: s.started, Port: int(s.port.Load()), Clients: n,
		Accepted: s.accepted.Load(), Rejected: s.rejected.Load(),
		BytesIn: s.bytesIn.Load(), BytesOut: s.bytesOut.Load(),
		Executable: executable, ConfigFile: s.config.File,
	}
}

// PortError is the error of Listen for an address that cannot be had.
type PortError struct {
	Addr string
	Hint string
	err  error
}

// Error implements error.
func (e *PortError) Error() string {
	return fmt.Sprintf("server: listen on %s: %v", e.Addr, e.err)
}

// Unwrap returns the cause.
func (e *PortError) Unwrap() error { return e.err }

func listenError(addr string, err error) error {
	e := &PortError{Addr: addr, err: err, Hint: "choose an address of this machine with --addr HOST:PORT"}
	if inUse(err) {
		e.err = errors.New("the port is taken by another program")
		e.Hint = "choose another port with --addr " + nextPort(addr) + " (or BLOOMERY_ADDR, or addr in the configuration file)"
	}
	return e
}

// nextPort suggests an address beside one that is taken.
func nextPort(addr string) string {
	host, port, err := net.SplitHostPort(addr)
	n, numErr := strconv.Atoi(port)
	if err != nil || numErr != nil || n >= 65535 {
		return "127.0.0.1:6380"
	}
	return net.JoinHostPort(host, strconv.Itoa(n+1))
}
