package server_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/bloomery/bloomery/server"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(chaosEnv); dir != "" {
		os.Exit(chaosServer(dir))
	}
	goleak.VerifyTestMain(m)
}

func TestProtocols(t *testing.T) {
	c := dial(t, start(t, server.Config{}))
	c.expect("+PONG\r\n", "PING")
	c.expect(":1\r\n", "BF.ADD", "k", "a")
	hello := c.do("HELLO", "3")
	if !strings.HasPrefix(hello, "%7\r\n$6\r\nserver\r\n$5\r\nredis\r\n$7\r\nversion\r\n$5\r\n7.4") {
		t.Errorf("HELLO 3 = %q", hello)
	}
	c.expect("#f\r\n", "BF.ADD", "k", "a")
	c.expect("_\r\n", "GET", "nokey")
	if got := c.do("HELLO", "2"); !strings.HasPrefix(got, "*14\r\n") {
		t.Errorf("HELLO 2 = %q", got)
	}
	c.expect("$-1\r\n", "GET", "nokey")
	c.expect("+RESET\r\n", "RESET")
}

func TestInline(t *testing.T) {
	c := dial(t, start(t, server.Config{}))
	fmt.Fprintf(c.nc, "PING\r\nECHO \"a b\"\r\n\r\nBF.ADD k 'x y'\n")
	for _, want := range []string{"+PONG\r\n", "$3\r\na b\r\n", ":1\r\n"} {
		if got := c.reply(); got != want {
			t.Errorf("reply = %q, want %q", got, want)
		}
	}
}

// TestProtocolErrors asks that a broken stream gets what was right before it
// answered, then the error, and then the connection ends.
func TestProtocolErrors(t *testing.T) {
	addr := start(t, server.Config{})
	for in, want := range map[string]string{
		"*1\r\n$x\r\n":              "-ERR Protocol error: invalid bulk length\r\n",
		"*x\r\n":                    "-ERR Protocol error: invalid multibulk length\r\n",
		"*1\r\n!\r\n":               "-ERR Protocol error: expected '$', got '!'\r\n",
		"*1\r\n$9999999999\r\n":     "-ERR Protocol error: invalid bulk length\r\n",
		"GET \"x\r\n":               "-ERR Protocol error: unbalanced quotes in request\r\n",
		strings.Repeat("x", 70_000): "-ERR Protocol error: too big inline request\r\n",
	} {
		c := dial(t, addr)
		_, _ = c.nc.Write(append(request("PING"), in...))
		if got := c.reply(); got != "+PONG\r\n" {
			t.Errorf("before %.20q: %q", in, got)
		}
		if got := c.reply(); got != want {
			t.Errorf("%.20q = %q, want %q", in, got, want)
		}
		if !c.closed() {
			t.Errorf("%.20q: connection is open", in)
		}
	}
}

// TestBrowsersAreRefused asks that an HTTP request, in which a page could hide
// commands, runs none of them.
func TestBrowsersAreRefused(t *testing.T) {
	addr := start(t, server.Config{})
	c := dial(t, addr)
	fmt.Fprintf(c.nc, "POST / HTTP/1.1\r\nHost: x\r\n\r\nSET a b\r\n")
	if rest, _ := io.ReadAll(c.r); len(rest) > 0 {
		t.Errorf("reply = %q, want none", rest)
	}
	dial(t, addr).expect("$-1\r\n", "GET", "a")
}

func TestPassword(t *testing.T) {
	addr := start(t, server.Config{Password: "secret"})
	c := dial(t, addr)
	c.expect("-NOAUTH Authentication required.\r\n", "PING")
	c.expect("-NOAUTH Authentication required.\r\n", "BF.ADD", "k", "a")
	c.expect("-WRONGPASS invalid username-password pair or user is disabled.\r\n", "AUTH", "wrong")
	if got := c.do("HELLO", "3"); !strings.HasPrefix(got, "-NOAUTH HELLO must be called") {
		t.Errorf("HELLO = %q", got)
	}
	c.expect("+OK\r\n", "AUTH", "secret")
	c.expect("+PONG\r\n", "PING")
	c.expect("+RESET\r\n", "RESET")
	c.expect("-NOAUTH Authentication required.\r\n", "PING")

	c = dial(t, addr)
	if got := c.do("HELLO", "3", "AUTH", "default", "secret"); !strings.HasPrefix(got, "%7") {
		t.Errorf("HELLO with password = %q", got)
	}

	c = dial(t, addr)
	_, _ = c.nc.Write([]byte("*1\r\n$1000000\r\n"))
	if got := c.reply(); got != "-ERR Protocol error: unauthenticated bulk length\r\n" {
		t.Errorf("large argument without password = %q", got)
	}
}

