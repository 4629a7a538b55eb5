package nats

// The NATS server in this process.

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	natsd "github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// embedded is a NATS server in this process, and the connection to it.
type embedded struct {
	server *running
	conn   *nats.Conn
}

// running is the server of this node at present. Connections to it go on with the one
// that follows it.
//
// Safe for concurrent use.
type running struct{ atomic.Pointer[natsd.Server] }

// InProcessConn implements nats.InProcessConnProvider.
func (r *running) InProcessConn() (net.Conn, error) { return r.Load().InProcessConn() }

func (r *running) stop() {
	r.Load().Shutdown()
	r.Load().WaitForShutdown()
}

// readyIn bounds how long a server may take to listen: it opens its streams first.
const readyIn = 2 * time.Minute

// A connection between servers that is silent for about 8 s is made again. TCP alone
// would find its way back only after as long again as the network was away.
const (
	routePing  = 2 * time.Second
	routePings = 3 // without an answer
)

// start starts a server and connects to it.
func start(c *Config, name string, store bool) (*embedded, error) {
	s, err := launch(c, name, store)
	if err != nil {
		return nil, err
	}
	e := &embedded{server: new(running)}
	e.server.Store(s)
	if e.conn, err = e.server.connect(c, userNode); err != nil {
		e.server.stop()
		return nil, err
	}
	return e, nil
}

// connect connects to the server as one of its users.
func (r *running) connect(c *Config, user string) (*nats.Conn, error) {
	conn, err := nats.Connect("", append(connectOptions(c), nats.InProcessServer(r), nats.UserInfo(user, c.token))...)
	if err != nil {
		return nil, fmt.Errorf("cluster: embedded server: %w", err)
	}
	return conn, nil
}

// The users of embedded servers. The second may change who keeps streams.
const (
	userNode   = "bloomery"
	userSystem = "system"
)

// launch starts a server. With store it is a log node and keeps streams in the
// folder; without, it passes messages on.
func launch(c *Config, name string, store bool) (*natsd.Server, error) {
	o, err := options(c, name, store)
	if err != nil {
		return nil, err
	}
	s, err := natsd.NewServer(o)
	if err != nil {
		return nil, fmt.Errorf("cluster: embedded server: %w", err)
	}
	logger := &logs{to: c.Log.With("part", "nats")}
	s.SetLoggerV2(logger, false, false, false)
	// Start returns early where it fails, and reports why to the log alone.
	s.Start()
	ready := false
	for end := time.Now().Add(readyIn); !ready && !logger.failed() && time.Now().Before(end); {
		ready = s.ReadyForConnections(100 * time.Millisecond)
	}
	if !ready {
		stopped := inTime(func() {
			s.Shutdown()
			s.WaitForShutdown()
		})
		return nil, errors.Join(startError(c, logger.fatal()), stopped)
	}
	return s, nil
}

// startError says why a server does not start. One whose streams are damaged never will.
func startError(c *Config, err error) error {
	err = fmt.Errorf("cluster: embedded server at %s: %w", c.Addr, err)
	switch text := err.Error(); {
	case strings.Contains(text, "listening on router port"):
		err = fmt.Errorf("%w (cluster-addr is to be an address of this machine, with a port that no other program has)", err)
	case strings.Contains(text, "start JetStream"):
		err = fmt.Errorf("%w (if %s is damaged, move it away: the node then starts without a copy of the log, until it is replaced)", err, c.Dir)
	}
	return err
}

func (e *embedded) close() {
	e.conn.Close()
	e.server.stop()
}

