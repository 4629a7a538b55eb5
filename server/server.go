// Package server is a Redis server for membership filters: it serves RedisBloom's
// BF.*, CF.*, CMS.*, TOPK.* and TDIGEST.* with the same replies and dumps, FILTER.*
// for all other kinds, and keeps its data in a folder, or on the nodes of a cluster.
//
// The package is small, so that a Go program, or its tests, can carry a server
// inside: [New] recovers the data and binds the addresses, [Server.Serve] works
// until its context ends. Several servers can run in one process. The package
// handles no signals, never exits, registers nothing and leaves the settings of
// the Go runtime alone.
package server

import (
	"container/list"
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bloomery/bloomery/server/internal/certificate"
	"github.com/bloomery/bloomery/server/internal/command"
	"github.com/bloomery/bloomery/server/internal/door/local"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/folder"
	"github.com/bloomery/bloomery/server/internal/session"
	"github.com/bloomery/bloomery/server/internal/store"
)

// Server serves clients. Make it with New.
//
// Safe for concurrent use.
type Server struct {
	config    Config
	log       *slog.Logger
	settings  *session.Settings
	engine    *engine.Engine
	state     *store.State
	door      keptDoor
	shared    *clusterDoor // the door, if it is that of a cluster
	listeners []listener
	started   time.Time
	buffers   bufferPool
	http      httpSide

	certificates atomic.Pointer[certificate.Loaded] // nil without TLS
	// reloading is held by the one Reload that runs, and guards read.
	reloading sync.Mutex
	read      Config        // what was read last, config at first
	computing chan struct{} // holds one for each handshake that may compute

	ended    chan struct{} // closed when the server is to end
	end      sync.Once
	abrupt   atomic.Bool   // without waiting for clients
	done     chan struct{} // closed when it has ended
	serving  bool          // under mu
	closeErr error         // before done is closed

	// mu guards conns, nextID, closing, serving and handshakes.
	mu      sync.Mutex
	conns   map[int64]*conn
	nextID  int64
	closing bool
	wg      sync.WaitGroup // of connections
	quiet   time.Duration  // see quiet; tests change it
	// handshakes are the connections that are in theirs, the oldest first.
	handshakes list.List

	rewrite rewriter

	// collecting is held by the one goroutine that collects garbage.
	collecting sync.Mutex

	// heapMu guards heap.
	heapMu    sync.Mutex
	heap      int64 // what OnHeapLimit was last called with
	maxMemory atomic.Int64
	unread    atomic.Int64 // bytes of connections that wait for their clients
	accepted  atomic.Int64
	rejected  atomic.Int64
	// badHandshakes are those that failed.
	badHandshakes atomic.Int64
	pastIn        atomic.Int64 // bytes of connections that have ended
	pastOut       atomic.Int64
}

// New returns a server that has recovered the data of its folder and bound its addresses:
// clients can connect and are answered as soon as Serve runs. While it reads the
// data, HTTP answers, with /readyz saying that the server is not ready, and the system refuses
// Redis clients, so that they go to another server. On an error nothing stays open. An address that cannot be bound is a
// *PortError, a folder that another process uses ErrLocked; damaged data wraps
// bloomery.ErrCorrupt or bloomery.ErrVersion, a bad Config bloomery.ErrParameter.
//
// When ctx ends, New gives up reading the data: the error wraps that of ctx, and the
// folder is as it was. It cannot end a read that the system has begun, and ctx means
// nothing once it has returned.
func New(ctx context.Context, c Config) (*Server, error) {
	clock := c.Now // nil if it is that of the machine, which the engine reads for less
	c, err := c.complete()
	if err != nil {
		return nil, err
	}
	state := store.New()
	var keys secretKeys
	if c.KeysFile != "" {
		if keys, err = readKeys(c.KeysFile); err != nil {
			return nil, err
		}
		state.SetKeys(keys.hashers)
	}
	secure, err := c.loadTLS(time.Now())
	if err != nil {
		return nil, err
	}
	s := &Server{
		config: c, read: c, log: c.Log, state: state, started: c.Now(), conns: map[int64]*conn{},
		ended: make(chan struct{}), done: make(chan struct{}),
		settings: session.NewSettings(c.Defaults.inUse(), c.Password), quiet: quiet,
		// One processor is left for others: a handshake takes a thousand
		// times as long as a command.
		computing: make(chan struct{}, max(1, runtime.GOMAXPROCS(0)-1)),
	}
	s.buffers.stock()
	s.startTLS(secure)
	if err := s.listen(); err != nil {
		return nil, err
	}
	if err := s.load(ctx, clock, keys.names); err != nil {
		s.closeListeners()
		s.endHTTP()
		return nil, err
	}
	return s, nil
}

