package server_test

import (
	"bufio"
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/bloomery/bloomery/server"
)

// tokenOf returns the token of raw news.
func tokenOf(t *testing.T, raw string) string {
	t.Helper()
	lines := strings.SplitN(raw, "\r\n", 4)
	if len(lines) < 4 || lines[0] != "*4" {
		t.Fatalf("news are %.200q", raw)
	}
	return lines[2]
}

// nothing is in raw news that have no piece.
const nothing = ":0\r\n*0\r\n"

// A client that waits gets every change, whether it came before or after it asked, on every
// kind of connection.
func TestNewsWait(t *testing.T) {
	config, _, trust := secured(t, server.Config{})
	plain, err := server.New(t.Context(), server.Config{Addr: []string{"127.0.0.1:0"}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- plain.Serve(ctx) }()
	defer func() { cancel(); <-done }()
	inside, err := plain.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer inside.Close()
	secureAddr := start(t, config)
	for name, pair := range map[string][2]*client{
		"TCP":        {dial(t, plain.Addr().String()), dial(t, plain.Addr().String())},
		"in process": {{t, inside, bufio.NewReader(inside)}, dial(t, plain.Addr().String())},
		"TLS":        {dialTLS(t, secureAddr, trust), dialTLS(t, secureAddr, trust)},
	} {
		follower, writer := pair[0], pair[1]
		key := strings.ReplaceAll(name, " ", "-")
		writer.expect("+OK\r\n", "FILTER.CREATE", key, "bloom", "CAPACITY", "10000")
		token := tokenOf(t, follower.do("FILTER.NEWS", key))
		for i := range 30 {
			if _, err := follower.nc.Write(request("FILTER.NEWS", key, "SINCE", token, "BLOCK", "600000")); err != nil {
				t.Fatal(err)
			}
			if i%3 == 0 { // it surely waits
				writer.do("PING")
			}
			writer.do("FILTER.ADD", key, fmt.Sprint("key ", i))
			raw := follower.reply()
			if !strings.Contains(raw, "\r\nbits\r\n") {
				t.Fatalf("%s: round %d: %.200q", name, i, raw)
			}
			token = tokenOf(t, raw)
		}
		raw := follower.do("FILTER.NEWS", key, "SINCE", token, "BLOCK", "20")
		if !strings.Contains(raw, nothing) || tokenOf(t, raw) != token {
			t.Errorf("%s: a wait that nothing happens in: %q", name, raw)
		}
	}
}

// Whatever the client sends ends its wait, be it an empty command; what it had sent before is
// answered first, and a transaction does not wait.
func TestNewsWaitEnds(t *testing.T) {
	addr := start(t, server.Config{})
	c := dial(t, addr)
	c.expect("+OK\r\n", "FILTER.CREATE", "f", "bloom", "CAPACITY", "1000")
	token := tokenOf(t, c.do("FILTER.NEWS", "f"))
	wait := request("FILTER.NEWS", "f", "SINCE", token, "BLOCK", "600000")
	send := func(b []byte) {
		t.Helper()
		if _, err := c.nc.Write(b); err != nil {
			t.Fatal(err)
		}
	}
	answered := func(want string) {
		t.Helper()
		if got := c.reply(); !strings.Contains(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
	send(append(request("PING"), wait...)) // in one piece: the first is answered, the second waits
	answered("+PONG\r\n")
	ping := request("PING")
	send(ping[:5]) // a part of a command is something, too
	answered(nothing)
	send(ping[5:])
	answered("+PONG\r\n")
	send(append(append([]byte(nil), wait...), ping...))
	answered(nothing)
	answered("+PONG\r\n")
	send(wait[:10])
	send(wait[10:])
	send(ping)
	answered(nothing)
	answered("+PONG\r\n")
	send(append(append(request("MULTI"), wait...), request("EXEC")...))
	answered("+OK\r\n")
	answered("+QUEUED\r\n")
	answered(nothing)
	other := dial(t, addr)
	blocked := func(n int) {
		t.Helper()
		waitFor(t, func() bool {
			return strings.Contains(other.do("INFO", "clients"), fmt.Sprintf("blocked_clients:%d\r\n", n))
		}, "INFO shows another number of blocked clients")
	}
	blocked(0)
	for _, empty := range []string{"\r\n", "*0\r\n", "*-1\r\n"} {
		send(append(append([]byte(nil), wait...), empty...))
		answered(nothing)
		send(wait)
		blocked(1)
		send([]byte(empty))
		answered(nothing)
	}
	send(wait)
	blocked(1)
	other.expect("+OK\r\n", "RENAME", "f", "g")
	answered("-ERR not found\r\n")
	other.expect("+OK\r\n", "RENAME", "g", "f")
	send(wait)
	other.expect(":1\r\n", "DEL", "f")
	answered("-ERR not found\r\n")
	blocked(0)
}

// Clients that leave while they wait leave nothing behind, and a server that ends does not
// wait for those who do.
func TestNewsWaitIsLeft(t *testing.T) {
	addr, stop := startStop(t, server.Config{})
	c := dial(t, addr)
	c.expect("+OK\r\n", "FILTER.CREATE", "f", "bloom", "CAPACITY", "1000")
	token := tokenOf(t, c.do("FILTER.NEWS", "f"))
	for i := range 20 {
		w := dial(t, addr)
		for range i % 10 { // the end of a stream is looked for otherwise on a connection that is not new
			w.do("PING")
		}
		if _, err := w.nc.Write(request("FILTER.NEWS", "f", "SINCE", token, "BLOCK", "3600000")); err != nil {
			t.Fatal(err)
		}
		_ = w.nc.Close()
	}
	waitFor(t, func() bool { return strings.Count(c.do("CLIENT", "LIST"), "id=") == 1 }, "clients that have left are still listed")
	c.expect("*1\r\n:1\r\n", "FILTER.ADD", "f", "x")
	token = tokenOf(t, c.do("FILTER.NEWS", "f"))
	waits := dial(t, addr)
	waits.do("CLIENT", "SETNAME", "waits")
	if _, err := waits.nc.Write(request("FILTER.NEWS", "f", "SINCE", token, "BLOCK", "3600000")); err != nil {
		t.Fatal(err)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	if !waits.closed() {
		t.Error("a client that waits is kept when the server ends")
	}
}

// Followers that wait, and for whose news there is no memory, get them when there is some.
func TestNewsInTurn(t *testing.T) {
	addr := start(t, server.Config{MaxMemory: 12 << 20})
	c := dial(t, addr)
	for _, key := range []string{"f", "g"} { // 1.2 MB each, 4 MB for an answer
		c.expect("+OK\r\n", "FILTER.CREATE", key, "bloom", "CAPACITY", "1000000")
	}
	c.do("FILTER.ADD", "g", "x")
	token := tokenOf(t, c.do("FILTER.NEWS", "f"))
	c.expect("+OK\r\n", "FILTER.CREATE", "large", "bloom", "CAPACITY", "5800000")
	const n = 20
	replies := make(chan string, n)
	for range n {
		w := dial(t, addr)
		if _, err := w.nc.Write(request("FILTER.NEWS", "f", "SINCE", token, "BLOCK", "3600000")); err != nil {
			t.Fatal(err)
		}
		go func() { replies <- w.reply() }()
	}
	blocked := func() {
		t.Helper()
		waitFor(t, func() bool {
			return strings.Contains(c.do("INFO", "clients"), fmt.Sprintf("blocked_clients:%d\r\n", n))
		}, "INFO shows another number of blocked clients")
	}
	blocked()
	c.expect("+OK\r\n", "FILTER.UNION", "f", "g")
	for range 100 { // they look, and wait on
		if raw := c.do("FILTER.NEWS", "f"); !strings.HasPrefix(raw, "-OOM") {
			t.Fatalf("without memory: %.200q", raw)
		}
	}
	blocked()
	c.expect(":1\r\n", "DEL", "large")
	for range n {
		if raw := <-replies; !strings.Contains(raw, "\r\nwhole\r\n") {
			t.Errorf("a follower got %.200q", raw)
		}
	}
}
