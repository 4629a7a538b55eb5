package server

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"syscall"
	"time"

	"github.com/bloomery/bloomery/internal/memory"
	"github.com/bloomery/bloomery/internal/resp"
	"github.com/bloomery/bloomery/server/internal/command"
	"github.com/bloomery/bloomery/server/internal/door/local"
)

// Config is what a server is made from. The zero value of a field means its
// default.
type Config struct {
	// Addr is where clients connect: "127.0.0.1:6379".
	Addr string
	// Password is what clients must give, "" for none.
	Password string
	// ProtectedMode refuses clients of other machines while there is no
	// password.
	ProtectedMode bool
	// MaxMemory bounds the memory of names, filters, strings and large
	// buffers, in bytes: 75% of this machine's.
	MaxMemory int64
	// MaxClients bounds the number of connections: 10,000.
	MaxClients int
	// MaxQuery bounds one command, in bytes: 512 MiB.
	MaxQuery int
	// IdleTimeout is when a client that sends nothing is closed; 0 for never.
	IdleTimeout time.Duration
	// WriteTimeout is when a client that takes no replies is closed: 60 s.
	WriteTimeout time.Duration
	// DrainTimeout is how long a shutdown waits for clients: 10 s.
	DrainTimeout time.Duration
	// Dir is the folder that data is kept in; "" keeps it in memory only.
	Dir string
	// Fsync says when writes are durable: always, everysec (the default) or
	// no.
	Fsync string
	// Defaults are the parameters of filters made without saying.
	Defaults Defaults
	// Log is where the server says what it does; nil for nowhere.
	Log *slog.Logger
	// Version and File are what INFO shows.
	Version, File string
}

// Defaults are the parameters of filters made without saying.
type Defaults = command.Defaults

// RedisBloomDefaults returns the defaults of RedisBloom.
func RedisBloomDefaults() Defaults { return command.RedisBloomDefaults() }

// ParseBytes reads a number of bytes as CONFIG SET takes it: 100mb, 2GiB.
func ParseBytes(s string) (int64, bool) { return command.ParseBytes(s) }

// DefaultMaxMemory is MaxMemory where it is not set: three quarters of the memory
// that this process may have.
func DefaultMaxMemory() int64 { return int64(memory.Limit() / 4 * 3) }

// Check reports what is wrong with a configuration. It opens nothing.
func (c Config) Check() error {
	_, err := c.complete()
	return err
}

// complete fills in defaults and checks the rest.
func (c Config) complete() (Config, error) {
	if c.Addr == "" {
		c.Addr = "127.0.0.1:6379"
	}
	if _, _, err := net.SplitHostPort(c.Addr); err != nil {
		return c, fmt.Errorf("server: addr %q: %w", c.Addr, err)
	}
	if c.MaxMemory == 0 {
		c.MaxMemory = DefaultMaxMemory()
	}
	setDefault(&c.Fsync, "everysec")
	setDefault(&c.MaxClients, 10_000)
	setDefault(&c.MaxQuery, 512<<20)
	setDefault(&c.WriteTimeout, time.Minute)
	setDefault(&c.DrainTimeout, 10*time.Second)
	if c.Defaults == (Defaults{}) {
		c.Defaults = RedisBloomDefaults()
	}
	if err := c.Defaults.Check(); err != nil {
		return c, err
	}
	if _, err := local.ParseFsync(c.Fsync); err != nil {
		return c, fmt.Errorf("server: %w", err)
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.MaxMemory < 0 || c.MaxClients < 0 || c.MaxQuery < 0 || c.IdleTimeout < 0 || c.WriteTimeout < 0 || c.DrainTimeout < 0 {
		return c, errors.New("server: a limit is negative")
	}
	return c, nil
}

func setDefault[T comparable](v *T, value T) {
	var zero T
	if *v == zero {
		*v = value
	}
}

// parameters are the settings that CONFIG GET shows and CONFIG SET cannot change.
func (c *Config) parameters() map[string]string {
	host, port, _ := net.SplitHostPort(c.Addr)
	protected := "no"
	if c.ProtectedMode {
		protected = "yes"
	}
	return map[string]string{
		"dir":                       c.Dir,
		"appendfsync":               c.Fsync,
		"bind":                      host,
		"port":                      port,
		"protected-mode":            protected,
		"proto-max-bulk-len":        strconv.Itoa(c.MaxQuery),
		"client-query-buffer-limit": strconv.Itoa(c.MaxQuery),
	}
}

func resetParser(maxQuery int, guest bool) resp.Parser {
	return resp.Parser{MaxLength: maxQuery, Guest: guest}
}

func inUse(err error) bool { return errors.Is(err, syscall.EADDRINUSE) }
