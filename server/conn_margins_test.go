package server

// Connections at their margins: any net.Conn, listeners that fail, the patrol.

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/bloomery/bloomery/internal/resp"
	"github.com/bloomery/bloomery/server/internal/engine"
)

// newServer returns a server that does not serve, and is closed at the end.
func newServer(t *testing.T, c Config) *Server {
	t.Helper()
	c.Addr = []string{"127.0.0.1:0"}
	s, err := New(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return s
}

// piped returns a client of a connection that has no descriptor.
func piped(t *testing.T) (ours, theirs net.Conn) {
	t.Helper()
	ours, theirs = net.Pipe()
	t.Cleanup(func() { _ = theirs.Close() })
	_ = theirs.SetDeadline(time.Now().Add(time.Minute))
	return ours, theirs
}

// TestAnyConn serves a connection that is not a socket, as on systems where those are
// served in the same way: whole commands, pieces of one, and the end.
func TestAnyConn(t *testing.T) {
	s := newServer(t, Config{})
	s.quiet = time.Millisecond
	ours, theirs := piped(t)
	s.admit(guest{nc: ours})
	r := bufio.NewReader(theirs)
	for _, pieces := range [][]string{{"PING\r\n"}, {"*1\r\n$4\r\nPI", "NG\r\n"}, {"P", "I", "N", "G", "\r\n"}} {
		for _, p := range pieces {
			if _, err := theirs.Write([]byte(p)); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := r.ReadString('\n'); got != "+PONG\r\n" || err != nil {
			t.Fatalf("%q: %q, %v", pieces, got, err)
		}
	}
	if _, err := theirs.Write([]byte("ECHO ")); err != nil { // the beginning of a command counts
		t.Fatal(err)
	}
	for _, c := range s.connections() {
		c.drain()
	}
	if rest, err := io.ReadAll(r); len(rest) > 0 || err != nil {
		t.Errorf("at the end: %q, %v", rest, err)
	}
	s.wg.Wait()
	if n, held := len(s.connections()), s.engine.Budget.Clients(); n != 0 || held != 0 {
		t.Errorf("%d connections and %d bytes are left", n, held)
	}
}

// scripted is a listener that accepts what it is given: errors and connections.
type scripted struct {
	net.Listener
	all []any
}

func (l *scripted) Accept() (net.Conn, error) {
	next := l.all[0]
	l.all = l.all[1:]
	if nc, ok := next.(net.Conn); ok {
		return nc, nil
	}
	return nil, next.(error)
}

// TestAcceptGoesOn asks that a listener that fails, as one does without descriptors,
// is asked again until it is closed.
func TestAcceptGoesOn(t *testing.T) {
	var log bytes.Buffer
	s := newServer(t, Config{Log: slog.New(slog.NewTextHandler(&log, nil))})
	ours, theirs := piped(t)
	l := &scripted{all: []any{errors.New("too many open files"), ours, net.ErrClosed}}
	s.accept(listener{Listener: l})
	if text := log.String(); !strings.Contains(text, `level=WARN msg="accept failed" error="too many open files"`) {
		t.Errorf("the log is\n%s", text)
	}
	if len(l.all) > 0 || s.accepted.Load() != 1 {
		t.Fatalf("%d clients were accepted, want 1; left is %v", s.accepted.Load(), l.all)
	}
	if _, err := theirs.Write([]byte("PING\r\n")); err != nil {
		t.Fatal(err)
	}
	if got, err := bufio.NewReader(theirs).ReadString('\n'); got != "+PONG\r\n" {
		t.Errorf("the client behind the error: %q, %v", got, err)
	}
}

// TestOverdue asks when the patrol closes which connections.
func TestOverdue(t *testing.T) {
	const idleReason, partReason, replyReason = "idle timeout", "middle of a command", "take its replies"
	const stalled = time.Minute
	began := time.Unix(1_700_000_000, 0)
	for _, tt := range []struct {
		phase       uint64
		idle, quiet time.Duration
		want        string
	}{
		{waiting, 0, time.Hour, ""},
		{waiting, 10 * time.Second, 10*time.Second - 1, ""},
		{waiting, 10 * time.Second, 10 * time.Second, idleReason},
		{partial, 0, stalled - 1, ""},
		{partial, 0, stalled, partReason},
		{partial, 10 * time.Second, 10 * time.Second, partReason},
		{partial, 10 * time.Second, 10*time.Second - 1, ""},
		{running, 10 * time.Second, time.Hour, ""},
		{writing, 10 * time.Second, stalled - 1, ""},
		{writing, 0, stalled, replyReason},
	} {
		c := &conn{session: engine.NewSession(1, "", "", began, func() {})}
		c.state.Store(5*phases + tt.phase)
		if got := c.overdue(began, tt.idle, stalled); got != "" {
			t.Errorf("%+v: closed at the first look: %s", tt, got)
		}
		if got := c.overdue(began.Add(tt.quiet), tt.idle, stalled); got != tt.want && (tt.want == "" || !strings.Contains(got, tt.want)) {
			t.Errorf("%+v: %q", tt, got)
		}
		c.state.Store(6*phases + tt.phase)
		if got := c.overdue(began.Add(2*time.Hour), tt.idle, stalled); got != "" {
			t.Errorf("%+v: closed in spite of progress: %s", tt, got)
		}
	}
}

// TestUnreadRepliesCount asks that buffers of clients that read nothing count, up to
// the limit for all of them together.
func TestUnreadRepliesCount(t *testing.T) {
	s := newServer(t, Config{MaxMemory: 64 << 20}) // of which an eighth is less than 16 MiB
	c := &conn{server: s, session: engine.NewSession(1, "", "", time.Now(), func() {})}
	check := func(when string, want int64) {
		t.Helper()
		if held, unread := s.engine.Budget.Clients(), s.unread.Load(); held != want || unread != want {
			t.Errorf("%s: %d bytes are held, %d count as unread, want %d", when, held, unread, want)
		}
	}
	if !s.waitsForReader(c, minUnread) {
		t.Error("as much as the limit is refused")
	}
	check("at the limit", minUnread)
	if s.waitsForReader(c, 1) {
		t.Error("a byte more than the limit is allowed")
	}
	check("after the refusal", minUnread)
	s.readerWentOn(c, minUnread)
	check("at the end", 0)
}

// TestRoomForArgumentsCounts asks that room for arguments counts before they are there.
func TestRoomForArgumentsCounts(t *testing.T) {
	s := newServer(t, Config{MaxMemory: 64 << 20})
	c := &conn{server: s, session: engine.NewSession(1, "", "", time.Now(), func() {}), parser: resp.Parser{Room: maxArgs}}
	for _, want := range []int64{maxArgs * argumentBytes, 3 * maxArgs * argumentBytes} {
		if err := c.moreRoom(); err != nil {
			t.Fatal(err)
		}
		if got := s.engine.Budget.Clients(); got != want {
			t.Errorf("room for %d arguments: %d bytes count, want %d", c.parser.Room, got, want)
		}
	}
	c.release()
	if got := s.engine.Budget.Clients(); got != 0 {
		t.Errorf("at the end %d bytes count", got)
	}
}

// TestLogOfALife asks for the lines of the log when a server ends, with clients and
// without.
func TestLogOfALife(t *testing.T) {
	for _, clients := range []int{0, 1} {
		var log bytes.Buffer
		s, err := New(t.Context(), Config{Addr: []string{"127.0.0.1:0"}, Log: slog.New(slog.NewTextHandler(&log, nil))})
		if err != nil {
			t.Fatal(err)
		}
		s.quiet = time.Millisecond
		for range clients {
			nc, err := s.Dial(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = nc.Close() }()
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := s.Serve(ctx); err != nil {
			t.Error(err)
		}
		text := log.String()
		if !strings.Contains(text, "msg=ready ") || !strings.HasSuffix(text, "msg=stopped\n") {
			t.Errorf("the log does not begin with ready and end with stopped:\n%s", text)
		}
		if got := strings.Contains(text, "msg=draining clients=1"); got != (clients == 1) || strings.Contains(text, "clients=0") {
			t.Errorf("the log of a server with %d clients:\n%s", clients, text)
		}
	}
}

// TestOneStreamOfAMonitor asks that a monitor has one goroutine that sends lines,
// however many commands it sends itself, and that what it is sent is counted.
func TestOneStreamOfAMonitor(t *testing.T) {
	s := newServer(t, Config{})
	nc, err := s.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = nc.Close() }()
	_ = nc.SetDeadline(time.Now().Add(time.Minute))
	r, read := bufio.NewReader(nc), int64(0)
	do := func(line, want string) {
		t.Helper()
		if _, err := nc.Write([]byte(line + "\r\n")); err != nil {
			t.Fatal(err)
		}
		for got := ""; got != want; {
			if got, err = r.ReadString('\n'); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			read += int64(len(got))
		}
	}
	do("MONITOR", "+OK\r\n")
	const commands = 10
	for range commands {
		do("PING", "+PONG\r\n")
	}
	stacks := make([]byte, 4<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	if n := bytes.Count(stacks, []byte("server.(*conn).stream(")); n > 1 {
		t.Errorf("%d goroutines send lines to one monitor", n)
	}
	other, err := s.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Close() }()
	_ = other.SetDeadline(time.Now().Add(time.Minute))
	for range commands {
		if _, err := other.Write([]byte("ECHO a\r\n")); err != nil {
			t.Fatal(err)
		}
		reply := make([]byte, len("$1\r\na\r\n"))
		if _, err := io.ReadFull(other, reply); err != nil {
			t.Fatal(err)
		}
		read += int64(len(reply))
		line, err := r.ReadString('\n')
		for err == nil && !strings.Contains(line, `"ECHO"`) {
			read += int64(len(line))
			line, err = r.ReadString('\n')
		}
		if err != nil {
			t.Fatal(err)
		}
		read += int64(len(line))
	}
	// Bytes are counted when they have been written: a moment later, perhaps.
	for until := time.Now().Add(20 * time.Second); (host{s}).Facts().BytesOut != read; time.Sleep(time.Millisecond) {
		if time.Now().After(until) {
			t.Fatalf("%d bytes count as sent, %d were read", (host{s}).Facts().BytesOut, read)
		}
	}
}
