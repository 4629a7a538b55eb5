// Package peers is how the nodes of a cluster ask each other: connections of their own, beside
// the log.
//
//	Ask ── slot ── frames that wait ── writer ──► TLS ──► reader ── slot ── answer ── frames that wait ── writer ──► …
//
// A node dials every other one that it knows, and asks it over that connection; the other one asks
// back over its own. Many questions are on their way at once, and are answered in any order. What
// a node holds for another one is bounded by slots, before anything is allocated, whatever the
// other one does. Docs: ADR 63.
package peers

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Config is what a node is made from.
type Config struct {
	// Addr is where this node listens for others, HOST:PORT; "" if it only asks.
	Addr string
	// Cluster is the name of the cluster.
	Cluster string
	// Secret is what all nodes of the cluster know and nobody else, and TLS is of connections in
	// both directions. Without a secret there is no TLS, and everybody who reaches Addr is
	// answered.
	Secret string
	TLS    *tls.Config
	// Slog is where the node says whom it reaches; nil for nowhere.
	Slog *slog.Logger
}

// Question is what one node asks another.
type Question struct {
	Body []byte
	// Room is how long the answer may be, at most MaxBody.
	Room int
	// Waits means that the other node may have to wait for others before it can answer. Such
	// questions have slots of their own, and never keep the others from being answered.
	Waits bool
	// Soon is how long Await waits, about, and Patience how long anybody does: the other node may stop
	// then. They are for Begin.
	Soon, Patience time.Duration
}

// Stats counts what a node has done.
type Stats struct {
	Lines    int   // connections, in both directions
	Asked    int64 // questions to others
	Answered int64 // questions of others
	Unsent   int64 // questions to others that failed with ErrUnsent
	Unknown  int64 // and with ErrUnknown
	Sent     int64 // bytes
	Received int64
}

type counters struct {
	lines, asked, answered, unsent, unknown, sent, received atomic.Int64
}

// Node is this node, as others see it. Make it with Open.
//
// Safe for concurrent use.
type Node struct {
	config   Config
	key      []byte // of proofs
	listener net.Listener
	links    atomic.Pointer[map[uint32]*link] // by node; replaced, never changed
	count    counters
	sweeper  sweeper
	closed   context.Context
	close    context.CancelFunc
	tasks    sync.WaitGroup

	// mu guards what follows, and changes of links.
	mu       sync.Mutex
	number   uint32 // of this node, 0 before Serve
	answer   func(q *Asked, to []byte) []byte
	lines    map[*answerer]bool
	greeting [mostGreeting]net.Conn // handshakes that others have begun
	greeted  uint64
}

var (
	errClosed  = errors.New("peers: closed")
	errAbsent  = errors.New("there is no connection")
	errTooLong = fmt.Errorf("peers: a question or its answer is longer than %d bytes", MaxBody)
)

// Open returns a node that others can connect to. It answers nothing before Serve.
func Open(c Config) (*Node, error) {
	if c.Slog == nil {
		c.Slog = slog.New(slog.DiscardHandler)
	}
	key, err := proofKey(c.Secret)
	if err != nil {
		return nil, err
	}
	if c.TLS != nil {
		c.TLS = c.TLS.Clone()
		// Records are as long as they can be from the start: nobody reads the first bytes early.
		c.TLS.DynamicRecordSizingDisabled = true
		c.TLS.SessionTicketsDisabled = true
	}
	n := &Node{config: c, key: key, lines: map[*answerer]bool{}}
	n.links.Store(&map[uint32]*link{})
	n.sweeper.look = n.sweep
	n.closed, n.close = context.WithCancel(context.Background())
	if c.Addr != "" {
		if n.listener, err = net.Listen("tcp", c.Addr); err != nil {
			return nil, fmt.Errorf("peers: %w", err)
		}
		n.tasks.Go(n.accept)
	}
	n.tasks.Go(n.lookAfter)
	return n, nil
}

// Addr returns where others reach this node, "" if they do not: the address of Config, which may
// name a host, unless the system has chosen the port.
func (n *Node) Addr() string {
	if _, port, _ := net.SplitHostPort(n.config.Addr); port == "0" {
		return n.listener.Addr().String()
	}
	return n.config.Addr
}

// Serve has this node answer questions to a number. answer is called from several goroutines. It
// may append its answer to what it is given, and keeps neither that, nor the question, nor the
// answer. It must not wait for others unless the question is one that waits, and calls Aside before it
// waits for anything.
func (n *Node) Serve(number uint32, answer func(q *Asked, to []byte) []byte) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.number, n.answer = number, answer
}

