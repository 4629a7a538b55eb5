// Package ports finds ports for servers of tests whose addresses have to be known before
// they start, or that come back to an address.
package ports

import (
	"fmt"
	"math/rand/v2"
	"net"
	"testing"
)

// Ports are below those that systems give to connections, and so are those of questions
// between nodes, 10000 above them. Who has a port listens on another one, which nobody
// else uses, until the end of the test: no test of any process on this machine is given
// the port meanwhile.
const (
	first, ports = 15_000, 7_000
	questions    = 10_000
	guards       = -ports
)

// Free returns addresses on this machine that nobody listens on, and that no other test
// is given before this one ends.
func Free(tb testing.TB, n int) []string {
	tb.Helper()
	var addrs []string
	for len(addrs) < n {
		port := first + rand.IntN(ports)
		guard, err := listen(tb, port+guards)
		if err != nil {
			continue
		}
		tb.Cleanup(func() { _ = guard.Close() })
		if !free(tb, port) || !free(tb, port+questions) {
			continue
		}
		addrs = append(addrs, address(port))
	}
	return addrs
}

func free(tb testing.TB, port int) bool {
	l, err := listen(tb, port)
	if err == nil {
		_ = l.Close()
	}
	return err == nil
}

func listen(tb testing.TB, port int) (net.Listener, error) {
	return new(net.ListenConfig).Listen(tb.Context(), "tcp", address(port))
}

func address(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }
