package server_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/bloomery/bloomery/internal/resp"
	"github.com/bloomery/bloomery/server"
)

// start runs a server on a free port until the test ends and returns its
// address.
func start(tb testing.TB, c server.Config) string {
	tb.Helper()
	addr, _ := startStop(tb, c)
	return addr
}

// startStop is start for tests that stop the server themselves.
func startStop(tb testing.TB, c server.Config) (addr string, stop func() error) {
	tb.Helper()
	if len(c.Addr) == 0 {
		c.Addr = []string{"127.0.0.1:0"}
	}
	s, err := server.New(context.Background(), c)
	if err != nil {
		tb.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx) }()
	stopped := false
	stop = func() error {
		if stopped {
			return nil
		}
		stopped = true
		cancel()
		return <-done
	}
	tb.Cleanup(func() {
		if err := stop(); err != nil {
			tb.Errorf("Serve: %v", err)
		}
	})
	return s.Addr().String(), stop
}

// client is a connection that speaks raw RESP.
type client struct {
	t  testing.TB
	nc net.Conn
	r  *bufio.Reader
}

func dial(tb testing.TB, addr string) *client {
	tb.Helper()
	nc, err := (&net.Dialer{Timeout: 20 * time.Second}).DialContext(tb.Context(), "tcp", addr)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = nc.Close() })
	_ = nc.SetDeadline(time.Now().Add(10 * time.Minute)) // of all that a test asks, on a machine that may be busy
	return &client{tb, nc, bufio.NewReaderSize(nc, 4<<10)}
}

// request encodes a command.
func request(args ...string) []byte {
	b := resp.AppendArray(nil, len(args))
	for _, a := range args {
		b = resp.AppendBulk(b, a)
	}
	return b
}

// do sends a command and returns the raw reply.
func (c *client) do(args ...string) string {
	c.t.Helper()
	if _, err := c.nc.Write(request(args...)); err != nil {
		c.t.Fatalf("%q: %v", args, err)
	}
	return c.reply()
}

// reply reads one raw reply.
func (c *client) reply() string {
	c.t.Helper()
	b, err := readRaw(nil, c.r)
	if err != nil {
		c.t.Fatalf("reply: %v", err)
	}
	return string(b)
}

// expect fails the test unless a command has this reply.
func (c *client) expect(want string, args ...string) {
	c.t.Helper()
	if got := c.do(args...); got != want {
		c.t.Errorf("%.200q = %.1000q, want %.1000q", args, got, want)
	}
}

// closed reports whether the server closed the connection.
func (c *client) closed() bool {
	_ = c.nc.SetReadDeadline(time.Now().Add(20 * time.Second))
	_, err := c.r.ReadByte()
	return err == io.EOF
}

// readRaw appends one reply, of whatever type, to b.
func readRaw(b []byte, r *bufio.Reader) ([]byte, error) {
	line, err := r.ReadBytes('\n')
	b = append(b, line...)
	if err != nil || len(line) < 3 {
		return b, fmt.Errorf("line %q: %w", line, err)
	}
	n, _ := strconv.Atoi(string(line[1 : len(line)-2]))
	elems := 0
	switch line[0] {
	case '$', '=', '!':
		if n < 0 {
			return b, nil
		}
		at := len(b)
		b = append(b, make([]byte, n+2)...)
		_, err = io.ReadFull(r, b[at:])
		return b, err
	case '*', '~', '>':
		elems = n
	case '%', '|':
		elems = 2 * n
	}
	for range elems {
		if b, err = readRaw(b, r); err != nil {
			return b, err
		}
	}
	return b, nil
}

// TestNewGivesUp asks that a start that is given up while it reads its data says so,
// leaves the folder as it is and free for the next one.
func TestNewGivesUp(t *testing.T) {
	dir := t.TempDir()
	c := server.Config{Addr: []string{"127.0.0.1:0"}, Dir: dir}
	fill(t, c)
	before, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if s, err := server.New(ctx, c); s != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("New = %v, %v, want context.Canceled", s, err)
	}
	after, err := os.ReadDir(dir)
	if err != nil || fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("the folder has %v, had %v: %v", after, before, err)
	}
	s, err := server.New(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// fill stores something in the folder of c.
func fill(t *testing.T, c server.Config) {
	t.Helper()
	s, err := server.New(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error)
	go func() { served <- s.Serve(context.Background()) }()
	if got := dial(t, s.Addr().String()).do("SET", "k", "v"); got != "+OK\r\n" {
		t.Errorf("SET = %q", got)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	<-served
}