// TestProtectedMode needs an address of this machine that is not loopback.
func TestProtectedMode(t *testing.T) {
	ip := outsideAddr(t)
	addr := start(t, server.Config{Addr: []string{"0.0.0.0:0"}, ProtectedMode: true})
	_, port, _ := net.SplitHostPort(addr)
	c := dial(t, net.JoinHostPort(ip, port))
	if got := c.reply(); !strings.HasPrefix(got, "-DENIED ") {
		t.Errorf("client of another machine = %q, want -DENIED", got)
	}
	dial(t, net.JoinHostPort("127.0.0.1", port)).expect("+PONG\r\n", "PING")

	addr = start(t, server.Config{Addr: []string{"0.0.0.0:0"}, ProtectedMode: true, Password: "x"})
	_, port, _ = net.SplitHostPort(addr)
	dial(t, net.JoinHostPort(ip, port)).expect("+OK\r\n", "AUTH", "x")
}

func outsideAddr(t *testing.T) string {
	t.Helper()
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		t.Skip(err)
	}
	for _, a := range addrs {
		if n, ok := a.(*net.IPNet); ok && !n.IP.IsLoopback() && n.IP.To4() != nil {
			return n.IP.String()
		}
	}
	t.Skip("this machine has the loopback interface only")
	return ""
}

func TestLimits(t *testing.T) {
	t.Run("clients", func(t *testing.T) {
		addr := start(t, server.Config{MaxClients: 2})
		dial(t, addr).expect("+PONG\r\n", "PING")
		dial(t, addr).expect("+PONG\r\n", "PING")
		c := dial(t, addr)
		if got := c.reply(); got != "-ERR max number of clients reached\r\n" || !c.closed() {
			t.Errorf("third client: %q", got)
		}
	})
	t.Run("query", func(t *testing.T) {
		addr := start(t, server.Config{MaxQuery: 1 << 20})
		c := dial(t, addr)
		if got := c.do("ECHO", strings.Repeat("x", 1<<20)); len(got) < 1<<20 {
			t.Errorf("a query within the limit = %.100q", got)
		}
		go func() {
			_, _ = c.nc.Write(request("BF.MADD", "k", strings.Repeat("x", 1<<20), strings.Repeat("y", 1<<20)))
		}()
		if got := c.reply(); !strings.HasPrefix(got, "-ERR Protocol error: query larger") {
			t.Errorf("a query above the limit = %.100q", got)
		}
	})
	t.Run("idle", func(t *testing.T) {
		t.Parallel()
		c := dial(t, start(t, server.Config{IdleTimeout: 3 * time.Second}))
		c.expect("+PONG\r\n", "PING")
		if !c.closed() {
			t.Error("an idle client was not closed")
		}
	})
	t.Run("output", func(t *testing.T) {
		t.Parallel()
		addr := start(t, server.Config{WriteTimeout: 3 * time.Second})
		c := dial(t, addr)
		c.expect("+OK\r\n", "SET", "s", strings.Repeat("x", 16<<20))
		go func() {
			for range 64 {
				if _, err := c.nc.Write(request("GET", "s")); err != nil {
					return
				}
			}
		}()
		// The client reads nothing: its connection is closed, and with it
		// what was waiting.
		other := dial(t, addr)
		waitFor(t, func() bool { return strings.Count(other.do("CLIENT", "LIST"), "id=") == 1 }, "a client that takes no replies was not closed")
	})
}

func TestClients(t *testing.T) {
	addr := start(t, server.Config{})
	a, b := dial(t, addr), dial(t, addr)
	a.expect("+OK\r\n", "CLIENT", "SETNAME", "first")
	b.expect(":2\r\n", "CLIENT", "ID")
	if list := b.do("CLIENT", "LIST"); !strings.Contains(list, "id=1 ") || !strings.Contains(list, "name=first") || !strings.Contains(list, "cmd=client|setname") {
		t.Errorf("CLIENT LIST = %q", list)
	}
	b.expect(":1\r\n", "CLIENT", "KILL", "ID", "1")
	if !a.closed() {
		t.Error("a killed client is open")
	}
	_, _ = b.nc.Write(bytes.Join([][]byte{
		request("CLIENT", "REPLY", "SKIP"), request("PING"), request("ECHO", "1"),
		request("CLIENT", "REPLY", "OFF"), request("PING"), request("NOSUCH"), request("CLIENT", "REPLY", "ON"), request("ECHO", "2"),
	}, nil))
	for _, want := range []string{"$1\r\n1\r\n", "+OK\r\n", "$1\r\n2\r\n"} {
		if got := b.reply(); got != want {
			t.Errorf("reply = %q, want %q", got, want)
		}
	}
	b.expect("+OK\r\n", "QUIT")
	if !b.closed() {
		t.Error("connection is open after QUIT")
	}
}