// listen asks that all addresses can be bound, and begins to answer HTTP.
func (s *Server) listen() (err error) {
	if s.listeners, err = s.config.claimAll(); err != nil {
		return err
	}
	if err = s.openHTTP(); err != nil {
		s.closeListeners()
	}
	return err
}

// load reads the data, and makes what runs commands. On an error no data is open.
func (s *Server) load(ctx context.Context, clock func() time.Time, secrets map[string][]string) (err error) {
	c := &s.config
	if c.Cluster != nil {
		err = s.openShared(ctx)
	} else {
		s.door, err = openDoor(c, s.state, ctx.Err)
	}
	if err != nil {
		return err
	}
	s.settings.Server = c.parameters(s.listeners)
	s.settings.MaxClients.Store(int64(c.MaxClients))
	s.settings.MaxTransaction.Store(int64(c.MaxTransaction))
	s.settings.Timeout.Store(int64(c.IdleTimeout / time.Second))
	s.engine = engine.New(engine.Config{
		Commands: command.All(), State: s.state, Door: s.door, Keeper: s.door, Host: host{s}, Settings: s.settings, Clock: clock,
		MaxMemory: c.MaxMemory, SetMaxMemory: s.setMaxMemory, Collect: s.collect, Users: s.userFile(), SecretNames: secrets,
		Plain: c.Cluster != nil && c.Cluster.HideFromClients,
	})
	if err := s.complete(ctx); err != nil {
		return errors.Join(err, s.door.Close())
	}
	return nil
}

// complete does what is left to do when there is an engine.
func (s *Server) complete(ctx context.Context) error {
	applyUsers, _, err := s.readUsers()
	if err != nil {
		return err
	}
	applyUsers()
	s.setMaxMemory(s.config.MaxMemory)
	if s.shared != nil {
		if err := s.shared.Start(ctx, s.engine.Alone); err != nil {
			return err
		}
		s.shared.RaiseNew()
	}
	if err := s.config.openAll(s.listeners); err != nil {
		return err
	}
	s.shut(false)
	s.http.ready(s.newHandler())
	return nil
}

// starting is why the server is not ready yet.
func (s *Server) starting() string {
	if s.config.Cluster != nil {
		return "this node is starting: it answers when it has all that its cluster has"
	}
	return "the server is starting: it reads its data"
}

func (s *Server) openShared(ctx context.Context) (err error) {
	headroom := func() uint64 { return s.engine.Budget.Left() }
	capacity := func() uint64 { return uint64(s.engine.Budget.Max()) }
	digest := func() uint64 { return s.settings.Defaults().Digest() }
	if s.shared, err = openCluster(ctx, &s.config, s.state, s.config.announced(s.listeners), headroom, capacity, digest); err != nil {
		return err
	}
	s.door = s.shared
	s.shared.Shut(true)
	return nil
}

// shut has the other nodes of the cluster, if there are any, send no clients here, or send them.
func (s *Server) shut(shut bool) {
	if s.shared != nil {
		s.shared.Shut(shut)
	}
}

// failed is closed when the server cannot go on; it is nil if that cannot be.
func (s *Server) failed() <-chan struct{} {
	if s.shared == nil {
		return nil
	}
	return s.shared.Failed()
}

// openDoor opens the folder of c and fills state with what it holds.
func openDoor(c *Config, state *store.State, stop func() error) (*local.Door, error) {
	dc := local.Config{State: state, Log: c.Log, Stop: stop}
	if c.Dir == "" {
		return local.Open(dc)
	}
	disk, err := folder.OpenDisk(c.Dir)
	if err != nil {
		return nil, err
	}
	dc.Files, dc.Fsync, dc.Most = disk, local.Fsync(c.Fsync), c.MaxMemory
	return local.Open(dc)
}

// Addr returns the first address that the server listens on. It is known before
// Serve is called; a port that was given as 0 is the one that was chosen.
func (s *Server) Addr() net.Addr { return s.listeners[0].Addr() }

// Serve answers clients until ctx ends, Close is called or a client sends
// SHUTDOWN. Then it takes no more clients, lets those that are there have the
// replies to what they sent, for at most Config.ShutdownTimeout, and closes the
// data. It returns nil if all of that went in order. Serve can be called once.
func (s *Server) Serve(ctx context.Context) error {
	s.mu.Lock()
	again := s.serving || s.closing
	s.serving = true
	s.mu.Unlock()
	if again {
		return errors.New("server: serve: the server has been used already")
	}
	s.log.Info("ready", "addr", addresses(s.listeners), "http", s.http.urls(), "max-memory", s.config.MaxMemory, "version", s.config.Version, "pid", os.Getpid())
	s.warnOfRefusals()
	patrol, stop := context.WithCancel(context.WithoutCancel(ctx))
	var background, accepting sync.WaitGroup
	background.Go(func() { s.patrol(patrol) })
	background.Go(func() { s.sweep(patrol) })
	background.Go(func() { s.engine.Health().Run(patrol) })
	for _, l := range s.listeners {
		accepting.Go(func() { s.accept(l) })
	}
	var failure error
	select {
	case <-ctx.Done():
	case <-s.ended:
	case <-s.failed():
		failure = s.shared.Serving()
		s.log.Error("the server leaves the cluster", "error", failure)
	}
	s.requestEnd()
	s.shut(true) // clients that lose their connection here are to go elsewhere
	s.closeListeners()
	accepting.Wait()
	s.http.serving.Wait()
	drained := s.drainAll()
	stop()
	background.Wait()
	s.finish(errors.Join(failure, drained, s.closeDoor()))
	return s.closeErr
}

// Close ends the server without waiting for clients, and closes its data. It is
// for a server that will not serve after all, and ends Serve where that runs.
func (s *Server) Close() error {
	s.abrupt.Store(true)
	s.requestEnd()
	s.mu.Lock()
	serving := s.serving
	s.serving = true
	s.mu.Unlock()
	if !serving {
		s.closeListeners()
		s.http.serving.Wait()
		s.finish(errors.Join(s.drainAll(), s.closeDoor()))
	}
	<-s.done
	return s.closeErr
}

// requestEnd has Serve return.
func (s *Server) requestEnd() { s.end.Do(func() { close(s.ended) }) }

// closeDoor closes the data, and returns when the engine uses them no more.
func (s *Server) closeDoor() error {
	err := s.door.Close()
	s.engine.Ended()
	return err
}

func (s *Server) finish(err error) {
	s.closeErr = err
	if err == nil {
		s.log.Info("stopped")
	} else {
		s.log.Error("stopped", "error", err)
	}
	close(s.done)
}

func (s *Server) closeListeners() {
	closeAll(s.http.listeners)
	closeAll(s.listeners)
}

func addresses[L net.Listener](ls []L) string {
	all := make([]string, len(ls))
	for i, l := range ls {
		all[i] = l.Addr().String()
	}
	return strings.Join(all, ",")
}

// killGrace is how long connections may take to end after they were killed: a
// command that runs cannot be interrupted.
const killGrace = 10 * time.Second

// drain ends all connections: each answers what it has been sent. Those that are
// not done in time are killed.
func (s *Server) drain() error {
	s.mu.Lock()
	s.closing = true
	s.mu.Unlock()
	all := s.connections()
	if len(all) > 0 {
		s.log.Info("draining", "clients", len(all))
	}
	ended := make(chan struct{})
	go func() {
		s.wg.Wait()
		close(ended)
	}()
	s.engine.Pause.End(true)
	if !s.abrupt.Load() {
		for _, c := range all {
			c.drain()
		}
		if within(s.config.ShutdownTimeout, ended) {
			return nil
		}
		s.log.Warn("closing clients that did not take their replies in time")
	}
	for _, c := range all {
		c.kill()
	}
	if !within(killGrace, ended) {
		return errors.New("server: commands still run after all clients were closed")
	}
	return nil
}

// within reports whether a channel is closed before so much time has passed.
func within(d time.Duration, closed <-chan struct{}) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-closed:
		return true
	case <-timer.C:
		return false
	}
}
