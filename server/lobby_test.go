package server

// What clients are answered while a server reads its data.

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"
)

// visitor is a client of a server that may be starting.
type visitor struct {
	t *testing.T
	net.Conn
	r *bufio.Reader
}

// visit connects as soon as somebody listens.
func visit(t *testing.T, addr string) visitor {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		nc, err := new(net.Dialer).DialContext(t.Context(), "tcp", addr)
		if err == nil {
			t.Cleanup(func() { _ = nc.Close() })
			_ = nc.SetDeadline(end)
			return visitor{t, nc, bufio.NewReader(nc)}
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
}

// expect sends something and asks for what comes back: lines that begin so.
func (v visitor) expect(sent string, want ...string) {
	v.t.Helper()
	if _, err := io.WriteString(v.Conn, sent); err != nil {
		v.t.Errorf("%.40q: %v", sent, err)
		return
	}
	for _, w := range want {
		if got, err := v.r.ReadString('\n'); err != nil || !strings.HasPrefix(got, w) {
			v.t.Errorf("%.40q = %q, %v, want %q", sent, got, err, w)
			return
		}
	}
}

// gone asks that the server has closed the connection.
func (v visitor) gone() {
	v.t.Helper()
	if b, err := v.r.ReadByte(); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		v.t.Errorf("the connection goes on with %q, %v", b, err)
	}
}

// has reports whether the lobby keeps the client of an address.
func (l *lobby) has(addr net.Addr) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for nc := range l.clients {
		if nc.RemoteAddr().String() == addr.String() {
			return true
		}
	}
	return false
}

// TestLobby asks what clients get while data is read, and that they go on with the
// same connection afterwards.
func TestLobby(t *testing.T) {
	s, err := New(t.Context(), Config{Addr: []string{"127.0.0.1:0"}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	l := s.openLobby()
	loading := "-LOADING " + whyLoading
	a := visit(t, s.Addr().String())
	a.expect("PING\r\n*2\r\n$3\r\nGET\r\n$1\r\nk\r\n\r\n", loading, loading)
	a.expect("SET k v\r\n*2\r\n$3\r\nGET\r\n$1", loading) // and the half of another one
	b := visit(t, s.Addr().String())
	b.expect("PING\r\nQUIT\r\nPING\r\n", loading, "+OK")
	b.gone()
	long := visit(t, s.Addr().String())
	long.expect(fmt.Sprintf("*2\r\n$3\r\nGET\r\n$%d\r\n%s", 2*lobbyBytes, strings.Repeat("x", lobbyBytes)), loading)
	long.gone()
	odd := visit(t, s.Addr().String())
	odd.expect("*1\r\n!\r\n", "-ERR Protocol error: expected '$'")
	odd.gone()
	silent := visit(t, s.Addr().String())
	for !l.has(silent.LocalAddr()) { // nobody accepts clients afterwards
		time.Sleep(time.Millisecond)
	}
	l.close(true)
	a.expect("\r\nk\r\nSET k v\r\n", "$-1", "+OK")
	silent.expect("GET k\r\n", "$1", "v")
}

// TestLobbyIsFull asks that clients beyond those that are kept are answered, too.
func TestLobbyIsFull(t *testing.T) {
	s, err := New(t.Context(), Config{Addr: []string{"127.0.0.1:0"}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	l := s.openLobby()
	l.mu.Lock()
	for range lobbyClients {
		other, _ := net.Pipe()
		l.clients[other] = true
	}
	l.mu.Unlock()
	v := visit(t, s.Addr().String())
	v.expect("", "-LOADING ")
	v.gone()
	l.close(false)
}

// TestLobbyTLS asks that clients with TLS are answered in TLS, and closed in the end.
func TestLobbyTLS(t *testing.T) {
	certified := httptest.NewTLSServer(nil)
	certified.Close()
	s, err := New(t.Context(), Config{Addr: []string{"127.0.0.1:0"}, TLS: &tls.Config{Certificates: certified.TLS.Certificates}}) //nolint:gosec // any version
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	l := s.openLobby()
	plain := visit(t, s.Addr().String()) // begins no handshake
	v := visit(t, s.Addr().String())
	v.Conn = tls.Client(v.Conn, &tls.Config{InsecureSkipVerify: true}) //nolint:gosec // a server of this test
	v.r = bufio.NewReader(v.Conn)
	v.expect("PING\r\nPING\r\n", "-LOADING ", "-LOADING ")
	l.close(true)
	v.gone()
	plain.gone()
}

// wordy is a client that sends all that it has, and notes what it is answered.
type wordy struct {
	net.Conn
	io.Reader
	longest, all int
}

func (w *wordy) Read(p []byte) (int, error) { return w.Reader.Read(p) }

func (w *wordy) Write(p []byte) (int, error) {
	w.longest, w.all = max(w.longest, len(p)), w.all+len(p)
	return len(p), nil
}

func (w *wordy) SetWriteDeadline(time.Time) error { return nil }

// TestLobbyGathersLittle sends many short commands at once, behind a long one for which
// the buffer has grown: the answers, which are longer, are not gathered all.
func TestLobbyGathersLittle(t *testing.T) {
	const long, short = 60_000, 50_000
	l := &lobby{answer: []byte("-LOADING " + whyLoading + "\r\n")}
	w := &wordy{Reader: strings.NewReader(fmt.Sprintf("*1\r\n$%d\r\n%s\r\n", long, strings.Repeat("x", long)) + strings.Repeat("a\n", short))}
	l.talk(w)
	if want := (short + 1) * len(l.answer); w.all != want || w.longest > lobbyReplies+len(l.answer) {
		t.Errorf("%d bytes of answers, want %d; the most at a time %d", w.all, want, w.longest)
	}
}
