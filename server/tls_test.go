package server_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bloomery/bloomery/server"
)

// secured returns a configuration with TLS, its authority and what a client needs.
func secured(tb testing.TB, c server.Config) (server.Config, *authority, *tls.Config) {
	tb.Helper()
	dir := tb.TempDir()
	a := newAuthority(tb, "authority")
	i := a.issue(tb, dir, "server", time.Hour)
	c.TLSCert, c.TLSKey = i.certFile, i.keyFile
	return c, a, a.trusted()
}

// overTLS makes a client of a connection.
func overTLS(tb testing.TB, nc net.Conn, config *tls.Config) *client {
	tb.Helper()
	tb.Cleanup(func() { _ = nc.Close() })
	_ = nc.SetDeadline(time.Now().Add(time.Minute))
	tc := tls.Client(nc, config)
	return &client{tb, tc, bufio.NewReader(tc)}
}

func dialTLS(tb testing.TB, addr string, config *tls.Config) *client {
	tb.Helper()
	nc, err := net.DialTimeout("tcp", addr, 20*time.Second)
	if err != nil {
		tb.Fatal(err)
	}
	return overTLS(tb, nc, config)
}

// tlsConn returns the connection below the client.
func (c *client) tlsConn() *tls.Conn { return c.nc.(*tls.Conn) }

// aliveTLS fails the test unless a new client with TLS is answered.
func aliveTLS(t *testing.T, addr string, config *tls.Config) {
	t.Helper()
	c := dialTLS(t, addr, config)
	_ = c.nc.SetDeadline(time.Now().Add(20 * time.Second))
	c.expect("+PONG\r\n", "PING")
	_ = c.nc.Close()
}

// TestTLS serves clients of both versions: single commands, pipelines in one record
// and in many, commands and replies that are far longer than a record.
func TestTLS(t *testing.T) {
	config, _, trusted := secured(t, server.Config{})
	addr := start(t, config)
	long := strings.Repeat("0123456789abcdef", 20_000)
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		trusted := trusted.Clone()
		trusted.MinVersion, trusted.MaxVersion = version, version
		c := dialTLS(t, addr, trusted)
		c.expect("+PONG\r\n", "PING")
		c.do("DEL", "k")
		c.expect(":1\r\n", "BF.ADD", "k", "a")
		if hello := c.do("HELLO", "3"); !strings.HasPrefix(hello, "%7\r\n") {
			t.Errorf("HELLO 3 = %q", hello)
		}
		c.expect("#t\r\n", "BF.EXISTS", "k", "a")
		c.expect("+OK\r\n", "SET", "long", long)
		c.expect(fmt.Sprintf("$%d\r\n%s\r\n", len(long), long), "GET", "long")
		const n = 20_000 // 840 KB: many records, which arrive in any pieces
		go func() { _, _ = c.nc.Write(bytes.Repeat(request("BF.EXISTS", "k", "a"), n)) }()
		for i := range n {
			if got := c.reply(); got != "#t\r\n" {
				t.Fatalf("reply %d of a pipeline = %q", i, got)
			}
		}
		if got := c.tlsConn().ConnectionState().Version; got != version {
			t.Errorf("version %x, want %x", got, version)
		}
		c.expect("+OK\r\n", "QUIT")
		if !c.closed() { // by a note, else it would be ErrUnexpectedEOF
			t.Error("connection is open after QUIT")
		}
	}
	old := trusted.Clone()
	old.MinVersion, old.MaxVersion = tls.VersionTLS10, tls.VersionTLS11
	if err := dialTLS(t, addr, old).tlsConn().Handshake(); err == nil {
		t.Error("TLS 1.1 is served")
	}
}

// tap is a connection that remembers what came.
type tap struct {
	net.Conn
	came []byte
}

func (t *tap) Read(p []byte) (int, error) {
	n, err := t.Conn.Read(p)
	t.came = append(t.came, p[:n]...)
	return n, err
}

// TestTLSEnd asks that the last record of a stream is the note that it ends: when the
// client quits, when it has ended its own, when it broke the protocol, and at shutdown.
func TestTLSEnd(t *testing.T) {
	config, _, trusted := secured(t, server.Config{})
	trusted.MaxVersion = tls.VersionTLS12 // whose records show their type
	addr, stop := startStop(t, config)
	for name, end := range map[string]func(*client){
		"quit":     func(c *client) { c.expect("+OK\r\n", "QUIT") },
		"half":     func(c *client) { _ = c.tlsConn().CloseWrite() },
		"protocol": func(c *client) { _, _ = c.nc.Write([]byte("*x\r\n")); c.reply() },
		"shutdown": nil,
	} {
		nc, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		tapped := &tap{Conn: nc}
		c := overTLS(t, tapped, trusted)
		c.expect("+PONG\r\n", "PING")
		if end == nil {
			defer func() {
				if err := stop(); err != nil || !c.closed() || lastRecord(tapped.came) != 21 {
					t.Errorf("%s: the last record is of type %d: %v", name, lastRecord(tapped.came), err)
				}
			}()
			continue
		}
		end(c)
		if !c.closed() || lastRecord(tapped.came) != 21 {
			t.Errorf("%s: the last record is of type %d, want an alert, 21", name, lastRecord(tapped.came))
		}
	}
}

// lastRecord returns the type of the last of some records.
func lastRecord(b []byte) (kind byte) {
	for len(b) >= 5 {
		kind = b[0]
		b = b[min(len(b), 5+int(b[3])<<8+int(b[4])):]
	}
	return kind
}

// crumbs is a connection whose writes arrive in pieces.
type crumbs struct {
	net.Conn
	rng *rand.Rand
}

func (c crumbs) Write(p []byte) (int, error) {
	for at := 0; at < len(p); {
		n := min(len(p)-at, 1+c.rng.IntN(1+len(p)/3))
		if _, err := c.Conn.Write(p[at : at+n]); err != nil {
			return at, err
		}
		at += n
		time.Sleep(time.Millisecond)
	}
	return len(p), nil
}

// TestTLSInPieces cuts records anywhere.
func TestTLSInPieces(t *testing.T) {
	t.Parallel()
	config, _, trusted := secured(t, server.Config{})
	addr := start(t, config)
	rng := rand.New(rand.NewPCG(1, 2))
	for range 5 {
		nc, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		c := overTLS(t, crumbs{nc, rng}, trusted)
		for range 20 {
			text := strings.Repeat("x", rng.IntN(40_000))
			if got := c.do("ECHO", text); got != fmt.Sprintf("$%d\r\n%s\r\n", len(text), text) {
				t.Fatalf("ECHO of %d bytes = %.40q", len(text), got)
			}
		}
	}
}

// TestTLSAddresses asks which addresses have TLS, and what those get who guess wrong.
func TestTLSAddresses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "socket")
	config, _, trusted := secured(t, server.Config{})
	config.Addr = []string{"127.0.0.1:0", "plain:127.0.0.1:0", "tls:127.0.0.1:0", "unix:" + path}
	s := open0(t, config)
	go func() { _ = s.Serve(context.Background()) }()
	inside(t, s).expect("+PONG\r\n", "PING") // Dial has none
	c := dialTLS(t, s.Addr().String(), trusted)
	c.expect("+PONG\r\n", "PING")
	port := func(name string) string {
		lines := strings.Split(c.do("CONFIG", "GET", name), "\r\n")
		return "127.0.0.1:" + lines[4]
	}
	if got := port("tls-port"); got != s.Addr().String() {
		t.Errorf("tls-port is %s, want %s", got, s.Addr())
	}
	dial(t, port("port")).expect("+PONG\r\n", "PING")
	nc, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = nc.Close() }()
	(&client{t, nc, bufio.NewReader(nc)}).expect("+PONG\r\n", "PING")

	guess := dial(t, s.Addr().String())
	guess.expect("-ERR this address expects TLS: connect with --tls\r\n", "PING")
	if !guess.closed() {
		t.Error("a client without TLS is still connected")
	}
	if err := dialTLS(t, port("port"), trusted).tlsConn().Handshake(); err == nil {
		t.Error("a handshake without TLS succeeded")
	}

	for addr, want := range map[string]string{
		"tls:127.0.0.1:0": "needs a certificate",
		"plain:":          "want HOST:PORT",
		"tls:/x/y":        "want HOST:PORT",
	} {
		if s, err := server.New(t.Context(), server.Config{Addr: []string{addr}}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("New(%q) = %v, %v, want an error with %q", addr, s, err, want)
		}
	}
}