// options returns the settings of an embedded server.
func options(c *Config, name string, store bool) (*natsd.Options, error) {
	host, text, _ := net.SplitHostPort(c.Addr)
	port, _ := strconv.Atoi(text)
	system := natsd.NewAccount(natsd.DEFAULT_SYSTEM_ACCOUNT)
	o := &natsd.Options{
		ServerName: name,
		// A server without a port for clients starts no routes. It is on the
		// loopback interface, and nobody knows the password.
		Host: "127.0.0.1", Port: natsd.RANDOM_PORT,
		Users: []*natsd.User{
			{Username: userNode, Password: c.token},
			{Username: userSystem, Password: c.token, Account: system},
		},
		Accounts: []*natsd.Account{system}, SystemAccount: system.Name,
		NoSigs: true, DisableJetStreamBanner: true, ReconnectErrorReports: 60,
		Cluster: natsd.ClusterOpts{Name: c.Cluster, Host: host, Port: port, NoAdvertise: true},
	}
	if c.Secret != "" {
		o.Cluster.Username, o.Cluster.Password = routeUser, c.Secret
		o.Cluster.AuthTimeout, o.Cluster.TLSTimeout = 10, 10
		var err error
		if o.Cluster.TLSConfig, err = c.Security(); err != nil {
			return nil, err
		}
	}
	o.Cluster.PingInterval, o.Cluster.MaxPingsOut = routePing, routePings
	for _, addr := range c.Join {
		u := &url.URL{Scheme: "nats", Host: addr}
		if c.Secret != "" {
			u.User = url.UserPassword(o.Cluster.Username, o.Cluster.Password)
		}
		o.Routes = append(o.Routes, u)
	}
	if store {
		o.JetStream = true
		o.StoreDir = c.Dir
		o.SyncAlways = true // an acknowledged message is on disk
		o.JetStreamMaxMemory = 16 << 20
		o.JetStreamMaxStore = int64(MaxLanes+2) * c.LaneBytes
		if err := os.MkdirAll(filepath.Join(c.Dir, natsd.JetStreamStoreDir), 0o700); err != nil {
			return nil, fmt.Errorf("cluster: %w", err)
		}
	}
	return o, nil
}

// routeUser is the user that nodes are to each other. The secret is its password.
const routeUser = "bloomery"

// connectOptions are what every connection has, to embedded servers or others.
func connectOptions(c *Config) []nats.Option {
	return []nats.Option{
		nats.Name("bloomery"), nats.MaxReconnects(-1), nats.ReconnectWait(250 * time.Millisecond),
		nats.PingInterval(5 * time.Second), nats.MaxPingsOutstanding(3), nats.NoEcho(),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { c.Log.Warn("cluster: connection", "error", err) }),
	}
}

// logs passes what a server reports on: nothing reaches the standard error.
type logs struct {
	to *slog.Logger
	// mu guards what follows.
	mu   sync.Mutex
	last string               // fatal
	said map[string]time.Time // when a text was logged; see often
}

func (l *logs) Noticef(format string, v ...any) { l.to.Debug(fmt.Sprintf(format, v...)) }
func (l *logs) Warnf(format string, v ...any)   { l.log(slog.LevelInfo, format, v) }
func (l *logs) Errorf(format string, v ...any)  { l.log(slog.LevelWarn, format, v) }
func (l *logs) Debugf(string, ...any)           {}
func (l *logs) Tracef(string, ...any)           {}

// sayAgain is after how long a text is logged again. Servers that cannot reach each
// other report that several times a second.
const sayAgain = 30 * time.Second

func (l *logs) log(level slog.Level, format string, v []any) {
	text := fmt.Sprintf(format, v...)
	if strings.HasPrefix(text, "Plaintext passwords") { // drawn at random, known to this process only
		return
	}
	if !l.often(text, time.Now()) {
		l.to.Log(context.Background(), level, text)
	}
}

// often reports whether a text was logged lately. Texts that differ in numbers, which
// are attempts and connections, count as one.
func (l *logs) often(text string, now time.Time) bool {
	text = connections.ReplaceAllString(text, "")
	l.mu.Lock()
	defer l.mu.Unlock()
	if at, ok := l.said[text]; ok && now.Sub(at) < sayAgain {
		return true
	}
	if l.said == nil || len(l.said) > 100 {
		l.said = map[string]time.Time{}
	}
	l.said[text] = now
	return false
}

// connections are what differs in texts about the same: numbers of connections and
// attempts, and ports of those who connect.
var connections = regexp.MustCompile(`:[0-9]+ - [rc]id:[0-9]+|cid:[0-9]+|attempt [0-9]+|:[0-9]+->|took [0-9.a-zµ]+|time: [0-9.a-zµ]+`)

// Fatalf notes why the server cannot go on. The process does.
func (l *logs) Fatalf(format string, v ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last = fmt.Sprintf(format, v...)
	l.to.Error(l.last)
}

func (l *logs) failed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last != ""
}

func (l *logs) fatal() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.last == "" {
		return errors.New("it does not answer")
	}
	return errors.New(l.last)
}