// Ask asks another node, and returns its answer: in the memory of to, if there is enough of it and
// the answer is short. It waits for a slot and for the answer until ctx ends, and never for a
// connection. Errors wrap ErrUnsent or ErrUnknown.
func (n *Node) Ask(ctx context.Context, node uint32, q Question, to []byte) ([]byte, error) {
	n.count.asked.Add(1)
	b, err := n.ask(ctx, node, q, to)
	switch {
	case err == nil:
	case errors.Is(err, ErrUnsent):
		n.count.unsent.Add(1)
	default:
		n.count.unknown.Add(1)
	}
	return b, err
}

func (n *Node) ask(ctx context.Context, node uint32, q Question, to []byte) ([]byte, error) {
	a, err := n.lineTo(node, &q)
	if err != nil {
		return nil, err
	}
	return a.ask(ctx, q, to)
}

// lineTo returns the connection for a question.
func (n *Node) lineTo(node uint32, q *Question) (*asker, error) {
	if len(q.Body) > MaxBody || q.Room < 0 || q.Room > MaxBody {
		return nil, unsent(node, errTooLong)
	}
	if l := (*n.links.Load())[node]; l != nil {
		if a := l.line.Load(); a != nil {
			return a, nil
		}
	}
	return nil, unsent(node, errAbsent)
}

// Begin is Ask for somebody who asks several nodes, and then waits for all of them. It waits for nothing,
// so the error, which wraps ErrUnsent, may be that no slot is free. Otherwise the answer must be awaited.
func (n *Node) Begin(node uint32, q Question, to []byte) (Pending, error) {
	n.count.asked.Add(1)
	a, err := n.lineTo(node, &q)
	if err == nil {
		var p Pending
		if p, err = a.begin(q, to); err == nil {
			n.sweeper.begin()
			return p, nil
		}
	}
	n.count.unsent.Add(1)
	return Pending{}, err
}

// Trip returns how long a frame takes to a node and back, and false if there is no connection to
// it, or none that was measured.
func (n *Node) Trip(node uint32) (time.Duration, bool) {
	if l := (*n.links.Load())[node]; l != nil {
		if a := l.line.Load(); a != nil {
			trip := a.trip.Load()
			return time.Duration(trip), trip > 0
		}
	}
	return 0, false
}

// Starts reports whether there is a node at the address of another one that has no number yet: it is starting. The other
// one is dialed for that unless it was in the last second, and may be starting until that is over.
func (n *Node) Starts(node uint32) bool {
	l := (*n.links.Load())[node]
	return l != nil && l.line.Load() == nil && l.starting()
}

// Know says where a node is, "" for nowhere: from now on this node is connected to it whenever
// that is possible.
func (n *Node) Know(node uint32, addr string) {
	if l := (*n.links.Load())[node]; l == nil && addr == "" || l != nil && l.addr == addr {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed.Err() != nil {
		return
	}
	links := maps.Clone(*n.links.Load())
	if l := links[node]; l != nil {
		l.stop()
		delete(links, node)
	}
	if addr != "" {
		links[node] = n.newLink(node, addr)
	}
	n.links.Store(&links)
}

// Stats returns what this node has done.
func (n *Node) Stats() Stats {
	c := &n.count
	return Stats{
		Lines: int(c.lines.Load()), Asked: c.asked.Load(), Answered: c.answered.Load(), Unsent: c.unsent.Load(), Unknown: c.unknown.Load(),
		Sent: c.sent.Load(), Received: c.received.Load(),
	}
}

// lookAfter pings other nodes, and gives up those that are silent.
func (n *Node) lookAfter() {
	ticker := time.NewTicker(tickEvery)
	defer ticker.Stop()
	for {
		select {
		case <-n.closed.Done():
			return
		case <-ticker.C:
		}
		n.tick()
	}
}

func (n *Node) tick() {
	for _, l := range *n.links.Load() {
		if a := l.line.Load(); a != nil {
			a.ping()
			a.tick()
		}
	}
	n.mu.Lock()
	lines := maps.Clone(n.lines)
	n.mu.Unlock()
	for a := range lines {
		a.tick()
	}
}

// Close answers what others have asked, lets go of all connections, and returns when nothing of
// this node is left. Questions of this node that are on their way fail.
func (n *Node) Close() error {
	n.mu.Lock()
	n.close()
	for _, l := range *n.links.Load() {
		l.stop()
	}
	lines := maps.Clone(n.lines)
	for _, c := range n.greeting {
		if c != nil {
			_ = c.Close()
		}
	}
	n.mu.Unlock()
	var err error
	if n.listener != nil {
		err = n.listener.Close()
	}
	if errors.Is(err, net.ErrClosed) { // it was closed before
		err = nil
	}
	var closing sync.WaitGroup
	for a := range lines {
		closing.Go(a.close)
	}
	closing.Wait()
	n.tasks.Wait()
	return err
}
