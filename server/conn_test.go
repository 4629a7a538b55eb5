package server

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"
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
	s.admit(ours, false)
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

// TestRefusalsAreForetold asks for a warning at the start if other machines can connect and are refused, since there is no
// password; and for the URL of the page.
func TestRefusalsAreForetold(t *testing.T) {
	for _, tt := range []struct {
		addr, password string
		open, want     bool
	}{{"0.0.0.0:0", "", false, true}, {"127.0.0.1:0", "", false, false}, {"0.0.0.0:0", "secret", false, false}, {"0.0.0.0:0", "", true, false}} {
		var log bytes.Buffer
		s, err := New(t.Context(), Config{Addr: []string{tt.addr}, HTTP: []string{"127.0.0.1:0"}, Password: tt.password, ProtectedMode: !tt.open, Log: slog.New(slog.NewTextHandler(&log, nil))})
		if err != nil {
			t.Fatal(err)
		}
		page := s.HTTPAddr().String()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := s.Serve(ctx); err != nil {
			t.Error(err)
		}
		text := log.String()
		if got := strings.Contains(text, "level=WARN msg=\"clients of other machines are refused"); got != tt.want {
			t.Errorf("%+v: a warning is %v\n%s", tt, got, text)
		}
		if !strings.Contains(text, " http=http://"+page+" ") {
			t.Errorf("the line ready does not have the URL of %s:\n%s", page, text)
		}
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