// TestTLSClientCertificates asks for certificates of clients.
func TestTLSClientCertificates(t *testing.T) {
	dir := t.TempDir()
	a, stranger := newAuthority(t, "authority"), newAuthority(t, "stranger")
	cert := a.issue(t, dir, "server", time.Hour)
	good, bad, late := a.issue(t, dir, "good", time.Hour), stranger.issue(t, dir, "bad", time.Hour), a.issue(t, dir, "late", -time.Minute)
	for auth, want := range map[tls.ClientAuthType]map[string]bool{ // who is served
		tls.NoClientCert:               {"none": true, "good": true, "bad": true, "late": true},
		tls.VerifyClientCertIfGiven:    {"none": true, "good": true},
		tls.RequireAndVerifyClientCert: {"good": true},
	} {
		addr := start(t, server.Config{TLSCert: cert.certFile, TLSKey: cert.keyFile, TLSCA: a.file(t, dir, "ca.crt"), TLSAuthClients: auth})
		for who, show := range map[string][]*issued{"none": nil, "good": {good}, "bad": {bad}, "late": {late}} {
			for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
				config := a.trusted()
				config.MaxVersion = version
				// Shown even where the server names other authorities.
				config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
					if len(show) == 0 {
						return new(tls.Certificate), nil
					}
					return &show[0].pair, nil
				}
				c := dialTLS(t, addr, config)
				_, err := c.nc.Write(request("PING"))
				if err == nil {
					_, err = readRaw(nil, c.r)
				}
				if served := err == nil; served != want[who] {
					t.Errorf("%v, %s, version %x: %v", auth, who, version, err)
				}
				if err != nil && !strings.Contains(err.Error(), "tls: ") {
					t.Errorf("%v, %s, version %x: the client does not learn why: %v", auth, who, version, err)
				}
			}
		}
	}
}

// TestTLSHalfClose has clients end their stream right behind their commands, with a
// note and without: each gets its replies and then the end.
func TestTLSHalfClose(t *testing.T) {
	config, _, trusted := secured(t, server.Config{})
	addr := start(t, config)
	var wg sync.WaitGroup
	for id := range 24 {
		wg.Go(func() {
			c := dialTLS(t, addr, trusted)
			for range id % 8 {
				c.expect("+PONG\r\n", "PING")
			}
			n := 1 + id%3
			_, _ = c.nc.Write(bytes.Repeat(request("PING"), n))
			if id%2 == 0 {
				_ = c.tlsConn().CloseWrite()
			} else {
				_ = c.tlsConn().NetConn().(*net.TCPConn).CloseWrite()
			}
			if got, err := io.ReadAll(c.r); err != nil || string(got) != strings.Repeat("+PONG\r\n", n) {
				t.Errorf("client %d: %q, %v, want %d replies and the end", id, got, err, n)
			}
		})
	}
	wg.Wait()
	gone(t, dialTLS(t, addr, trusted), "cmd=ping")
}

