package server

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

// unixPrefix begins an address that is the path of a socket.
const unixPrefix = "unix:"

// network splits an address as Config.Addr has it into what net.Listen takes.
func network(addr string) (network, address string) {
	if path, ok := strings.CutPrefix(addr, unixPrefix); ok {
		return "unix", path
	}
	return "tcp", addr
}

// checkAddr reports what is wrong with an address.
func checkAddr(addr string) error {
	switch network, address := network(addr); {
	case network == "unix" && address == "":
		return fmt.Errorf("server: addr %q: no path", addr)
	case network == "tcp":
		if _, _, err := net.SplitHostPort(address); err != nil {
			return fmt.Errorf("server: addr %q: want HOST:PORT or unix:PATH", addr)
		}
	}
	return nil
}

// listenAll opens all addresses, or none.
func listenAll(addrs []string) ([]net.Listener, error) {
	var all []net.Listener
	for _, addr := range addrs {
		l, err := listen(addr)
		if err != nil {
			for _, l := range all {
				_ = l.Close()
			}
			return nil, listenError(addr, err)
		}
		all = append(all, l)
	}
	return all, nil
}

func listen(addr string) (net.Listener, error) {
	network, address := network(addr)
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

func listenError(addr string, err error) error {
	e := &PortError{Addr: addr, err: err, Hint: "choose an address of this machine with --addr HOST:PORT"}
	if network, _ := network(addr); network == "unix" {
		e.Hint = "choose another path with --addr unix:PATH"
	} else if errors.Is(err, syscall.EADDRINUSE) {
		e.err = fmt.Errorf("the port is taken by another program: %w", syscall.EADDRINUSE)
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
