package server_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/internal/figures"
	"github.com/bloomery/bloomery/internal/ports"
	"github.com/bloomery/bloomery/server"
)

// A server lives inside a program: on a free port, and reachable without one.
func Example() {
	ctx, stop := context.WithCancel(context.Background())
	s, err := server.New(ctx, server.Config{Addr: []string{"127.0.0.1:0"}})
	if err != nil {
		panic(err)
	}
	ended := make(chan error)
	go func() { ended <- s.Serve(ctx) }()

	nc, err := s.Dial(ctx) // or any Redis client, at s.Addr()
	if err != nil {
		panic(err)
	}
	replies := bufio.NewScanner(nc)
	for _, command := range []string{"BF.ADD users alice", "BF.EXISTS users alice", "BF.EXISTS users bob"} {
		fmt.Fprintf(nc, "%s\r\n", command)
		replies.Scan()
		fmt.Println(command, replies.Text())
	}
	_ = nc.Close()

	stop()
	fmt.Println(<-ended)
	// Output:
	// BF.ADD users alice :1
	// BF.EXISTS users alice :1
	// BF.EXISTS users bob :0
	// <nil>
}

// inside connects to a server by Dial.
func inside(t *testing.T, s *server.Server) *client {
	t.Helper()
	nc, err := s.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = nc.Close() })
	_ = nc.SetDeadline(time.Now().Add(time.Minute))
	return &client{t, nc, bufio.NewReader(nc)}
}

func open0(t *testing.T, c server.Config) *server.Server {
	t.Helper()
	if len(c.Addr) == 0 {
		c.Addr = []string{"127.0.0.1:0"}
	}
	s, err := server.New(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// TestTwoServers runs two servers in one process: each has its own data.
func TestTwoServers(t *testing.T) {
	a, b := open0(t, server.Config{Dir: t.TempDir()}), open0(t, server.Config{Dir: t.TempDir(), Password: "x"})
	ca, cb := inside(t, a), inside(t, b)
	ca.expect(":1\r\n", "BF.ADD", "k", "a")
	cb.expect("+OK\r\n", "AUTH", "x")
	cb.expect(":0\r\n", "BF.EXISTS", "k", "a")
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	if !ca.closed() {
		t.Error("a connection is open after Close")
	}
	if _, err := a.Dial(t.Context()); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Dial after Close = %v, want net.ErrClosed", err)
	}
	cb.expect("+PONG\r\n", "PING")
}

// TestDialPipelines sends far more than a buffer takes before it reads.
func TestDialPipelines(t *testing.T) {
	c := inside(t, open0(t, server.Config{}))
	const n = 5000
	var b []byte
	for range n {
		b = append(b, request("PING")...)
	}
	if _, err := c.nc.Write(b); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		if got := c.reply(); got != "+PONG\r\n" {
			t.Fatalf("reply %d = %q", i, got)
		}
	}
}

// TestAddresses listens on several addresses, one of them a path.
func TestAddresses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "socket")
	// A socket that a process left behind is not in the way.
	left, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Skip(err)
	}
	left.SetUnlinkOnClose(false)
	_ = left.Close()
	s := open0(t, server.Config{Addr: []string{"127.0.0.1:0", "unix:" + path, "127.0.0.1:0"}, ProtectedMode: true})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx) }()
	dial(t, s.Addr().String()).expect("+PONG\r\n", "PING")
	nc, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = nc.Close() }()
	c := &client{t, nc, bufio.NewReader(nc)}
	c.expect("+PONG\r\n", "PING")
	c.expect("*2\r\n$10\r\nunixsocket\r\n$"+fmt.Sprint(len(path))+"\r\n"+path+"\r\n", "CONFIG", "GET", "unixsocket")
	if _, err := server.New(t.Context(), server.Config{Addr: []string{"unix:" + path}}); err == nil {
		t.Error("two servers listen on one path")
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("the socket is still there: %v", err)
	}
}