// TestTLSLimits has clients with TLS run into every limit that others have.
func TestTLSLimits(t *testing.T) {
	const limit = 3 * time.Second // for handshakes and commands too, which are short: others may compute
	const value = 256 << 10
	t.Run("partial", func(t *testing.T) {
		t.Parallel()
		config, _, trusted := secured(t, server.Config{WriteTimeout: limit})
		addr := start(t, config)
		quiet := dialTLS(t, addr, trusted)
		quiet.expect("+PONG\r\n", "PING")
		command := dialTLS(t, addr, trusted)
		_, _ = command.nc.Write([]byte("*2\r\n$4\r\nECHO\r\n"))
		record := dialTLS(t, addr, trusted)
		record.expect("+PONG\r\n", "PING")
		_, _ = record.tlsConn().NetConn().Write([]byte{23, 3, 3, 0x20, 0, 1, 2, 3})
		for what, c := range map[string]*client{"command": command, "record": record} {
			if !c.ended() {
				t.Errorf("a client stopped in the middle of a %s and its connection is open", what)
			}
		}
		drops := dialTLS(t, addr, trusted)
		drops.expect("+PONG\r\n", "PING")
		_, _ = drops.tlsConn().NetConn().Write([]byte{23, 3, 3, 0x20, 0})
		began := time.Now()
		for time.Since(began) < 30*time.Second {
			if _, err := drops.tlsConn().NetConn().Write([]byte("x")); err != nil {
				break
			}
			time.Sleep(100 * time.Millisecond)
		}
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("a record of ten bytes a second was waited for %v", took)
		}
		quiet.expect("+PONG\r\n", "PING")
	})
	t.Run("idle", func(t *testing.T) {
		t.Parallel()
		config, _, trusted := secured(t, server.Config{IdleTimeout: time.Second})
		c := dialTLS(t, start(t, config), trusted)
		if !c.ended() {
			t.Error("an idle client was not closed")
		}
	})
	t.Run("output", func(t *testing.T) {
		t.Parallel()
		config, _, trusted := secured(t, server.Config{WriteTimeout: limit})
		addr := start(t, config)
		c, other := dialTLS(t, addr, trusted), dialTLS(t, addr, trusted)
		other.expect("+PONG\r\n", "PING")
		c.expect("+OK\r\n", "CLIENT", "SETNAME", "reader")
		c.expect("+OK\r\n", "SET", "s", strings.Repeat("x", value))
		_, _ = c.nc.Write(bytes.Repeat(request("GET", "s"), 320<<20/value)) // and reads nothing
		gone(t, other, "name=reader")
	})
	t.Run("query", func(t *testing.T) {
		t.Parallel()
		config, _, trusted := secured(t, server.Config{MaxQuery: 1 << 20})
		c := dialTLS(t, start(t, config), trusted)
		go func() {
			_, _ = c.nc.Write(request("BF.MADD", "k", strings.Repeat("x", 1<<20), strings.Repeat("y", 1<<20)))
		}()
		if got := c.reply(); !strings.HasPrefix(got, "-ERR Protocol error: query larger") {
			t.Errorf("a query above the limit = %.100q", got)
		}
	})
	t.Run("query ends", func(t *testing.T) {
		t.Parallel()
		const limit = 64 << 10
		config, _, trusted := secured(t, server.Config{MaxQuery: limit})
		c := dialTLS(t, start(t, config), trusted)
		item := strings.Repeat("x", limit-100)
		query := request("BF.MADD", "k", item, item, item)
		// The largest buffer has the limit and 64 KiB. The last byte fills it: nothing
		// is on its way when the server complains.
		if _, err := c.nc.Write(query[:2*limit]); err != nil {
			t.Fatal(err)
		}
		if got := c.reply(); !strings.HasPrefix(got, "-ERR Protocol error: query larger") || !c.closed() {
			t.Errorf("a query above the limit = %.100q, or the connection goes on", got)
		}
	})
	t.Run("protocol", func(t *testing.T) {
		t.Parallel()
		config, _, trusted := secured(t, server.Config{})
		c := dialTLS(t, start(t, config), trusted)
		_, _ = c.nc.Write(append(request("PING"), "*x\r\n"...))
		if got := c.reply() + c.reply(); got != "+PONG\r\n-ERR Protocol error: invalid multibulk length\r\n" || !c.closed() {
			t.Errorf("a broken stream = %q", got)
		}
	})
	t.Run("slow reader", func(t *testing.T) {
		t.Parallel()
		config, _, trusted := secured(t, server.Config{WriteTimeout: limit})
		addr := start(t, config)
		const size = 16 << 20 / chaosFactor / value * value
		buf := make([]byte, 256<<10)
		unlessHeldUp(t, limit, func(step func()) error {
			c := dialTLS(t, addr, trusted)
			c.expect("+OK\r\n", "SET", "s", strings.Repeat("x", value))
			_, _ = c.nc.Write(bytes.Repeat(request("GET", "s"), size/value))
			for got, began := 0, time.Now(); got < size; {
				if time.Since(began) < limit+2*time.Second {
					time.Sleep(50 * time.Millisecond)
				}
				step()
				n, err := c.r.Read(buf)
				if err != nil {
					return fmt.Errorf("after %v and %d bytes: %w", time.Since(began), got, err)
				}
				got += n
			}
			return nil
		})
	})
}

