package peers

// Connections to other nodes, which are made again whenever they end.

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"sync/atomic"
	"time"
)

const (
	// retryFirst and retryMost bound how long a node waits before it dials again. The pause
	// doubles, and is drawn at random below that.
	retryFirst = 100 * time.Millisecond
	retryMost  = 10 * time.Second
	// retryAsked is how often a node is dialed, at most, because somebody asks whether it starts, and how long such a
	// dial counts as an answer that may come.
	retryAsked = time.Second
)

// link is the connection to a node, whether there is one at present or not.
type link struct {
	node uint32
	addr string
	line atomic.Pointer[asker]
	stop context.CancelFunc
	met  chan struct{} // the node has connected to this one, so it can be dialed
	need chan struct{} // somebody asks whether it starts
	// starts is whether it was starting when it was dialed last, dialed when that was, and dials whether it is not over.
	starts, dials atomic.Bool
	dialed        atomic.Int64
}

// newLink begins to connect to a node.
func (n *Node) newLink(node uint32, addr string) *link {
	ctx, stop := context.WithCancel(n.closed)
	l := &link{node: node, addr: addr, stop: stop, met: make(chan struct{}, 1), need: make(chan struct{}, 1)}
	n.tasks.Go(func() { n.connect(ctx, l) })
	return l
}

// connect keeps a node connected until ctx ends.
func (n *Node) connect(ctx context.Context, l *link) {
	log := n.config.Slog.With("part", "peers", "node", l.node, "addr", l.addr)
	said := ""
	for pause := retryFirst; ; pause = min(2*pause, retryMost) {
		began := time.Now()
		l.dialed.Store(since(0))
		l.dials.Store(true)
		err := n.use(ctx, l, func() {
			said = ""
			l.learned(false)
			log.Debug("connected to another node")
		})
		if ctx.Err() != nil {
			return
		}
		l.learned(errors.Is(err, errStarting))
		if err.Error() != said {
			said = err.Error()
			log.Info("no connection to another node: asking through the log, which is slower", "error", err)
		}
		if time.Since(began) > retryMost {
			pause = retryFirst
		}
		if l.rest(ctx, rand.N(pause)) {
			pause = retryFirst
		}
	}
}

// rest waits before a node is dialed again. It reports whether that node has connected meanwhile: one that was down for
// long is not kept waiting.
func (l *link) rest(ctx context.Context, pause time.Duration) bool {
	select {
	case <-l.met:
		return true
	case <-l.need:
	case <-ctx.Done():
	case <-time.After(pause):
	}
	return false
}

// learned notes what came of dialing a node.
func (l *link) learned(starts bool) {
	l.starts.Store(starts)
	l.dials.Store(false)
}

// starting reports whether a node is starting, or may be: it is dialed now, which it is at once unless it was lately.
func (l *link) starting() bool {
	lately := since(-retryAsked) < l.dialed.Load()
	if lately || l.dials.Load() {
		return l.starts.Load() || lately && l.dials.Load()
	}
	select {
	case l.need <- struct{}{}:
	default:
	}
	return true
}

// meets has a node dialed soon, if there is no connection to it: it has connected to this one.
func (n *Node) meets(node uint32) {
	l := (*n.links.Load())[node]
	if l == nil || l.line.Load() != nil {
		return
	}
	select {
	case l.met <- struct{}{}:
	default:
	}
}

// use connects to a node, and returns when the connection has ended.
func (n *Node) use(ctx context.Context, l *link, connected func()) error {
	within, cancel := context.WithTimeout(ctx, greetIn)
	defer cancel()
	raw, err := new(net.Dialer).DialContext(within, "tcp", l.addr)
	if err != nil {
		return err
	}
	stop := context.AfterFunc(within, func() { _ = raw.Close() })
	host, _, _ := net.SplitHostPort(l.addr)
	conn, err := n.greet(within, raw, host, l.node)
	if !stop() || err != nil {
		_ = raw.Close()
		if err == nil {
			err = context.Cause(within)
		}
		return err
	}
	a := newAsker(l.node)
	a.init(conn, raw, &n.count)
	closed := context.AfterFunc(ctx, func() { a.end(errClosed) })
	defer closed()
	n.tasks.Go(a.write)
	l.line.Store(a)
	connected()
	a.ping()
	err = a.read()
	l.line.Store(nil)
	a.end(err)
	return err
}
