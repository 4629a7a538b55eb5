//go:build linux

package server_test

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"math"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bloomery/bloomery/server"
)

// scale returns how large a test of size is to be: small by default, as named by
// an environment variable when a promise is to be measured.
func scale(name string, small int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return small
}

// live returns the bytes in use by heap and stacks after a collection.
func live() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc + m.StackInuse
}

// rss returns the resident memory of this process.
func rss(t *testing.T) int {
	t.Helper()
	data, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Skip(err)
	}
	_, rest, _ := strings.Cut(string(data), "VmRSS:")
	n, _ := strconv.Atoi(strings.Fields(rest)[0])
	return n << 10
}

// TestIdleConnections holds the memory of a connection that has done something
// and now waits to 16 KiB, with TLS too. BLOOMERY_IDLE=10000 is the promise. The
// clients are another process, so that each needs its own files only.
func TestIdleConnections(t *testing.T) {
	idleConnections(t, "idle connections", scale("BLOOMERY_IDLE", 1000), 16<<10, server.Config{Addr: []string{"127.0.0.1:0"}})
	config, _, _ := secured(t, server.Config{Addr: []string{"127.0.0.1:0", "plain:127.0.0.1:0"}})
	idleConnections(t, "idle connections with TLS", scale("BLOOMERY_IDLE", 200), 16<<10, config)
}

func idleConnections(t *testing.T, what string, n, most int, config server.Config) {
	t.Helper()
	config.MaxClients = n + 100
	addr := start(t, config)
	before, resident := live(), rss(t)

	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestIdleClients$")
	cmd.Env = append(os.Environ(), fmt.Sprintf("BLOOMERY_IDLE_CLIENTS=%s %d %t", addr, n, config.TLSCert != ""))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	out := bufio.NewReader(pipe)
	if line, err := out.ReadString('\n'); line != "ready\n" {
		t.Fatalf("clients: %q, %v", line, err)
	}
	// What serving them took is given back when they rest, on a busy machine later.
	each := math.MaxInt
	for deadline := time.Now().Add(time.Minute); each > most && time.Now().Before(deadline); {
		time.Sleep(200 * time.Millisecond)
		each = (int(live()) - int(before)) / n
	}
	t.Logf("%d %s: %d bytes each live, %d resident", n, what, each, (rss(t)-resident)/n)
	if each > most {
		t.Errorf("%s: each takes %d bytes, want at most %d", what, each, most)
	}
	fmt.Fprintln(in, "go on")
	if line, err := out.ReadString('\n'); line != "done\n" {
		t.Errorf("clients after a rest: %q, %v", line, err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// TestIdleClients is the other process of TestIdleConnections.
func TestIdleClients(t *testing.T) {
	var addr string
	var n int
	var secure bool
	if _, err := fmt.Sscan(os.Getenv("BLOOMERY_IDLE_CLIENTS"), &addr, &n, &secure); err != nil {
		t.Skip("run by TestIdleConnections")
	}
	all := func(send, want string, conns []*client) {
		for _, c := range conns {
			if _, err := c.nc.Write([]byte(send)); err != nil {
				t.Fatal(err)
			}
		}
		for _, c := range conns {
			if got := c.reply(); got != want {
				t.Fatalf("reply = %q, want %q", got, want)
			}
		}
	}
	conns := make([]*client, n)
	for i := range conns {
		if !secure {
			conns[i] = dial(t, addr)
			continue
		}
		conns[i] = dialTLS(t, addr, &tls.Config{InsecureSkipVerify: true})
		if err := conns[i].tlsConn().Handshake(); err != nil {
			t.Fatal(err)
		}
	}
	conns[0].do("BF.ADD", "k", "x")
	conns[0].do("CLIENT", "PAUSE", "500")                                         // all are served at the same time, and have buffers of their own
	all(string(request("BF.EXISTS", "k", "x"))+"*2\r\n$4\r\nEC", ":1\r\n", conns) // and a piece of another
	fmt.Println("ready")
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
	all("HO\r\n$2\r\nhi\r\n", "$2\r\nhi\r\n", conns)
	fmt.Println("done")
	os.Exit(0)
}

// TestManyFilters holds the memory of a filter of 100 keys at 1% to 512 bytes of
// live heap, everything counted but what a server keeps for its 1,024 busiest
// filters whatever their number. BLOOMERY_FILTERS=1000000 is the promise.
func TestManyFilters(t *testing.T) {
	n := scale("BLOOMERY_FILTERS", 10_000)
	addr := start(t, server.Config{})
	c := dial(t, addr)
	items := make([]string, 100)
	for i := range items {
		items[i] = fmt.Sprint("key", i)
	}
	create := func(name string, n int) {
		const batch = 100
		for i := 0; i < n; i += batch {
			var b []byte
			for j := i; j < i+batch; j++ {
				b = append(b, request(append([]string{"BF.MADD", fmt.Sprintf("%s:%08d", name, j)}, items...)...)...)
			}
			if _, err := c.nc.Write(b); err != nil {
				t.Fatal(err)
			}
			for range batch {
				c.reply()
			}
		}
	}
	number := func(section, field string) int {
		_, after, _ := strings.Cut(c.do("INFO", section), field+":")
		digits, _, _ := strings.Cut(after, "\r\n")
		v, err := strconv.Atoi(digits)
		if err != nil {
			t.Fatalf("%s of INFO %s: %v", field, section, err)
		}
		return v
	}
	// The busiest filters are known before the first measurement.
	create("early", 1200)
	waitFor(t, func() bool { return number("health", "health_filters") >= 1024 }, "filters are not known")
	before, resident, first := live(), rss(t), number("memory", "used_memory_dataset")
	create("filter", n)
	each := int(live()-before) / n
	counted := number("memory", "used_memory_dataset") - first
	t.Logf("%d filters: %d bytes each live, %d counted, %d resident", n, each, counted/n, (rss(t)-resident)/n)
	// Servers of other tests end meanwhile, and their timers and pools live on.
	const others = 1 << 20
	if most := 512 + others/n; each > most {
		t.Errorf("a filter of 100 keys takes %d bytes, want at most %d", each, most)
	}
	if got := counted / n; got < (each-others/n)*8/10 || got > each*13/10 {
		t.Errorf("a filter is counted as %d bytes and takes %d", got, each)
	}
}
