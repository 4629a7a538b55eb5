package server

// Config: what a server is made from.

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/internal/memory"
	"github.com/bloomery/bloomery/server/internal/session"
	"github.com/bloomery/bloomery/server/internal/web/metrics"
)

// Config is what a server is made from. The zero value of a field means its
// default. Settings describes most of the fields by name.
type Config struct {
	// Addr lists where clients connect, each HOST:PORT or unix:PATH; port 0
	// takes a free one. The default is 127.0.0.1:6379. With a certificate there
	// is TLS on HOST:PORT; plain:HOST:PORT has none even so, and tls:HOST:PORT is
	// an error without a certificate. There is never TLS on unix:PATH.
	Addr []string
	// HTTP lists where HTTP is served, as Addr does: probes, metrics, the JSON
	// API and the page. The default is nowhere; Handler works all the same.
	// bloomery serve sets it to 127.0.0.1:8379.
	HTTP []string
	// HTTPToken is a secret that HTTP requests can give instead of a user
	// (Authorization: Bearer); "" means none. It has all rights. If it is set,
	// requests that change something need it or a user, and so do requests of other
	// machines in protected mode.
	HTTPToken string
	// HTTPAdmin allows HTTP requests that change something: without it HTTP is
	// read-only.
	HTTPAdmin bool
	// HTTPDebug serves profiles and execution traces of the process under
	// /debug/pprof, to requests with HTTPToken, which must be set.
	HTTPDebug bool
	// HTTPHosts are names under which HTTP requests without token and user may
	// reach the server, besides localhost, addresses and the names in HTTP; "*"
	// allows all. Others are refused: a page of another site could have given
	// its name the address of this machine. Where another program mounts
	// Handler, names are asked for only if there are some here.
	HTTPHosts []string
	// HTTPOrigins are the origins of other sites, such as https://example.org, whose
	// pages may read copies of filters over HTTP; "*" allows all.
	HTTPOrigins []string
	// TLSCert and TLSKey are the files of the certificate, with the chain that
	// signs it, and of its private key, in PEM form. Reload reads them again.
	TLSCert, TLSKey string
	// TLSCA is the file of the authorities that sign the certificates of clients.
	TLSCA string
	// TLSAuthClients is whether clients are asked for a certificate:
	// tls.NoClientCert (the default), tls.VerifyClientCertIfGiven or
	// tls.RequireAndVerifyClientCert. The last two need TLSCA.
	TLSAuthClients tls.ClientAuthType
	// TLS is for programs that carry the server: it takes the place of the four
	// settings above. The server works on a copy.
	TLS *tls.Config
	// Password is that of the user default, which clients are before they log in as
	// another; "" for none.
	Password string
	// ACLFile is the file of users, lines such as ACL LIST shows; "" means that there
	// is none. If it has the user default, Password does not count.
	ACLFile string
	// ProtectedMode refuses clients of other machines while the user default needs
	// no password.
	ProtectedMode bool
	// MaxMemory bounds the memory of names, filters, strings and of what
	// clients have under way, in bytes. The default is 75% of the memory that
	// this process may have.
	MaxMemory int64
	// MaxClients bounds the number of connections. The default is 10,000.
	MaxClients int
	// MaxQuery bounds one command, in bytes. The default is 512 MiB.
	MaxQuery int
	// MaxTransaction bounds the commands and arguments that a client may queue
	// between MULTI and EXEC, the keys that it may watch, and the data that EXEC
	// may touch, in KiB: others wait while EXEC runs. The default is 250,000, about
	// 100 ms.
	MaxTransaction int
	// IdleTimeout is when a client that sends nothing is closed; 0 means
	// never. A client whose command is still at work is not idle.
	IdleTimeout time.Duration
	// WriteTimeout is when a client is closed that takes nothing of its
	// replies, or stops in the middle of a command: it is a limit on progress,
	// not on the whole. The default is 60 s.
	WriteTimeout time.Duration
	// ShutdownTimeout is how long Serve waits, at its end, until clients have
	// taken their replies. The default is 10 s.
	ShutdownTimeout time.Duration
	// Dir is the folder that data is kept in; "" keeps it in memory only.
	Dir string
	// Fsync is when writes are durable. The default is EverySecond.
	Fsync Fsync
	// KeysFile is the file of the secret keys of FILTER.CREATE KEYED: lines of an
	// id, patterns such as ~users:* of the names of filters that may have the key, = and
	// 32 hexadecimal digits, or @ and the name of a file that has the key. A key without patterns is for users with the right to all
	// keys. Nobody but its owner may read the file. "" means that there are none.
	KeysFile string
	// Cluster makes the server one of a cluster; nil means that it is alone.
	Cluster *Cluster
	// MetricsFilters is how many filters /metrics shows by name: those with an
	// anomaly first, then the unhealthy, the largest and the busiest. All others are
	// summed up. The default is 500, the most 10,000.
	MetricsFilters int
	// Defaults are the parameters of filters that are created without any.
	Defaults Defaults
	// Log receives what the server reports; nil means nothing.
	Log *slog.Logger
	// Now is the clock for deadlines of keys and for what clients are shown;
	// nil means time.Now. It may step; timeouts do not depend on it.
	Now func() time.Time
	// HTTPMayMove takes a free port in place of one of HTTP that another program has,
	// and logs it. bloomery serve sets it unless --http is given.
	HTTPMayMove bool
	// OnHeapLimit is called with the number of bytes that Go's heap should
	// keep to: MaxMemory and some room, less the large arrays, which are
	// outside of the heap. New calls it, CONFIG SET maxmemory, and the server
	// when the arrays have grown or shrunk. A program that is nothing but
	// this server sets Go's memory limit by it (runtime/debug.SetMemoryLimit);
	// the server itself never does. It may be nil.
	OnHeapLimit func(bytes int64)
	// Version and File are what INFO shows as the version of the program and
	// as its configuration file.
	Version, File string
}