// ended reports whether the server ended the connection, in whatever way.
func (c *client) ended() bool {
	_ = c.nc.SetReadDeadline(time.Now().Add(20 * time.Second))
	_, err := c.r.ReadByte()
	return err != nil && !isTimeout(err)
}

// TestTLSKill kills clients with TLS: while they wait, while they take no replies, and
// in their handshake.
func TestTLSKill(t *testing.T) {
	config, _, trusted := secured(t, server.Config{})
	addr := start(t, config)
	admin := dialTLS(t, addr, trusted)
	admin.expect("+OK\r\n", "SET", "s", strings.Repeat("x", 16<<20))
	waits, deaf := dialTLS(t, addr, trusted), dialTLS(t, addr, trusted)
	waits.expect("+PONG\r\n", "PING")
	_, _ = deaf.nc.Write(request("GET", "s"))
	hangs := dial(t, addr)
	_, _ = hangs.nc.Write([]byte{22, 3, 1})
	waitFor(t, func() bool { return strings.Count(admin.do("CLIENT", "LIST"), "id=") == 4 }, "not all clients are there")
	waitFor(t, func() bool { return strings.Contains(admin.do("CLIENT", "LIST"), "cmd=get") }, "the long reply is not on its way")
	if got := admin.do("CLIENT", "KILL", "TYPE", "NORMAL"); got != ":3\r\n" {
		t.Errorf("CLIENT KILL = %q, want 3 clients", got)
	}
	waitFor(t, func() bool { return strings.Count(admin.do("CLIENT", "LIST"), "id=") == 1 }, "clients that were killed are still there")
	if !waits.ended() || !hangs.ended() {
		t.Error("a client that was killed is connected")
	}
}

// TestTLSMonitor has a monitor see what others do, while it sends commands itself.
func TestTLSMonitor(t *testing.T) {
	config, _, trusted := secured(t, server.Config{})
	addr := start(t, config)
	m, c := dialTLS(t, addr, trusted), dialTLS(t, addr, trusted)
	m.expect("+OK\r\n", "MONITOR")
	const n = 2000
	go func() {
		for i := range n {
			_, _ = c.nc.Write(request("ECHO", fmt.Sprint("number", i)))
		}
	}()
	go func() { _, _ = io.Copy(io.Discard, c.nc) }()
	pongs := 0
	for seen := 0; seen < n; {
		if seen%100 == 50 && pongs == seen/100 {
			pongs++
			_, _ = m.nc.Write(request("PING"))
		}
		if line := m.reply(); strings.Contains(line, fmt.Sprintf("%q", fmt.Sprint("number", seen))) {
			seen++
		}
	}
}

