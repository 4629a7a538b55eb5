package server_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bloomery/bloomery/server"
)

// alive fails the test unless a new client is answered within a limit. One that
// is killed, by a command that is still on its way, tries again.
func alive(t *testing.T, addr string) {
	t.Helper()
	var reply [7]byte
	for until := time.Now().Add(time.Minute); ; {
		nc, err := net.DialTimeout("tcp", addr, time.Until(until))
		if err != nil {
			t.Fatal(err)
		}
		_ = nc.SetDeadline(until)
		_, _ = nc.Write([]byte("PING\r\n"))
		_, err = io.ReadFull(nc, reply[:])
		_ = nc.Close()
		if err == nil && string(reply[:]) == "+PONG\r\n" {
			return
		}
		if time.Now().After(until) {
			t.Fatalf("the server is frozen: PING = %q, %v", reply, err)
		}
	}
}

// endsWithin fails the test unless the server stops in time.
func endsWithin(t *testing.T, limit time.Duration, stop func() error) {
	t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- stop() }()
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("Serve: %v", err)
		}
	case <-time.After(limit):
		t.Fatalf("the server did not end within %v", limit)
	}
}

// TestKillPatterns has clients kill each other, themselves and all at once,
// inside transactions and in the middle of pipelines.
func TestKillPatterns(t *testing.T) {
	for name, kill := range map[string][]string{
		"each other":      {"CLIENT", "KILL", "TYPE", "NORMAL"},
		"and themselves":  {"CLIENT", "KILL", "TYPE", "NORMAL", "SKIPME", "NO"},
		"by age and user": {"CLIENT", "KILL", "USER", "default", "SKIPME", "YES"},
	} {
		t.Run(name, func(t *testing.T) {
			addr, stop := startStop(t, server.Config{ShutdownTimeout: 2 * time.Second})
			const clients, rounds = 32, 8
			var wg sync.WaitGroup
			for id := range clients {
				wg.Go(func() {
					for round := range rounds {
						killAndWork(t, addr, kill, (id+round)%2 == 0)
					}
				})
			}
			wg.Wait()
			alive(t, addr)
			endsWithin(t, 30*time.Second, stop)
		})
	}
}

// killAndWork sends a pipeline with CLIENT KILL in it, and reads until it is cut
// off or answered.
func killAndWork(t *testing.T, addr string, kill []string, transaction bool) {
	nc, err := net.DialTimeout("tcp", addr, 20*time.Second)
	if err != nil {
		t.Error(err)
		return
	}
	defer func() { _ = nc.Close() }()
	_ = nc.SetDeadline(time.Now().Add(20 * time.Second))
	var b []byte
	for i := range 50 {
		b = append(b, request("BF.ADD", "k", strconv.Itoa(i))...)
	}
	if transaction {
		b = append(b, request("MULTI")...)
	}
	b = append(b, request(kill...)...)
	b = append(b, request("BF.ADD", "k", "x")...)
	if transaction {
		b = append(b, request("EXEC")...)
	}
	b = append(b, request("QUIT")...)
	_, _ = nc.Write(b)
	if _, err := io.Copy(io.Discard, nc); err != nil && isTimeout(err) {
		t.Errorf("a client was neither answered nor closed: %v", err)
	}
}

func isTimeout(err error) bool {
	ne, ok := err.(net.Error)
	return ok && ne.Timeout()
}

// TestKillWhileWriting kills a client that reads nothing while its reply is being
// written.
func TestKillWhileWriting(t *testing.T) {
	addr := start(t, server.Config{})
	other := dial(t, addr)
	other.expect("+OK\r\n", "SET", "s", strings.Repeat("x", 16<<20))
	c := dial(t, addr)
	c.expect(":2\r\n", "CLIENT", "ID")
	if _, err := c.nc.Write(request("GET", "s")); err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool { return strings.Contains(other.do("CLIENT", "LIST"), "cmd=get") }, "the client gets no reply")
	other.expect(":1\r\n", "CLIENT", "KILL", "ID", "2")
	gone(t, other, "id=2 ")
}