// TestNewLeavesNothing asks that after an error of New nothing is open: neither
// port nor folder.
func TestNewLeavesNothing(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	first := ports.Free(t, 1)[0]
	dir := t.TempDir()
	if _, err := server.New(t.Context(), server.Config{Dir: dir, Addr: []string{first, taken.Addr().String()}}); err == nil {
		t.Fatal("New on a taken port succeeded")
	}
	s := open0(t, server.Config{Dir: dir, Addr: []string{first}})
	if _, err := server.New(t.Context(), server.Config{Dir: dir, Addr: []string{"127.0.0.1:0"}}); !errors.Is(err, server.ErrLocked) {
		t.Errorf("New of a folder in use = %v, want ErrLocked", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "MANIFEST"), []byte("not a manifest"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := server.New(t.Context(), server.Config{Dir: dir, Addr: []string{first}}); !errors.Is(err, bloomery.ErrCorrupt) && !errors.Is(err, bloomery.ErrVersion) {
		t.Errorf("New of a damaged folder = %v", err)
	}
	l, err := net.Listen("tcp", first)
	if err != nil {
		t.Errorf("the port is still bound: %v", err)
	} else {
		_ = l.Close()
	}
	for _, bad := range []server.Config{
		{Addr: []string{"nonsense"}}, {Addr: []string{"unix:"}}, {MaxMemory: -1}, {MaxClients: -1}, {MaxQuery: -1}, {MaxTransaction: -1}, {IdleTimeout: -1},
		{WriteTimeout: -1}, {ShutdownTimeout: -1}, {Fsync: 3},
	} {
		if s, err := server.New(t.Context(), bad); err == nil {
			_ = s.Close()
			t.Errorf("New(%+v) succeeded", bad)
		}
	}
}

// TestServeOnce asks for the rules of Serve and Close.
func TestServeOnce(t *testing.T) {
	s := open0(t, server.Config{})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx) }()
	dial(t, s.Addr().String()).expect("+PONG\r\n", "PING")
	if err := s.Serve(ctx); err == nil {
		t.Error("a second Serve succeeded")
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("Serve = %v, want nil", err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("Close after Serve = %v", err)
	}

	s = open0(t, server.Config{})
	go func() { ended <- s.Serve(context.Background()) }()
	c := dial(t, s.Addr().String())
	c.expect("+PONG\r\n", "PING")
	if err := s.Close(); err != nil {
		t.Errorf("Close = %v", err)
	}
	if err := <-ended; err != nil {
		t.Errorf("Serve, ended by Close, = %v", err)
	}
	if err := s.Serve(context.Background()); err == nil {
		t.Error("Serve after Close succeeded")
	}
}

// TestShutdownCommand asks that SHUTDOWN ends Serve in order, and keeps all data.
func TestShutdownCommand(t *testing.T) {
	dir := t.TempDir()
	for i, args := range [][]string{{"SHUTDOWN"}, {"SHUTDOWN", "NOSAVE", "NOW"}, {"shutdown", "save", "force"}} {
		s := open0(t, server.Config{Dir: dir})
		ended := make(chan error, 1)
		go func() { ended <- s.Serve(context.Background()) }()
		c, other := dial(t, s.Addr().String()), dial(t, s.Addr().String())
		c.expect(fmt.Sprintf(":%d\r\n", i+1), "INCR", "starts")
		other.expect("+PONG\r\n", "PING")
		c.expect("-ERR syntax error\r\n", "SHUTDOWN", "SOON")
		c.expect("-ERR No shutdown in progress.\r\n", "SHUTDOWN", "ABORT")
		if _, err := c.nc.Write(request(args...)); err != nil {
			t.Fatal(err)
		}
		if !c.closed() || !other.closed() {
			t.Errorf("%v: clients got something else than the end", args)
		}
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("%v: Serve = %v", args, err)
			}
		case <-time.After(30 * time.Second):
			t.Fatalf("%v did not end the server", args)
		}
	}
}

// TestClock asks that keys expire by the clock of the configuration.
func TestClock(t *testing.T) {
	t.Parallel()
	var now atomic.Int64
	now.Store(time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano())
	addr := start(t, server.Config{Now: func() time.Time { return time.Unix(0, now.Load()) }})
	c := dial(t, addr)
	c.expect("+OK\r\n", "SET", "s", "x", "EX", "100")
	c.expect(":100\r\n", "TTL", "s")
	now.Add(int64(90 * time.Second))
	c.expect(":10\r\n", "TTL", "s")
	now.Add(int64(time.Hour))
	c.expect("$-1\r\n", "GET", "s")
	now.Add(-int64(24 * time.Hour))
	c.expect("+PONG\r\n", "PING")
}