// TestTLSKeyUpdate has a client ask for new keys in the middle of its stream.
func TestTLSKeyUpdate(t *testing.T) {
	openssl, err := exec.LookPath("openssl")
	if err != nil {
		t.Skip("no openssl here")
	}
	config, _, _ := secured(t, server.Config{})
	cmd := exec.CommandContext(t.Context(), openssl, "s_client", "-connect", start(t, config), "-tls1_3", "-quiet", "-no_ign_eof", "-msg")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = in.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	late := time.AfterFunc(30*time.Second, func() { _ = cmd.Process.Kill() })
	defer late.Stop()
	lines := bufio.NewScanner(out)
	await := func(what, begin, text string) {
		t.Helper()
		for lines.Scan() {
			if strings.HasPrefix(lines.Text(), begin) && strings.Contains(lines.Text(), text) {
				return
			}
		}
		t.Fatalf("no %s", what)
	}
	for range 3 {
		_, _ = io.WriteString(in, "PING\r\n")
		await("reply", "+PONG", "")
		_, _ = io.WriteString(in, "k\n")                // new keys of the client
		await("keys of the client", ">>>", "KeyUpdate") // what is typed meanwhile it would not see
		_, _ = io.WriteString(in, "K\n")                // and of the server, which come at once
		await("new keys", "<<<", "KeyUpdate")
	}
}

// TestTLSOfAProgram gives the server a configuration of the program that carries it.
func TestTLSOfAProgram(t *testing.T) {
	a := newAuthority(t, "authority")
	i := a.issue(t, t.TempDir(), "server", time.Hour)
	asked := make(chan string, 10)
	config := &tls.Config{GetCertificate: func(h *tls.ClientHelloInfo) (*tls.Certificate, error) {
		asked <- h.Conn.RemoteAddr().String()
		return &i.pair, nil
	}}
	c := dialTLS(t, start(t, server.Config{TLS: config}), a.trusted())
	c.expect("+PONG\r\n", "PING")
	if got := <-asked; got != c.nc.LocalAddr().String() {
		t.Errorf("the client is %s, want %s", got, c.nc.LocalAddr())
	}
	if _, err := server.New(t.Context(), server.Config{TLS: config, TLSCert: i.certFile, TLSKey: i.keyFile}); err == nil {
		t.Error("files and a configuration exclude each other")
	}
}

// TestTLSProtected refuses clients of other machines that nobody knows, and says so in
// a way that they can read; one with a certificate is known.
func TestTLSProtected(t *testing.T) {
	ip := outsideAddr(t)
	dir := t.TempDir()
	a := newAuthority(t, "authority")
	cert, known := a.issue(t, dir, "server", time.Hour), a.issue(t, dir, "known", time.Hour)
	addr := start(t, server.Config{
		Addr: []string{"0.0.0.0:0"}, ProtectedMode: true,
		TLSCert: cert.certFile, TLSKey: cert.keyFile, TLSCA: a.file(t, dir, "ca.crt"), TLSAuthClients: tls.VerifyClientCertIfGiven,
	})
	_, port, _ := net.SplitHostPort(addr)
	outside := net.JoinHostPort(ip, port)
	c := dialTLS(t, outside, a.trusted())
	if got := c.reply(); !strings.HasPrefix(got, "-DENIED ") || !c.closed() {
		t.Errorf("client of another machine = %q, want -DENIED", got)
	}
	dialTLS(t, outside, a.trusted(known)).expect("+PONG\r\n", "PING")
	dialTLS(t, net.JoinHostPort("127.0.0.1", port), a.trusted()).expect("+PONG\r\n", "PING")
}