// gone waits until CLIENT LIST does not contain a text.
func gone(t *testing.T, c *client, text string) {
	t.Helper()
	waitFor(t, func() bool { return !strings.Contains(c.do("CLIENT", "LIST"), text) }, "a client is still there: "+text)
}

// TestShutdownUnderLoad stops the server while clients read nothing, send half
// commands and kill each other: it ends within its limit.
func TestShutdownUnderLoad(t *testing.T) {
	addr, stop := startStop(t, server.Config{ShutdownTimeout: time.Second})
	admin := dial(t, addr)
	admin.expect("+OK\r\n", "SET", "s", strings.Repeat("x", 8<<20))
	for range 10 {
		_, _ = dial(t, addr).nc.Write(bytes.Repeat(request("GET", "s"), 20))
		_, _ = dial(t, addr).nc.Write([]byte("*2\r\n$4\r\nECHO\r\n$100\r\nhal"))
	}
	done, busy := make(chan struct{}), make(chan struct{}, 1000)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for {
				select {
				case <-done:
					return
				case busy <- struct{}{}:
				default:
				}
				nc, err := net.DialTimeout("tcp", addr, time.Minute)
				if err != nil {
					return // the server has ended
				}
				_ = nc.SetDeadline(time.Now().Add(time.Second))
				_, _ = nc.Write(append(request("BF.ADD", "k", "x"), request("CLIENT", "KILL", "ID", "3")...))
				_, _ = nc.Read(make([]byte, 100))
				_ = nc.Close()
			}
		})
	}
	for range 100 { // that many clients have come
		<-busy
	}
	endsWithin(t, 30*time.Second, stop)
	close(done)
	wg.Wait()
}

// unlessHeldUp runs f, a slow client that calls step between its pieces. If it fails, and was
// itself held up for most of the timeout, it is run again: nobody can tell such a client from
// one that does nothing.
func unlessHeldUp(t *testing.T, timeout time.Duration, f func(step func()) error) {
	t.Helper()
	for {
		last, longest := time.Now(), time.Duration(0)
		err := f(func() {
			longest = max(longest, time.Since(last))
			last = time.Now()
		})
		if err == nil {
			return
		}
		if longest < timeout*2/3 {
			t.Fatal(err)
		}
		t.Logf("held up for %v: %v", longest, err)
	}
}

// TestBusyClientIsNotIdle uploads a command for longer than the idle timeout,
// piece by piece.
func TestBusyClientIsNotIdle(t *testing.T) {
	t.Parallel()
	const timeout = 3 * time.Second
	addr := start(t, server.Config{IdleTimeout: timeout})
	all := request("SET", "s", strings.Repeat("x", 1<<20))
	unlessHeldUp(t, timeout, func(step func()) error {
		c := dial(t, addr)
		for piece := range 15 { // twice as long
			step()
			from, to := piece*len(all)/15, (piece+1)*len(all)/15
			if _, err := c.nc.Write(all[from:to]); err != nil {
				return fmt.Errorf("after %d pieces of a command: %w", piece, err)
			}
			time.Sleep(400 * time.Millisecond)
		}
		step()
		if got, err := c.r.ReadString('\n'); got != "+OK\r\n" {
			return fmt.Errorf("SET in pieces = %.100q, %w", got, err)
		}
		if !c.closed() {
			t.Error("an idle client was not closed")
		}
		return nil
	})
}

// TestHalfClose has clients send a command and the end of their stream at once:
// each gets its replies and then the end of the other stream.
func TestHalfClose(t *testing.T) {
	addr := start(t, server.Config{})
	var wg sync.WaitGroup
	for id := range 40 {
		wg.Go(func() {
			nc, err := net.DialTimeout("tcp", addr, 20*time.Second)
			if err != nil {
				t.Error(err)
				return
			}
			defer func() { _ = nc.Close() }()
			_ = nc.SetDeadline(time.Now().Add(20 * time.Second))
			// Some clients have worked before: the server does not look
			// twice at every read of those.
			for range id % 10 {
				_, _ = nc.Write(request("PING"))
				if _, err := io.ReadFull(nc, make([]byte, 7)); err != nil {
					t.Error(err)
				}
			}
			n := 1 + id%3
			_, _ = nc.Write(bytes.Repeat(request("PING"), n))
			_ = nc.(*net.TCPConn).CloseWrite()
			if got, err := io.ReadAll(nc); err != nil || string(got) != strings.Repeat("+PONG\r\n", n) {
				t.Errorf("client %d: %q, %v, want %d replies and the end", id, got, err, n)
			}
		})
	}
	wg.Wait()
	gone(t, dial(t, addr), "cmd=ping")
}