// TestHeapLimit asks that the program learns what the heap may have: at the
// start, when large filters come, and when the limit on memory is changed.
func TestHeapLimit(t *testing.T) {
	limits := make(chan int64, 100)
	addr := start(t, server.Config{MaxMemory: 64 << 20, OnHeapLimit: func(n int64) { limits <- n }})
	next := func(what string, low, high int64) {
		t.Helper()
		select {
		case got := <-limits:
			if got < low || got > high {
				t.Errorf("%s: %d MiB, want %d to %d MiB", what, got>>20, low>>20, high>>20)
			}
		case <-time.After(20 * time.Second):
			t.Errorf("%s: no call", what)
		}
	}
	next("at the start", 65<<20, 96<<20)
	c := dial(t, addr)
	c.expect("+OK\r\n", "BF.RESERVE", "k", "0.01", "26000000")
	next("with a filter of 32 MiB", 32<<20, 60<<20)
	c.expect("+OK\r\n", "CONFIG", "SET", "maxmemory", "256mb")
	next("with a larger limit", 225<<20, 256<<20)
	c.expect(":1\r\n", "DEL", "k")
	next("without the filter", 257<<20, 290<<20)
}

// TestSettings holds the table of settings to what CONFIG shows and takes.
func TestSettings(t *testing.T) {
	var config server.Config
	for _, s := range server.Settings() {
		if err := s.Set(&config, s.Default); err != nil {
			t.Errorf("%s: default %q: %v", s.Name, s.Default, err)
		}
		if got := s.Get(&config); got != s.Default {
			t.Errorf("%s = %q after it was set to %q", s.Name, got, s.Default)
		}
		if s.Help == "" || s.Env() != "BLOOMERY_"+strings.ToUpper(strings.ReplaceAll(s.Name, "-", "_")) {
			t.Errorf("%s: help %q, environment %s", s.Name, s.Help, s.Env())
		}
		if s.Kind == server.KindString || s.Kind == server.KindList {
			continue
		}
		for _, bad := range []string{"", "many", "-1", "NaN"} {
			if bad == "NaN" && s.Kind == server.KindFloat {
				continue // Check refuses it
			}
			if err := s.Set(&config, bad); err == nil {
				t.Errorf("%s = %q is taken", s.Name, bad)
			}
		}
	}
	config.Addr, config.HTTP, config.Dir, config.Password = []string{"127.0.0.1:0"}, nil, t.TempDir(), ""
	c := dial(t, start(t, config))
	for _, s := range server.Settings() {
		lines := strings.Split(c.do("CONFIG", "GET", s.Redis), "\r\n")
		if len(lines) != 6 {
			t.Errorf("CONFIG GET %s = %q", s.Redis, lines)
			continue
		}
		got := c.do("CONFIG", "SET", s.Redis, lines[4])
		if live := got == "+OK\r\n"; live != s.Live {
			t.Errorf("CONFIG SET %s %s = %q, and the table says live=%t", s.Redis, lines[4], got, s.Live)
		}
		want := s.Get(&config)
		switch s.Kind {
		case server.KindBytes:
			n, _ := figures.Size(want)
			want = fmt.Sprint(n)
		case server.KindDuration:
			d, _ := time.ParseDuration(want)
			want = fmt.Sprint(int64(d.Seconds()))
		case server.KindBool:
			want = map[string]string{"true": "yes", "false": "no"}[want]
		}
		if lines[4] != want {
			t.Errorf("CONFIG GET %s = %q, want %q", s.Redis, lines[4], want)
		}
	}
}

// TestSecretsAreNotShown looks for the values of all secret settings in what
// CONFIG GET and INFO show.
func TestSecretsAreNotShown(t *testing.T) {
	config := server.Config{Addr: []string{"127.0.0.1:0"}}
	const secret = "open-sesame"
	for _, s := range server.Settings() {
		if s.Secret {
			if err := s.Set(&config, secret); err != nil {
				t.Fatal(err)
			}
		}
	}
	c := dial(t, start(t, config))
	c.expect("+OK\r\n", "AUTH", secret)
	for _, command := range [][]string{{"CONFIG", "GET", "*"}, {"INFO", "everything"}, {"CLIENT", "LIST"}, {"SLOWLOG", "GET"}} {
		if got := c.do(command...); len(got) < 4 || strings.Contains(got, secret) {
			t.Errorf("%q shows a secret: %q", command, got)
		}
	}
	for _, s := range server.Settings() {
		if !s.Secret {
			continue
		}
		if got := c.do("CONFIG", "GET", s.Redis); !strings.Contains(got, "(redacted)") {
			t.Errorf("CONFIG GET %s = %q, want that it is set", s.Redis, got)
		}
	}
}
