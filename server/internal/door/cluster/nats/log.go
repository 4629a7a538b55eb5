package nats

// Log: the streams, opened and closed.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/bloomery/bloomery/server/internal/door/cluster"
	"github.com/bloomery/bloomery/server/internal/folder"
)

var (
	_ cluster.Log     = (*Log)(nil)
	_ cluster.Leaders = (*Log)(nil)
	_ cluster.Watched = (*Log)(nil)
	_ cluster.Peers   = (*Log)(nil)

	_ cluster.Vouching = (*Log)(nil)
)

// Log is the log of a cluster and the way to its other nodes.
//
// Safe for concurrent use.
type Log struct {
	config Config
	lock   io.Closer
	server *running // nil with a NATS cluster of others
	conn   *nats.Conn
	js     nats.JetStreamContext
	name   string      // of the embedded server
	store  atomic.Bool // this node keeps streams
	judge  atomic.Pointer[func(server string) (left, known bool)]
	vouch  atomic.Pointer[func(question []byte) []byte]
	// promoting is held while this node begins to keep streams.
	promoting sync.Mutex

	denied atomic.Pointer[error] // what a NATS cluster of others did not allow

	acks  acks
	ended chan struct{}
	end   sync.Once
	wg    sync.WaitGroup

	// mu guards what follows.
	mu       sync.Mutex
	lanes    int      // data lanes, 0 until Lanes was called
	leaders  []leader // by lane
	problems []string // see Problems
	formed   bool
	closing  bool
	sys      *nats.Conn      // of the system account, nil until it is needed
	voters   []cluster.Voter // as of the last look at them
	failure  error           // of the last attempt to keep streams
}

// askIn bounds a request to the servers of the streams.
const askIn = 5 * time.Second