func TestInfo(t *testing.T) {
	c := dial(t, start(t, server.Config{Version: "v0"}))
	c.do("BF.ADD", "k", "a")
	c.do("BF.ADD", "k")
	c.do("GET", "k")
	info := c.do("INFO", "all")
	for _, want := range []string{
		"redis_version:7.4", "bloomery_version:v0", "connected_clients:1", "maxmemory:", "db0:keys=1,expires=0",
		"cmdstat_bf.add:calls=1,", "rejected_calls=1,failed_calls=0", "cmdstat_get:calls=1,", "failed_calls=1\r\n", "module:name=bf,",
	} {
		if !strings.Contains(info, want) {
			t.Errorf("INFO has no %q", want)
		}
	}
	c.expect("+OK\r\n", "CONFIG", "SET", "slowlog-log-slower-than", "0")
	c.do("BF.ADD", "k", "slow")
	if got := c.do("SLOWLOG", "GET"); !strings.Contains(got, "BF.ADD\r\n$5\r\n(key)\r\n$4\r\nslow\r\n") {
		t.Errorf("SLOWLOG GET = %q", got)
	}
	if got := c.do("COMMAND", "INFO", "bf.add", "cf.compact"); got != "*2\r\n"+
		"*10\r\n$6\r\nbf.add\r\n:3\r\n*3\r\n+write\r\n+denyoom\r\n+module\r\n:1\r\n:1\r\n:1\r\n*2\r\n+@write\r\n+@bloom\r\n*0\r\n"+
		"*1\r\n*6\r\n$5\r\nflags\r\n*1\r\n+RW\r\n$12\r\nbegin_search\r\n*4\r\n$4\r\ntype\r\n$5\r\nindex\r\n$4\r\nspec\r\n*2\r\n$5\r\nindex\r\n:1\r\n"+
		"$9\r\nfind_keys\r\n*4\r\n$4\r\ntype\r\n$5\r\nrange\r\n$4\r\nspec\r\n*6\r\n$7\r\nlastkey\r\n:0\r\n$7\r\nkeystep\r\n:1\r\n$5\r\nlimit\r\n:0\r\n*0\r\n"+
		"*10\r\n$10\r\ncf.compact\r\n:-1\r\n*3\r\n+readonly\r\n+module\r\n+fast\r\n:1\r\n:1\r\n:1\r\n*2\r\n+@read\r\n+@cuckoo\r\n*0\r\n"+
		"*1\r\n*6\r\n$5\r\nflags\r\n*3\r\n+RW\r\n+access\r\n+update\r\n$12\r\nbegin_search\r\n*4\r\n$4\r\ntype\r\n$5\r\nindex\r\n$4\r\nspec\r\n*2\r\n$5\r\nindex\r\n:1\r\n"+
		"$9\r\nfind_keys\r\n*4\r\n$4\r\ntype\r\n$5\r\nrange\r\n$4\r\nspec\r\n*6\r\n$7\r\nlastkey\r\n:0\r\n$7\r\nkeystep\r\n:1\r\n$5\r\nlimit\r\n:0\r\n*0\r\n" {
		t.Errorf("COMMAND INFO = %q", got)
	}
}