// TestTLSShutdown asks that clients get the replies to what they sent and an end in
// order, that handshakes which hang do not hold the server up, and that one that is
// not served any more is told.
func TestTLSShutdown(t *testing.T) {
	config, _, trusted := secured(t, server.Config{ShutdownTimeout: time.Minute})
	addr, stop := startStop(t, config)
	for i := range 20 {
		c := dial(t, addr)
		_, _ = c.nc.Write([]byte{22, 3, 1, 1, 0, 1}[:i%6])
	}
	c, idle := dialTLS(t, addr, trusted), dialTLS(t, addr, trusted)
	c.expect("+PONG\r\n", "PING")
	idle.expect("+PONG\r\n", "PING")
	const n = 10_000
	_, _ = c.nc.Write(bytes.Repeat(request("PING"), n))
	began := time.Now()
	ended := make(chan error, 1)
	go func() { ended <- stop() }()
	got, err := io.ReadAll(c.r)
	if err != nil || string(got) != strings.Repeat("+PONG\r\n", n) {
		t.Errorf("%d bytes of %d, %v", len(got), 7*n, err)
	}
	if !idle.closed() {
		t.Error("an idle client got no end")
	}
	if err := <-ended; err != nil || time.Since(began) > 20*time.Second {
		t.Errorf("the server ended after %v: %v", time.Since(began), err)
	}
}

// TestTLSForHTTP serves HTTP by the same certificates and the same rules: renewed ones
// too, and a shutdown does not wait for handshakes that hang.
func TestTLSForHTTP(t *testing.T) {
	config, a, trusted := secured(t, server.Config{ShutdownTimeout: time.Minute})
	var log bytes.Buffer // it is read when the server has ended
	config.Addr, config.HTTP = []string{"127.0.0.1:0"}, []string{"127.0.0.1:0", "plain:127.0.0.1:0"}
	config.Log = slog.New(slog.NewTextHandler(&log, nil))
	s := open0(t, config)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx) }()
	addr := s.HTTPAddr().String()
	healthy := func() string {
		t.Helper()
		transport := &http.Transport{TLSClientConfig: trusted, DisableKeepAlives: true}
		response, err := (&http.Client{Transport: transport, Timeout: 10 * time.Second}).Get("https://" + addr + "/metrics")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = response.Body.Close() }()
		leaf := response.TLS.PeerCertificates[0]
		body, err := io.ReadAll(response.Body)
		_, figure, _ := strings.Cut(string(body), "\nbloomery_tls_certificate_expiry_timestamp_seconds ")
		figure, _, _ = strings.Cut(figure, "\n")
		expires, _ := strconv.ParseFloat(figure, 64)
		if err != nil || response.StatusCode != http.StatusOK || int64(expires) != leaf.NotAfter.Unix() {
			t.Errorf("/metrics = %s, %v: the certificate expires at %v, want %v", response.Status, err, expires, leaf.NotAfter.Unix())
		}
		return leaf.SerialNumber.String()
	}
	before := healthy()
	a.issue(t, filepath.Dir(config.TLSCert), "server", 2*time.Hour)
	if err := s.Reload(); err != nil {
		t.Fatal(err)
	}
	if healthy() == before {
		t.Error("HTTP has the old certificate after a reload")
	}
	if response, err := http.Get("http://" + addr + "/livez"); err == nil {
		_ = response.Body.Close()
		if response.StatusCode == http.StatusOK {
			t.Error("HTTP without TLS is served where there is TLS")
		}
	}
	for range 5 {
		_, _ = dial(t, addr).nc.Write([]byte{22, 3, 1})
	}
	began := time.Now()
	cancel()
	if err := <-ended; err != nil || time.Since(began) > 20*time.Second {
		t.Errorf("the server ended after %v: %v", time.Since(began), err)
	}
	if text := log.String(); !strings.Contains(text, " http=https://"+addr+",http://127.0.0.1:") {
		t.Errorf("the line ready does not have the URLs:\n%s", text)
	}
}