// TestPartialCommandsEnd leaves commands unfinished, in silence and drop by drop:
// such clients are closed, others are not.
func TestPartialCommandsEnd(t *testing.T) {
	t.Parallel()
	addr := start(t, server.Config{WriteTimeout: time.Second})
	quiet := dial(t, addr)
	quiet.expect("+PONG\r\n", "PING")
	left := map[string]*client{}
	for _, begin := range []string{"*2\r\n$4\r\nECHO\r\n", "*", "PIN", "*2\r\n$4\r\nECHO\r\n$70000\r\n" + strings.Repeat("x", 69000)} {
		left[begin] = dial(t, addr)
		_, _ = left[begin].nc.Write([]byte(begin))
	}
	for begin, c := range left {
		if !c.closed() {
			t.Errorf("%.20q was left unfinished and its connection is open", begin)
		}
	}
	drops := dial(t, addr)
	_, _ = drops.nc.Write([]byte("*2\r\n$4\r\nECHO\r\n$1000\r\n"))
	began := time.Now()
	for time.Since(began) < 30*time.Second {
		if _, err := drops.nc.Write([]byte("x")); err != nil {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("a command of ten bytes a second was waited for %v", took)
	}
	quiet.expect("+PONG\r\n", "PING")
}

// TestSlowReaderFinishes takes a reply for twice as long as the write timeout, a
// little at a time.
func TestSlowReaderFinishes(t *testing.T) {
	t.Parallel()
	const timeout = 3 * time.Second
	addr := start(t, server.Config{WriteTimeout: timeout})
	const size = 24 << 20 / chaosFactor
	dial(t, addr).expect("+OK\r\n", "SET", "s", strings.Repeat("x", size))
	buf := make([]byte, 256<<10)
	unlessHeldUp(t, timeout, func(step func()) error {
		c := dial(t, addr)
		if err := c.nc.(*net.TCPConn).SetReadBuffer(64 << 10); err != nil {
			return err
		}
		if _, err := c.nc.Write(request("GET", "s")); err != nil {
			return err
		}
		for got, began := 0, time.Now(); got < size; {
			if time.Since(began) < 7*time.Second {
				time.Sleep(100 * time.Millisecond)
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
}

// TestTrickleReaderFinishes reads so slowly that the socket takes nothing more
// for longer than the limit: that the system sends what it has is progress.
func TestTrickleReaderFinishes(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	t.Parallel()
	const timeout = 2 * time.Second
	addr := start(t, server.Config{WriteTimeout: timeout})
	const size = 16 << 20
	dial(t, addr).expect("+OK\r\n", "SET", "s", strings.Repeat("x", size))
	buf := make([]byte, 64<<10)
	unlessHeldUp(t, timeout, func(step func()) error {
		c := dial(t, addr)
		if err := c.nc.(*net.TCPConn).SetReadBuffer(16 << 10); err != nil {
			return err
		}
		if _, err := c.nc.Write(request("GET", "s")); err != nil {
			return err
		}
		for began := time.Now(); time.Since(began) < 8*time.Second; time.Sleep(200 * time.Millisecond) {
			step()
			if _, err := c.nc.Read(buf); err != nil {
				return fmt.Errorf("a slow reader was cut off after %v: %w", time.Since(began), err)
			}
		}
		step()
		if got := dial(t, addr).do("CLIENT", "LIST"); !strings.Contains(got, "cmd=get") {
			return fmt.Errorf("the slow reader is gone: %s", got)
		}
		return nil
	})
}

// TestManyDeafClients has clients ask for much and read nothing: what waits for
// them is bounded, and others work.
func TestManyDeafClients(t *testing.T) {
	addr := start(t, server.Config{MaxMemory: 64 << 20})
	c := dial(t, addr)
	c.expect("+OK\r\n", "SET", "s", strings.Repeat("x", 8<<20))
	for range 300 {
		_, _ = dial(t, addr).nc.Write(request("GET", "s"))
	}
	alive(t, addr)
	if got := c.do("SET", "t", "x"); got != "+OK\r\n" {
		t.Errorf("SET beside clients that read nothing = %q", got)
	}
	// 300 sets of buffers, 156 KiB each, would be 46 MiB; an eighth of the memory,
	// and at least 16 MiB, is what they get. Those that are sent away need a moment.
	const most = 110
	waitFor(t, func() bool { return strings.Count(c.do("CLIENT", "LIST"), "cmd=get") <= most }, "too many clients wait with their buffers")
}

// TestReadsWithFullBudget fills the memory with data: reading and deleting still
// work, whatever the size of command and reply, and commands in pieces too.
func TestReadsWithFullBudget(t *testing.T) {
	addr := start(t, server.Config{MaxMemory: 48 << 20})
	c := dial(t, addr)
	c.expect(":1\r\n", "BF.ADD", "b", "x")
	value := strings.Repeat("x", 4<<20)
	n := 0
	for ; c.do("SET", "s"+strconv.Itoa(n), value) == "+OK\r\n"; n++ {
		if n > 20 {
			t.Fatal("there is no end of memory")
		}
	}
	c = dial(t, addr)    // a command that is too large ends its connection
	for i := range 400 { // and to the last kilobyte
		if got := c.do("SET", "small"+strconv.Itoa(i), value[:16<<10]); got != "+OK\r\n" {
			break
		}
	}
	c = dial(t, addr)
	if got := c.do("GET", "s0"); len(got) < len(value) {
		t.Errorf("GET = %.40q", got)
	}
	items := []string{"BF.MEXISTS", "b", "x"}
	for i := range 20_000 {
		items = append(items, "item"+strconv.Itoa(i))
	}
	if got := c.do(items...); !strings.HasPrefix(got, "*20001\r\n:1\r\n") {
		t.Errorf("BF.MEXISTS of 20,001 items = %.40q", got)
	}
	all := request("BF.MEXISTS", "b", value[:100_000], "x")
	for len(all) > 0 {
		piece := min(len(all), 30_000)
		_, _ = c.nc.Write(all[:piece])
		all = all[piece:]
		time.Sleep(20 * time.Millisecond)
	}
	if got := c.reply(); got != "*2\r\n:0\r\n:1\r\n" {
		t.Errorf("BF.MEXISTS in pieces = %.40q", got)
	}
	keys := []string{"DEL"}
	for i := range n + 2000 {
		keys = append(keys, "s"+strconv.Itoa(i))
	}
	c.expect(fmt.Sprintf(":%d\r\n", n), keys...)
	c.expect("+OK\r\n", "SET", "s", value)
}

// TestManyArguments sends commands whose arguments take more memory than their
// bytes.
func TestManyArguments(t *testing.T) {
	addr := start(t, server.Config{MaxMemory: 16 << 20})
	items := func(n int) []byte {
		b := fmt.Appendf(nil, "*%d\r\n$7\r\nBF.MADD\r\n$1\r\nk\r\n", n+2)
		return append(b, bytes.Repeat([]byte("$0\r\n\r\n"), n)...)
	}
	c := dial(t, addr)
	if _, err := c.nc.Write(items(20_000)); err != nil {
		t.Fatal(err)
	}
	if got := c.reply(); !strings.HasPrefix(got, "*20000\r\n:1\r\n:0\r\n") {
		t.Errorf("20,000 empty items = %.40q", got)
	}
	go func() { _, _ = c.nc.Write(items(1_000_000)) }()
	if got := c.reply(); !strings.HasPrefix(got, "-OOM ") {
		t.Errorf("1,000,000 empty items = %.40q, want OOM", got)
	}
	c = dial(t, addr)
	if info := c.do("INFO", "memory"); !strings.Contains(info, "mem_clients_normal:0\r\n") && strings.Contains(info, "mem_clients_normal:") {
		t.Errorf("memory is still counted: %s", info)
	}
	c.expect(":0\r\n", "BF.ADD", "k", "")
}