// TestHostileDumps sends headers that claim what they do not have. Each must be
// refused, and must cost nothing.
func TestHostileDumps(t *testing.T) {
	c := dial(t, start(t, server.Config{MaxMemory: 64 << 20}))
	rng := rand.New(rand.NewPCG(7, 7))
	le := binary.LittleEndian
	bloom := []byte("\x01\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x05\x00\x00\x00\x02\x00\x00\x00\x10\x00\x00\x00\x00\x00\x00\x00\x80\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00{\x14\xaeG\xe1zt?\xe9\x86/\xb25\x0e&@\x08\x00\x00\x00\x0a\x00\x00\x00\x00\x00\x00\x00\x00")
	cuckoo := []byte("\x08\x00\x00\x00\x00\x00\x00\x00\x08\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x02\x00\x14\x00\x01\x00")
	values := []uint64{0, 1, 2, 8, 64, 1 << 20, 1 << 31, 1 << 32, 1 << 40, 1 << 62, 1 << 63, 1<<64 - 1}
	for range 500 {
		h, cmd := bytes.Clone(bloom), "BF.LOADCHUNK"
		if rng.IntN(2) == 0 {
			h, cmd = bytes.Clone(cuckoo), "CF.LOADCHUNK"
		}
		for range 1 + rng.IntN(3) {
			var v [8]byte
			le.PutUint64(v[:], values[rng.IntN(len(values))])
			copy(h[rng.IntN(len(h)):], v[:1+rng.IntN(8)])
		}
		got := c.do(cmd, "k", "1", string(h))
		c.do("BF.ADD", "k", "x")
		c.do("CF.ADD", "k", "x")
		c.do("CF.DEL", "k", "x")
		c.do("BF.SCANDUMP", "k", "1")
		c.do("CF.SCANDUMP", "k", "1")
		c.do("BF.DEBUG", "k")
		c.do("DEL", "k")
		if got != "+OK\r\n" && got[0] != '-' {
			t.Fatalf("%s %x = %q", cmd, h, got)
		}
	}
	c.expect("-ERR received bad data\r\n", "BF.LOADCHUNK", "k", "1", "\x00\x00\x00\x00\x00\x00\x00\x00\xff\xff\xff\xff\x05\x00\x00\x00\x02\x00\x00\x00")
	if used := c.do("INFO", "memory"); !strings.Contains(used, "used_memory_dataset:0\r\n") {
		t.Errorf("memory after all = %q", used)
	}
}

// TestDumpsMove carries filters to another server by SCANDUMP and LOADCHUNK, large
// ones in several chunks, and by DUMP and RESTORE. All give the same dump again.
func TestDumpsMove(t *testing.T) {
	from, to := dial(t, start(t, server.Config{})), dial(t, start(t, server.Config{}))
	items := make([]string, 1000)
	for i := range items {
		items[i] = fmt.Sprint("item", i)
	}
	for _, tt := range []struct {
		reserve, insert []string
		chunks          int
	}{
		{[]string{"BF.RESERVE", "bf", "0.01", "100"}, []string{"BF.MADD", "bf"}, 5},
		{[]string{"CF.RESERVE", "cf", "100"}, []string{"CF.INSERT", "cf", "ITEMS"}, 5},
		{[]string{"BF.RESERVE", "bf:large", "0.001", "10000000"}, []string{"BF.MADD", "bf:large"}, 3},
		{[]string{"CF.RESERVE", "cf:large", "10000000"}, []string{"CF.INSERT", "cf:large", "ITEMS"}, 2},
	} {
		key, prefix := tt.reserve[1], tt.reserve[0][:3]
		from.expect("+OK\r\n", tt.reserve...)
		from.do(append(tt.insert, items...)...)
		chunks := 0
		for iter := "0"; ; chunks++ {
			before := iter
			reply := from.do(prefix+"SCANDUMP", key, iter)
			lines := strings.SplitN(reply, "\r\n", 4) // *2, :iter, $n, data
			if iter = lines[1][1:]; iter == "0" {
				break
			}
			to.expect("+OK\r\n", prefix+"LOADCHUNK", key, iter, strings.TrimSuffix(lines[3], "\r\n"))
			if before != "0" && to.do(prefix+"SCANDUMP", key, before) != reply {
				t.Errorf("%sSCANDUMP %s %s differs after the move", prefix, key, before)
			}
		}
		if chunks < tt.chunks {
			t.Errorf("%s: %d chunks, want at least %d", key, chunks, tt.chunks)
		}
		if from.do(prefix+"DEBUG", key) != to.do(prefix+"DEBUG", key) {
			t.Errorf("%sDEBUG %s differs after the move", prefix, key)
		}
		if strings.HasSuffix(key, ":large") {
			continue
		}
		dump := from.do("DUMP", key)
		if got := to.do("DUMP", key); got != dump {
			t.Errorf("DUMP %s differs after the move", key)
		}
		_, payload, _ := strings.Cut(strings.TrimSuffix(dump, "\r\n"), "\r\n")
		to.expect("+OK\r\n", "RESTORE", key, "0", payload, "REPLACE")
		if got := to.do("DUMP", key); got != dump {
			t.Errorf("DUMP %s differs after RESTORE", key)
		}
	}
}

