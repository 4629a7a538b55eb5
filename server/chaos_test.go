package server_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/bloomery/bloomery/server"
)

var chaosFor = flag.Duration("chaos", 10*time.Second, "how long TestChaos runs; with -short three quarters of it")

var chaosFollowers = flag.Int("followers", 40, "how many clients of TestChaos wait for news of a filter")

const (
	// pingLimit is how long a new client may wait for its first reply, endLimit
	// how long the server may take from SIGTERM to its end, halfLimit until a
	// client that has closed its half gets the end of the other, goneLimit until
	// the server has noticed that clients are gone. Under the race detector they
	// are chaosFactor times as long, with as many times fewer clients. What the
	// machine keeps from the server comes on top: see machine.
	pingLimit  = time.Second
	writeLimit = 2 * time.Second
	endLimit   = chaosShutdown + 5*time.Second
	halfLimit  = 8 * time.Second
	goneLimit  = chaosStall + 5*time.Second

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
	go answerEvidence(dir, evidenceAsked())
	s, err := server.New(context.Background(), server.Config{
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
	born     time.Time // when the server was started
	output   record
	payload  atomic.Value // string: a dump to restore
	failed   atomic.Bool
	acked    sync.Map // items that were added and acknowledged
	pings    atomic.Int64
	slowest  atomic.Int64
	written  atomic.Int64 // the slowest write
	sessions atomic.Int64
	machine  *machine
	excused  atomic.Int64 // limits that were passed because the machine was late

	capturing sync.Mutex // guards the server against two requests for its goroutines at once
}

// TestChaos has hundreds of clients of every bad habit work on a server, and asks
// that a new client is answered within a second, that SIGTERM ends it in time
// and in order, that no acknowledged write is lost, and that nothing piles up. The
// server is a process of its own, so that all its goroutines can be printed. What
// takes longer because the machine has no processor for the server, or a slow disk,
// is no fault of it: see allowance.
func TestChaos(t *testing.T) {
	length := *chaosFor
	if testing.Short() {
		length = length * 3 / 4
	}
	c := &chaos{t: t, dir: t.TempDir()}
	a := newAuthority(t, "authority")
	a.issue(t, c.dir, "server", 24*time.Hour)
	c.trusted = a.trusted()
	c.machine = newMachine(c.dir)
	defer c.machine.close()
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
	t.Logf("%d lives, %d sessions, %d pings, slowest %v, slowest write %v, %d waits beyond their limit on a late machine, %d writes kept",
		lives, c.sessions.Load(), c.pings.Load(), time.Duration(c.slowest.Load()), time.Duration(c.written.Load()), c.excused.Load(), n)
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
	c.born = time.Now()
	c.machine.pid.Store(int64(c.server.Process.Pid))
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		_ = c.server.Wait()
		c.t.Fatalf("the server did not start: %v\n%s", err, &c.output)
	}
	c.addr.Store(strings.TrimSpace(line))
	asked := dial(c.t, c.addr.Load().(string))
	c.secure.Store("127.0.0.1:" + strings.Split(asked.do("CONFIG", "GET", "tls-port"), "\r\n")[4])
	c.allThere(asked)
	asked.do("CONFIG", "SET", "maxclients", fmt.Sprint(2000+*chaosFollowers))
	asked.do("FILTER.CREATE", "followed", "bloom", "CAPACITY", "3000")
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
	var clients sync.WaitGroup
	load, stop := context.WithCancel(c.t.Context())
	seed := uint64(0)
	for _, h := range habits {
		n := h.clients
		if n == 0 {
			n = *chaosFollowers
		}
		for range (n + chaosFactor - 1) / chaosFactor {
			seed++
			rng := rand.New(rand.NewPCG(seed, uint64(length)))
			clients.Go(func() {
				for load.Err() == nil {
					c.sessions.Add(1)
					h.run(load, c, rng)
					rest(load, time.Duration(rng.Int64N(int64(h.rest))+1))
				}
			})
		}
	}
	clients.Go(func() { c.writes(ctx) })
	c.watchdog(ctx)
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

// watchdog asks the server for a sign of life all the time.
func (c *chaos) watchdog(ctx context.Context) {
	for ctx.Err() == nil && !c.failed.Load() {
		a := c.allow("PING", pingLimit, false)
		err := roundTrip(c.addr.Load().(string), 30*a.limit)
		c.pings.Add(1)
		took, ok := a.end()
		if err != nil && !isTimeout(err) || !ok {
			a.fail(took, err)
			return
		}
		raise(&c.slowest, took)
		rest(ctx, 20*time.Millisecond)
	}
}

// writes writes something all the time, as a new client does: what freezes the gate or
// the log leaves PING alone.
func (c *chaos) writes(ctx context.Context) {
	for ctx.Err() == nil && !c.failed.Load() {
		if p := connect(c); p != nil {
			a := c.allow("a write", writeLimit, true)
			_ = p.nc.SetDeadline(time.Now().Add(30 * a.limit))
			p.do("SET", "written", "x")
			took, ok := a.end()
			if !ok {
				a.fail(took, "")
			}
			raise(&c.written, took)
			p.close()
		}
		rest(ctx, 50*time.Millisecond)
	}
}

// roundTrip connects, sends PING and waits for a reply. A client that is killed, or is
// one too many, was answered.
func roundTrip(addr string, limit time.Duration) error {
	until := time.Now().Add(limit)
	nc, err := net.DialTimeout("tcp", addr, limit)
	if err != nil {
		return err
	}
	defer func() { _ = nc.Close() }()
	_ = nc.SetDeadline(until)
	_, _ = nc.Write([]byte("PING\r\n"))
	if _, err = nc.Read(make([]byte, 64)); err != nil && !isTimeout(err) {
		err = nil
	}
	return err
}

// nothingLeft asks that, some time after all clients have gone, the server has
// noticed.
func (c *chaos) nothingLeft() {
	a := c.allow("to notice that clients are gone", goneLimit, true)
	for {
		reply := c.ask("CLIENT", "LIST")
		if strings.Count(reply, "id=") == 1 {
			a.end()
			return
		}
		if a.left() < 0 {
			took, _ := a.end()
			a.fail(took, "Left are "+reply)
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// textStillRun is what a server says that has given up to wait for commands, by a clock
// that does not know how late the machine is.
const textStillRun = "commands still run after all clients were closed"

// end stops the server as an operator does.
func (c *chaos) end() {
	if c.failed.Load() {
		_ = c.server.Wait()
		return
	}
	ended := make(chan error, 1)
	a := c.allow("SIGTERM", endLimit, true)
	_ = c.server.Process.Signal(syscall.SIGTERM)
	go func() { ended <- c.server.Wait() }()
	for left := a.limit; left >= 0; left = a.left() {
		select {
		case err := <-ended:
			a.end()
			if err != nil && a.starved() && strings.Contains(c.output.String(), textStillRun) {
				c.excused.Add(1)
				c.t.Logf("%v: %v", &c.output, c.machine.now(a.began))
			} else if err != nil && !c.failed.Swap(true) {
				c.t.Errorf("the server ended with %v\n%s\n%s", err, c.machine, &c.output)
			} else if c.output.Len() > 0 {
				c.t.Logf("the server said: %s", &c.output)
			}
			return
		case <-time.After(left):
		}
	}
	took, _ := a.end()
	a.fail(took, "")
	<-ended
}