// Open connects this node with the cluster and waits for the stream of the
// catalogue. The first start of a cluster waits for all log nodes, a later one for
// a majority. It returns the error of ctx if that ends first.
func Open(ctx context.Context, c Config) (*Log, error) {
	c, err := c.complete()
	if err != nil {
		return nil, err
	}
	l := &Log{config: c, ended: make(chan struct{})}
	if err := l.takeFolder(); err != nil {
		return nil, err
	}
	if c.URL != "" {
		err = l.connect()
	} else {
		err = l.embed(ctx)
	}
	if err == nil {
		err = l.begin(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// takeFolder makes the folder and keeps other processes out of it.
func (l *Log) takeFolder() error {
	disk, err := folder.OpenDisk(l.config.Dir)
	if err == nil {
		l.lock, err = disk.Lock()
	}
	if err != nil {
		return fmt.Errorf("cluster: %w", err)
	}
	return nil
}

// embed starts the server of this node.
func (l *Log) embed(ctx context.Context) error {
	if err := l.config.checkCertificate(time.Now()); err != nil {
		return err
	}
	if err := l.probe(ctx); err != nil {
		return err
	}
	node, err := l.settle(ctx)
	if err != nil {
		return err
	}
	e, err := start(&l.config, node.Server, node.Store)
	if err != nil {
		return err
	}
	l.server, l.conn, l.name, l.formed = e.server, e.conn, node.Server, node.Formed
	l.store.Store(node.Store)
	if err := errors.Join(l.answerRemovals(l.conn), l.answerClaims()); err != nil {
		return err
	}
	if !node.Store {
		return l.conn.Flush()
	}
	return l.greet()
}

// greet answers nodes that start for the first time.
func (l *Log) greet() error {
	err := subscribe(l.conn, l.subject("hello"), func(m *nats.Msg) {
		l.mu.Lock()
		formed := l.formed
		l.mu.Unlock()
		_ = m.Respond(greeting{l.config.Addr, formed}.encode())
	})
	if err != nil {
		return err
	}
	return l.conn.Flush()
}

// subscribe calls f for the messages to a subject.
func subscribe(conn *nats.Conn, subject string, f nats.MsgHandler) error {
	if _, err := conn.Subscribe(subject, f); err != nil {
		return fmt.Errorf("cluster: %w", err)
	}
	return nil
}

// connect uses a NATS cluster that is there already.
func (l *Log) connect() error {
	denied := nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
		l.config.Log.Warn("cluster: connection", "error", err)
		if errors.Is(err, nats.ErrPermissionViolation) {
			l.denied.Store(&err)
		}
	})
	conn, err := nats.Connect(l.config.URL, append(connectOptions(&l.config), nats.Timeout(askIn), denied)...)
	if err != nil {
		return fmt.Errorf("cluster: nats %s: %w", redactURL(l.config.URL), err)
	}
	l.conn = conn
	if most := conn.MaxPayload(); most < minPayload {
		return fmt.Errorf("cluster: nats %s: its max_payload is %d bytes, at least %d are needed", redactURL(l.config.URL), most, minPayload)
	}
	l.config.Log.Warn("cluster: writes are as durable as that NATS cluster makes them: set sync_interval: always in its configuration", "nats", redactURL(l.config.URL))
	return nil
}

// minPayload is what a NATS cluster must take in a message at least, which is its
// default: nodes fetch snapshots from each other in pieces of half of it.
const minPayload = 1 << 20

// begin makes the parts that both ways share, and checks the catalogue's stream.
func (l *Log) begin(ctx context.Context) error {
	var err error
	if l.js, err = l.conn.JetStream(nats.MaxWait(askIn)); err != nil {
		return fmt.Errorf("cluster: %w", err)
	}
	if err := l.acks.begin(l); err != nil {
		return err
	}
	if l.server != nil {
		if err := l.hearElections(); err != nil {
			return err
		}
	}
	if err := l.ensure(ctx, 0, !l.config.Kept && !l.formed); err != nil {
		return err
	}
	if l.store.Load() && !l.formed {
		if err := keep(l.config.Dir, node{Cluster: l.config.Cluster, Server: l.name, Store: true, Formed: true}); err != nil {
			return err
		}
		l.mu.Lock()
		l.formed = true
		l.mu.Unlock()
	}
	l.leaders = []leader{{}}
	l.spawn(l.watch)
	return nil
}

// MaxMessage returns how long a message may be.
func (l *Log) MaxMessage() int { return int(l.conn.MaxPayload()) }

// Close disconnects this node. Tails end, and messages on their way fail.
func (l *Log) Close() (err error) {
	l.end.Do(func() {
		l.mu.Lock()
		l.closing = true
		l.mu.Unlock()
		close(l.ended)
		if l.conn != nil {
			l.acks.failAll(errClosed)
			l.conn.Close()
		}
		if l.sys != nil { // nobody makes one any more
			l.sys.Close()
		}
		l.wg.Wait()
		if l.server != nil {
			err = inTime(l.server.stop)
		}
		if err == nil { // nobody writes to the folder any more
			err = l.lock.Close()
		}
	})
	return err
}

// stopIn bounds how long a server may take to stop. One whose disk was full may never
// do so: it can wait for itself.
const stopIn = 20 * time.Second

var errStuck = fmt.Errorf("cluster: the embedded server has not stopped within %v", stopIn)

// inTime runs f, and returns errStuck if that takes longer than stopIn.
func inTime(f func()) error {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	timer := time.NewTimer(stopIn)
	defer timer.Stop()
	select {
	case <-done:
		return nil
	case <-timer.C:
		return errStuck
	}
}

var errClosed = errors.New("cluster: the log is closed")

// spawn runs a function that Close waits for. It reports false if the log is
// closed already.
func (l *Log) spawn(f func()) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closing {
		return false
	}
	l.wg.Go(f)
	return true
}

// subject returns a subject of this cluster.
func (l *Log) subject(parts ...string) string {
	return "bloomery." + l.config.Cluster + "." + strings.Join(parts, ".")
}

// laneName returns what a lane is called: CAT, D1 and so on, W.
func (l *Log) laneName(lane int) string {
	l.mu.Lock()
	n := l.lanes
	l.mu.Unlock()
	switch {
	case lane == 0:
		return "CAT"
	case lane == n+1 && n > 0:
		return "W"
	}
	return "D" + strconv.Itoa(lane)
}

// stream returns the name of a lane's stream.
func (l *Log) stream(lane int) string { return "bloomery-" + l.config.Cluster + "-" + l.laneName(lane) }

// laneSubject returns the subject that a lane's messages are published to.
func (l *Log) laneSubject(lane int) string {
	switch name := l.laneName(lane); name {
	case "CAT":
		return l.subject("cat")
	case "W":
		return l.subject("w")
	default:
		return l.subject("d", name[1:])
	}
}