// TestShutdownDrains asks that what was sent before the server stops is
// answered, and that Serve returns.
func TestShutdownDrains(t *testing.T) {
	addr, stop := startStop(t, server.Config{})
	idle := dial(t, addr)
	idle.expect("+PONG\r\n", "PING")
	busy := dial(t, addr)
	busy.expect("+PONG\r\n", "PING")
	const n = 20_000
	var all []byte
	for i := range n {
		all = append(all, request("BF.ADD", "k", strconv.Itoa(i))...)
	}
	sent := make(chan struct{})
	go func() {
		_, _ = busy.nc.Write(all)
		close(sent)
	}()
	replies := make(chan int)
	go func() {
		count := 0
		for {
			if _, err := readRaw(nil, busy.r); err != nil {
				break
			}
			count++
		}
		replies <- count
	}()
	<-sent
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	if got := <-replies; got != n {
		t.Errorf("%d commands answered before the end, want %d", got, n)
	}
	if !idle.closed() {
		t.Error("an idle client is open")
	}
	if _, err := (&net.Dialer{Timeout: time.Second}).DialContext(t.Context(), "tcp", addr); err == nil {
		t.Error("the port is open")
	}
}

func TestPortTaken(t *testing.T) {
	addr := start(t, server.Config{})
	_, err := server.New(t.Context(), server.Config{Addr: []string{"127.0.0.1:0", addr}})
	p, ok := errors.AsType[*server.PortError](err)
	if !ok || !strings.Contains(p.Hint, "--addr 127.0.0.1:") {
		t.Errorf("New on a taken port = %v, want an error that names --addr", err)
	}
}

// TestLoad has many clients work on few keys at once, each kind of command among
// them. With -race it is the test of the locks; the sums at the end are that of
// Apply.
func TestLoad(t *testing.T) {
	addr := start(t, server.Config{})
	const clients, rounds = 16, 60
	var wg sync.WaitGroup
	for id := range clients {
		wg.Go(func() {
			c := dial(t, addr)
			rng := rand.New(rand.NewPCG(uint64(id), 3))
			for round := range rounds {
				var batch []byte
				n := 0
				send := func(args ...string) {
					batch = append(batch, request(args...)...)
					n++
				}
				for range 20 {
					k := strconv.Itoa(rng.IntN(3))
					item := strconv.Itoa(rng.IntN(1000))
					switch rng.IntN(12) {
					case 0, 1:
						send("BF.ADD", "bf"+k, item)
					case 2:
						send("BF.MADD", "bf"+k, item, item+"x", item+"y")
					case 3, 4:
						send("BF.EXISTS", "bf"+k, item)
					case 5, 6:
						send("CF.ADD", "cf"+k, item)
					case 7:
						send("CF.DEL", "cf"+k, item)
					case 8:
						send("INCR", "n")
					case 9:
						send("RENAME", "bf"+k, "bf"+strconv.Itoa(rng.IntN(3)))
					case 10:
						send("DEL", "bf"+k)
					case 11:
						send("MULTI")
						send("INCR", "pair1")
						send("INCR", "pair2")
						send("EXEC")
					}
				}
				send("BF.ADD", fmt.Sprint("own", id), strconv.Itoa(round))
				if _, err := c.nc.Write(batch); err != nil {
					t.Error(err)
					return
				}
				for range n {
					if _, err := readRaw(nil, c.r); err != nil {
						t.Error(err)
						return
					}
				}
			}
		})
	}
	wg.Wait()
	c := dial(t, addr)
	if a, b := c.do("GET", "pair1"), c.do("GET", "pair2"); a != b {
		t.Errorf("two numbers that only change together: %q and %q", a, b)
	}
	for id := range clients {
		if got := c.do("BF.CARD", fmt.Sprint("own", id)); got != fmt.Sprintf(":%d\r\n", rounds) && got != fmt.Sprintf(":%d\r\n", rounds-1) {
			t.Errorf("own%d has %q items, want %d", id, got, rounds)
		}
	}
	c.expect("+OK\r\n", "FLUSHALL")
	if info := c.do("INFO", "memory"); !strings.Contains(info, "used_memory_dataset:0\r\n") {
		t.Errorf("memory after FLUSHALL: %q", info)
	}
}