// defaultMaxMemory is MaxMemory where it is not set: three quarters of the memory
// that this process may have.
func defaultMaxMemory() int64 { return int64(memory.Limit() / 4 * 3) }

// Check returns nil if New can take the configuration, else an error that wraps
// bloomery.ErrParameter. It opens nothing.
func (c Config) Check() error {
	_, err := c.complete()
	return err
}

// complete fills in defaults and checks the rest.
func (c Config) complete() (Config, error) {
	c, err := c.completed()
	if err != nil {
		return c, badConfig{err}
	}
	return c, nil
}

// badConfig is an error of a configuration. The text names the setting, so that
// the sentinel would add nothing.
type badConfig struct{ error }

// Unwrap returns the cause and the sentinel.
func (e badConfig) Unwrap() []error { return []error{e.error, bloomery.ErrParameter} }

func (c Config) completed() (Config, error) {
	if len(c.Addr) == 0 {
		c.Addr = []string{"127.0.0.1:6379"}
	}
	if err := c.checkTLS(); err != nil {
		return c, err
	}
	for _, addr := range c.Addr {
		if _, err := c.endpoint("addr", addr); err != nil {
			return c, err
		}
	}
	for _, addr := range c.HTTP {
		if _, err := c.endpoint("http", addr); err != nil {
			return c, err
		}
	}
	for _, origin := range c.HTTPOrigins {
		if u, err := url.Parse(origin); origin != "*" && (err != nil || u.Scheme == "" || u.Host == "" || !strings.EqualFold(u.Scheme+"://"+u.Host, origin)) {
			return c, fmt.Errorf("server: http-origins: %q is not an origin: write one as https://example.org, without a path, or * for all", origin)
		}
	}
	if c.HTTPDebug && c.HTTPToken == "" {
		return c, errors.New("server: http-debug: profiles are for requests with the token: set http-token, too")
	}
	if c.MaxMemory == 0 {
		c.MaxMemory = defaultMaxMemory()
	}
	setDefault(&c.MaxClients, 10_000)
	setDefault(&c.MaxQuery, 512<<20)
	setDefault(&c.MaxTransaction, session.DefaultMaxTransaction)
	setDefault(&c.MetricsFilters, metrics.DefaultFilters)
	setDefault(&c.WriteTimeout, time.Minute)
	setDefault(&c.ShutdownTimeout, 10*time.Second)
	var err error
	if c.Defaults, err = c.Defaults.completed(); err != nil {
		return c, err
	}
	if c.Fsync > Never {
		return c, fmt.Errorf("server: fsync: %v is not Always, EverySecond or Never", c.Fsync)
	}
	if err := c.completeCluster(); err != nil {
		return c, err
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.MaxMemory < 0 || c.MaxClients < 0 || c.MaxQuery < 0 || c.MaxTransaction < 0 || c.IdleTimeout < 0 || c.WriteTimeout < 0 || c.ShutdownTimeout < 0 {
		return c, errors.New("server: a limit is negative")
	}
	if c.MetricsFilters < 0 || c.MetricsFilters > metrics.MostFilters {
		return c, fmt.Errorf("server: metrics-filters: %d is not in the range [1, %d]", c.MetricsFilters, metrics.MostFilters)
	}
	return c, nil
}

func setDefault[T comparable](v *T, value T) {
	var zero T
	if *v == zero {
		*v = value
	}
}
