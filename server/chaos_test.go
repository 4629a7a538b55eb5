package server_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/bloomery/bloomery/server"
)

var chaosFor = flag.Duration("chaos", 45*time.Second, "how long TestChaos runs; with -short a fifth of it")

const (
	// pingLimit is how long a new client may wait for its first reply, endLimit
	// how long the server may take from SIGTERM to its end. Under the race
	// detector they are chaosFactor times as long, with as many times fewer
	// clients; on a machine that others use too, slowness times as long.
	pingLimit = time.Second
	endLimit  = chaosShutdown + 5*time.Second

	chaosShutdown = 3 * time.Second
	chaosStall    = 3 * time.Second
	chaosMemory   = 256 << 20
	chaosString   = 4 << 20 / chaosFactor // a string that is long to read
	chaosFilter   = 4_000_000 / chaosFactor
	chaosEnv      = "BLOOMERY_CHAOS_DIR"
)

// chaosServer is the process under test: a server whose clock jumps.
func chaosServer(dir string) int {
	var offset atomic.Int64
	rng := rand.New(rand.NewPCG(1, uint64(os.Getpid())))
	recordLocks()
	s, err := server.New(server.Config{
		Addr: []string{"plain:127.0.0.1:0", "unix:" + filepath.Join(dir, "socket"), "tls:127.0.0.1:0"}, Dir: filepath.Join(dir, "data"),
		TLSCert: filepath.Join(dir, "server.crt"), TLSKey: filepath.Join(dir, "server.key"),
		MaxMemory: chaosMemory, MaxClients: 2000, ShutdownTimeout: chaosShutdown, WriteTimeout: chaosStall,
		Now:         func() time.Time { return time.Now().Add(time.Duration(offset.Load())) },
		OnHeapLimit: func(n int64) { debug.SetMemoryLimit(n) },
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	go func() {
		for ctx.Err() == nil {
			if err := s.Reload(); err != nil {
				fmt.Fprintln(os.Stderr, err)
			}
			offset.Store(int64(rng.IntN(7200)-3600) * int64(time.Second))
			time.Sleep(300 * time.Millisecond)
		}
	}()
	fmt.Println(s.Addr())
	if err := s.Serve(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return chaosLocks()
}

// chaos is a run: one server after the other on the same folder, and clients that
// do what they should not.
type chaos struct {
	t        *testing.T
	dir      string
	addr     atomic.Value // string
	secure   atomic.Value // string: the address with TLS
	trusted  *tls.Config
	server   *exec.Cmd
	output   bytes.Buffer
	payload  atomic.Value // string: a dump to restore
	failed   atomic.Bool
	acked    sync.Map // items that were added and acknowledged
	pings    atomic.Int64
	starved  atomic.Int64
	slowest  atomic.Int64
	control  net.Listener
	sessions atomic.Int64
}

// TestChaos has hundreds of clients of every bad habit work on a server, and asks
// that a new client is answered within a second, that SIGTERM ends it in time
// and in order, that no acknowledged write is lost, and that nothing piles up. The
// server is a process of its own, so that all its goroutines can be printed.
func TestChaos(t *testing.T) {
	length := *chaosFor
	if testing.Short() {
		length /= 5
	}
	c := &chaos{t: t, dir: t.TempDir()}
	a := newAuthority(t, "authority")
	a.issue(t, c.dir, "server", 24*time.Hour)
	c.trusted = a.trusted()
	var err error
	if c.control, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	go echo(c.control)
	defer func() { _ = c.control.Close() }()
	lives := max(2, int(length/(15*time.Second)))
	for life := range lives {
		c.start()
		c.live(length/time.Duration(lives), life == lives-1)
		if c.failed.Load() {
			break
		}
	}
	n := 0
	c.acked.Range(func(any, any) bool { n++; return true })
	t.Logf("%d lives, %d sessions, %d pings, slowest %v, %d not counted for the machine was slow itself, %d writes kept",
		lives, c.sessions.Load(), c.pings.Load(), time.Duration(c.slowest.Load()), c.starved.Load(), n)
	if c.pings.Load() == 0 || n == 0 {
		t.Error("nothing was asked")
	}
}

// start starts the server and asks that what was acknowledged is there.
func (c *chaos) start() {
	c.output.Reset()
	c.server = exec.Command(os.Args[0])
	c.server.Env = append(os.Environ(), chaosEnv+"="+c.dir, "GOTRACEBACK=all", "GORACE=atexit_sleep_ms=0")
	c.server.Stderr = &c.output
	out, err := c.server.StdoutPipe()
	if err != nil {
		c.t.Fatal(err)
	}
	if err := c.server.Start(); err != nil {
		c.t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		_ = c.server.Wait()
		c.t.Fatalf("the server did not start: %v\n%s", err, &c.output)
	}
	c.addr.Store(strings.TrimSpace(line))
	asked := dial(c.t, c.addr.Load().(string))
	c.secure.Store("127.0.0.1:" + strings.Split(asked.do("CONFIG", "GET", "tls-port"), "\r\n")[4])
	c.allThere(asked)
	asked.do("SET", "large", strings.Repeat("x", chaosString))
	asked.do("BF.RESERVE", "filter", "0.01", fmt.Sprint(chaosFilter))
	dump := asked.do("DUMP", "filter")
	_, payload, _ := strings.Cut(dump, "\r\n")
	c.payload.Store(strings.TrimSuffix(payload, "\r\n"))
	_ = asked.nc.Close()
}

// allThere asks for all that was acknowledged, many items at a time.
func (c *chaos) allThere(asked *client) {
	const most = 1000
	args := []string{"BF.MEXISTS", "kept"}
	ask := func() {
		if len(args) == 2 {
			return
		}
		replies := strings.Split(strings.TrimSuffix(asked.do(args...), "\r\n"), "\r\n")
		if len(replies) != len(args)-1 {
			c.t.Errorf("BF.MEXISTS of what was acknowledged = %.100q", replies)
			return
		}
		for i, reply := range replies[1:] {
			if reply != ":1" {
				c.t.Errorf("%q was acknowledged and is lost: %q", args[2+i], reply)
				break
			}
		}
		args = args[:2]
	}
	c.acked.Range(func(item, _ any) bool {
		if args = append(args, item.(string)); len(args) == most+2 {
			ask()
		}
		return !c.t.Failed()
	})
	ask()
}

// live lets clients loose for a while and then ends the server: under load, or,
// the last time, when they have gone and nothing may be left of them.
func (c *chaos) live(length time.Duration, last bool) {
	ctx, cancel := context.WithTimeout(c.t.Context(), length)
	var clients, watch sync.WaitGroup
	load, stop := context.WithCancel(c.t.Context())
	seed := uint64(0)
	for _, h := range habits {
		for range (h.clients + chaosFactor - 1) / chaosFactor {
			seed++
			rng := rand.New(rand.NewPCG(seed, uint64(length)))
			clients.Go(func() {
				for load.Err() == nil {
					c.sessions.Add(1)
					h.run(load, c, rng)
					rest(load, time.Duration(rng.IntN(int(h.rest))+1))
				}
			})
		}
	}
	watch.Go(func() { c.watchdog(ctx) })
	<-ctx.Done()
	watch.Wait()
	cancel()
	if last && !c.failed.Load() {
		stop()
		clients.Wait()
		c.nothingLeft()
	}
	c.end()
	stop()
	clients.Wait()
}

// rest waits, unless ctx ends.
func rest(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// stretched returns a limit as it is for this build and this machine.
func stretched(limit time.Duration) time.Duration {
	return time.Duration(float64(limit) * chaosFactor * slowness())
}

// mostSlowness bounds slowness: a server that takes longer is stuck, whatever else
// the machine does.
const mostSlowness = 4

// slowness is how much longer everything takes while others use the machine: the
// load average over four per processor, which this test makes by itself. It is 1
// where nobody else does, and never more than mostSlowness.
func slowness() float64 {
	data, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return 1
	}
	load, _, _ := strings.Cut(string(data), " ")
	x, err := strconv.ParseFloat(load, 64)
	if err != nil {
		return 1
	}
	return min(max(1, x/float64(4*runtime.NumCPU())), mostSlowness)
}

// watchdog asks the server for a sign of life all the time. A machine that has
// no time for this process does not count: beside each PING it asks an echo in
// this process, and where that takes a quarter of the limit too it says so.
func (c *chaos) watchdog(ctx context.Context) {
	for ctx.Err() == nil {
		limit := stretched(pingLimit)
		took, err := roundTrip(c.addr.Load().(string), 10*limit)
		control, _ := roundTrip(c.control.Addr().String(), 10*limit)
		c.pings.Add(1)
		switch {
		case (err != nil || took > limit) && control > limit/4:
			c.starved.Add(1)
		case err != nil || took > limit:
			c.frozen(fmt.Sprintf("PING took %v, want at most %v (an echo took %v): %v", took, limit, control, err))
			return
		default:
			c.slowest.Store(max(c.slowest.Load(), int64(took)))
		}
		rest(ctx, 20*time.Millisecond)
	}
}

// roundTrip connects, sends PING, waits for a reply and returns how long it took.
// A client that is killed, or is one too many, was answered.
func roundTrip(addr string, limit time.Duration) (time.Duration, error) {
	began := time.Now()
	nc, err := net.DialTimeout("tcp", addr, limit)
	if err != nil {
		return time.Since(began), err
	}
	defer func() { _ = nc.Close() }()
	_ = nc.SetDeadline(began.Add(limit))
	_, _ = nc.Write([]byte("PING\r\n"))
	if _, err = nc.Read(make([]byte, 64)); err != nil && !isTimeout(err) {
		err = nil
	}
	return time.Since(began), err
}

// echo answers whoever connects.
func echo(l net.Listener) {
	for {
		nc, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			_, _ = io.CopyN(nc, nc, 6)
			_ = nc.Close()
		}()
	}
}

// frozen fails the test with all goroutines of the server.
func (c *chaos) frozen(why string) {
	if c.failed.Swap(true) {
		return
	}
	_ = c.server.Process.Signal(syscall.SIGQUIT)
	_ = c.server.Wait()
	c.t.Errorf("%s\n%s", why, &c.output)
}

// nothingLeft asks that, some time after all clients have gone, the server has
// noticed.
func (c *chaos) nothingLeft() {
	until := time.Now().Add(stretched(chaosStall + 5*time.Second))
	for {
		nc, err := net.DialTimeout("tcp", c.addr.Load().(string), time.Second)
		if err == nil {
			_ = nc.SetDeadline(time.Now().Add(5 * time.Second))
			_, _ = nc.Write([]byte("CLIENT LIST\r\n"))
			reply, _ := readRaw(nil, bufio.NewReader(nc))
			_ = nc.Close()
			if bytes.Count(reply, []byte("id=")) == 1 {
				return
			}
			if time.Now().After(until) {
				c.frozen(fmt.Sprintf("clients are gone and connections are left:\n%s", reply))
				return
			}
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// end stops the server as an operator does.
func (c *chaos) end() {
	if c.failed.Load() {
		return
	}
	limit := stretched(endLimit)
	timer := time.AfterFunc(limit, func() { c.frozen(fmt.Sprintf("SIGTERM did not end the server within %v", limit)) })
	defer timer.Stop()
	_ = c.server.Process.Signal(syscall.SIGTERM)
	if err := c.server.Wait(); err != nil && !c.failed.Load() {
		c.failed.Store(true)
		c.t.Errorf("the server ended with %v\n%s", err, &c.output)
	} else if c.output.Len() > 0 {
		c.t.Logf("the server said: %s", &c.output)
	}
}
