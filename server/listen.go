package server

// Addresses and listeners.

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Prefixes of addresses: the path of a socket, and whether there is TLS.
const (
	unixPrefix  = "unix:"
	tlsPrefix   = "tls:"
	plainPrefix = "plain:"
)

// Endpoint is an address of a server as package net takes it.
type Endpoint struct {
	// Network is tcp or unix, Address HOST:PORT or a path.
	Network, Address string
	// TLS means that clients have to use TLS.
	TLS bool
}

// ParseAddr reads an address as Config.Addr has it: HOST:PORT, tls:HOST:PORT,
// plain:HOST:PORT or unix:PATH. Without a prefix there is TLS if the server has a
// certificate.
func ParseAddr(addr string, certificate bool) (Endpoint, error) {
	e, err := parseAddr(addr, certificate)
	if err != nil {
		return Endpoint{}, fmt.Errorf("server: addr %q: %w", addr, err)
	}
	return e, nil
}

func parseAddr(addr string, certificate bool) (Endpoint, error) {
	if path, ok := strings.CutPrefix(addr, unixPrefix); ok {
		if path == "" {
			return Endpoint{}, errors.New("no path")
		}
		return Endpoint{Network: "unix", Address: path}, nil
	}
	e := Endpoint{Network: "tcp", Address: addr, TLS: certificate}
	if rest, ok := strings.CutPrefix(addr, tlsPrefix); ok {
		e.Address, e.TLS = rest, true
	} else if rest, ok := strings.CutPrefix(addr, plainPrefix); ok {
		e.Address, e.TLS = rest, false
	}
	_, port, err := net.SplitHostPort(e.Address)
	if err != nil {
		return Endpoint{}, errors.New("want HOST:PORT, tls:HOST:PORT, plain:HOST:PORT or unix:PATH")
	}
	if _, err := net.DefaultResolver.LookupPort(context.Background(), "tcp", port); err != nil {
		return Endpoint{}, fmt.Errorf("%q is not a port", port)
	}
	return e, nil
}

// endpoint reads an address of this configuration, from the setting that it is in.
func (c *Config) endpoint(setting, addr string) (Endpoint, error) {
	e, err := parseAddr(addr, c.hasTLS())
	switch {
	case err != nil && setting == "http":
		err = fmt.Errorf("%w, or empty for no HTTP", err)
	case err == nil && e.TLS && !c.hasTLS():
		err = errors.New("TLS needs a certificate: set tls-cert and tls-key")
	}
	if err != nil {
		return Endpoint{}, fmt.Errorf("server: %s %q: %w", setting, addr, err)
	}
	return e, nil
}

// listener is where clients come from.
type listener struct {
	net.Listener
	secure bool // with TLS
}

// claimAll binds all addresses of a configuration, or none, to learn whether that can be done
// and where they are. Then it closes them again until openAll: a client that comes while the
// server reads its data is refused, and goes to another one. A port that was asked for as 0 stays
// open: another process could be given it meanwhile, and no client knows it yet.
func (c *Config) claimAll() (all []listener, err error) {
	for _, addr := range c.Addr {
		l, err := c.listen("addr", addr)
		if err != nil {
			closeAll(all)
			return nil, err
		}
		all = append(all, l)
	}
	for i, l := range all {
		if !c.anyPort(i) {
			_ = l.Close()
		}
	}
	return all, nil
}

// openAll binds what claimAll has closed.
func (c *Config) openAll(all []listener) error {
	for i := range all {
		if c.anyPort(i) {
			continue
		}
		l, err := c.listen("addr", c.Addr[i])
		if err != nil {
			return err
		}
		all[i] = l
	}
	return nil
}

// anyPort reports whether the system chooses the port of an address.
func (c *Config) anyPort(i int) bool {
	e, err := c.endpoint("addr", c.Addr[i])
	_, port, _ := net.SplitHostPort(e.Address)
	return err == nil && e.Network == "tcp" && strings.Trim(port, "0") == ""
}

func closeAll[L net.Listener](all []L) {
	for _, l := range all {
		_ = l.Close()
	}
}

func (c *Config) listen(setting, addr string) (listener, error) {
	e, err := c.endpoint(setting, addr)
	if err != nil {
		return listener{}, err
	}
	l, err := bind(e.Network, e.Address)
	if err != nil {
		return listener{}, listenError(addr, e, err)
	}
	return listener{l, e.TLS}, nil
}

func bind(network, address string) (net.Listener, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(context.Background(), network, address)
	if err == nil || network != "unix" || !errors.Is(err, syscall.EADDRINUSE) || !abandoned(address) {
		return l, err
	}
	if err := os.Remove(address); err != nil {
		return nil, err
	}
	return lc.Listen(context.Background(), network, address)
}

// abandoned reports whether a socket was left by a process that is gone.
func abandoned(path string) bool {
	info, err := os.Lstat(path)
	if err != nil || info.Mode().Type() != fs.ModeSocket {
		return false
	}
	nc, err := net.DialTimeout("unix", path, time.Second)
	if err == nil {
		_ = nc.Close()
	}
	return errors.Is(err, syscall.ECONNREFUSED)
}

// PortError is the error of New for an address that cannot be bound. Hint is
// what to do about it, in terms of the command line.
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

func listenError(addr string, where Endpoint, err error) error {
	e := &PortError{Addr: addr, err: err, Hint: "choose an address of this machine with --addr HOST:PORT"}
	if where.Network == "unix" {
		e.Hint = "choose another path with --addr unix:PATH"
	} else if errors.Is(err, syscall.EADDRINUSE) {
		e.err = fmt.Errorf("the port is taken by another program: %w", syscall.EADDRINUSE)
		next := strings.TrimSuffix(addr, where.Address) + nextPort(where.Address)
		e.Hint = "choose another port with --addr " + next + " (or BLOOMERY_ADDR, or addr in the configuration file)"
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
