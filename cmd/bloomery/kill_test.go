// Tests that kill a server, and the child process that tests of servers use.

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

var kills = flag.Int("kills", 4, "how often TestKill kills the server")

// childEnv makes the test binary be the command itself.
const childEnv = "BLOOMERY_TEST_CHILD"

// noSleep is for the race detector, which else waits a second at the end of
// each of our processes.
const noSleep = "atexit_sleep_ms=0"

// unlimited runs tests in a process whose heap no command limits.
type unlimited struct{ *testing.M }

// Run runs them. Commands in processes of their own, as scripts start them, do not come here.
func (u unlimited) Run() int {
	limitHeap = func(int64) func() { return func() {} }
	return u.M.Run()
}

func TestMain(m *testing.M) {
	_ = os.Setenv("BLOOMERY_HTTP", "") // several servers run at once: they must not want one port
	if os.Getenv(childEnv) == "" {
		_ = os.Setenv("GORACE", noSleep)
		if signal.Ignored(os.Interrupt) {
			// So it is in the background of a script. Commands that are started here would ignore it, too, until
			// they ask for signals, and one that came earlier would be lost.
			signal.Notify(make(chan os.Signal, 1), os.Interrupt)
		}
		testscript.Main(unlimited{m}, map[string]func(){"bloomery": main})
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// child is a server in a process of its own.
type child struct {
	cmd  *exec.Cmd
	addr string
	log  *bytes.Buffer // until it was ready
	said chan string   // what it has logged since, as far as there is room
}

// says waits until the child logs a text.
func (c *child) says(t *testing.T, text string) {
	t.Helper()
	late := time.After(time.Minute)
	for {
		select {
		case line, ok := <-c.said:
			if strings.Contains(line, text) {
				return
			}
			if !ok {
				t.Fatalf("the server has ended, and did not log %q", text)
			}
		case <-late:
			t.Fatalf("the server does not log %q", text)
		}
	}
}

// listen reads what the child logs, so that it never waits for a reader.
func (c *child) listen(lines *bufio.Scanner, pipe io.Reader) {
	defer close(c.said)
	for lines.Scan() {
		select {
		case c.said <- lines.Text():
		default:
		}
	}
	_, _ = io.Copy(io.Discard, pipe) // behind a line that is too long
}

func startChild(t *testing.T, args ...string) *child {
	t.Helper()
	c := &child{cmd: exec.CommandContext(t.Context(), os.Args[0], append([]string{"serve", "--addr", "127.0.0.1:0", "--log-format", "json"}, args...)...), log: new(bytes.Buffer), said: make(chan string, 1000)}
	c.cmd.Env = append(os.Environ(), childEnv+"=1")
	pipe, err := c.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(pipe)
	for lines.Scan() {
		c.log.Write(append(lines.Bytes(), '\n'))
		var line struct{ Msg, Addr string }
		if json.Unmarshal(lines.Bytes(), &line) == nil && line.Msg == "ready" {
			c.addr = line.Addr
			go c.listen(lines, pipe)
			return c
		}
	}
	t.Fatalf("the server did not start: %v\n%s", c.cmd.Wait(), c.log)
	return nil
}

// kill ends the server as a power cut would end a process: at once.
func (c *child) kill() {
	_ = c.cmd.Process.Kill()
	_ = c.cmd.Wait()
}

// dial connects to a server until the test ends.
func dial(t *testing.T, addr string) net.Conn {
	t.Helper()
	var d net.Dialer
	nc, err := d.DialContext(t.Context(), "tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = nc.Close() })
	return nc
}

// talk sends commands in one piece and returns the replies, each a line without
// its end.
func talk(nc net.Conn, r *bufio.Reader, commands ...string) ([]string, error) {
	var b bytes.Buffer
	for _, c := range commands {
		words := strings.Fields(c)
		fmt.Fprintf(&b, "*%d\r\n", len(words))
		for _, w := range words {
			fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(w), w)
		}
	}
	if _, err := nc.Write(b.Bytes()); err != nil {
		return nil, err
	}
	var replies []string
	for range commands {
		line, err := reply(r)
		if err != nil {
			return replies, err
		}
		replies = append(replies, line)
	}
	return replies, nil
}

// reply reads one reply: a line or a bulk string without its end, or the elements of an array
// with spaces between them.
func reply(r *bufio.Reader) (string, error) {
	line, err := r.ReadString('\n')
	if err != nil {
		return "", err
	}
	line = strings.TrimSpace(line)
	size, err := strconv.Atoi(line[1:])
	switch {
	case err != nil || size < 0:
	case line[0] == '$':
		data := make([]byte, size+2)
		if _, err := io.ReadFull(r, data); err != nil {
			return "", err
		}
		line = strings.TrimSpace(string(data))
	case line[0] == '*':
		parts := make([]string, size)
		for i := range parts {
			if parts[i], err = reply(r); err != nil {
				return "", err
			}
		}
		line = strings.Join(parts, " ")
	}
	return line, nil
}

// writer adds numbers to filters and remembers when each was answered.
type writer struct {
	id    int
	next  int
	acked []time.Time // by number
	sent  time.Time   // of the last that was answered
	err   error
}

func (w *writer) key(n int) string { return fmt.Sprintf("w%d-%d", w.id, n/5000) }

func (w *writer) run(ctx context.Context, addr string) {
	nc, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return
	}
	defer func() { _ = nc.Close() }()
	r := bufio.NewReader(nc)
	for {
		var commands []string
		for i := range 16 {
			n := w.next + i
			commands = append(commands, fmt.Sprintf("BF.ADD %s item%d", w.key(n), n))
		}
		commands = append(commands, fmt.Sprintf("SET last%d %d", w.id, w.next+15))
		sent := time.Now()
		replies, err := talk(nc, r, commands...)
		if err != nil {
			return
		}
		for i, reply := range replies {
			if strings.HasPrefix(reply, "-") {
				w.err = fmt.Errorf("%s: %s", commands[i], reply)
				return
			}
		}
		now := time.Now()
		for range 16 {
			w.acked = append(w.acked, now)
		}
		w.next, w.sent = w.next+16, sent
	}
}

// TestKill kills a server under load, again and again: in mode always nothing
// that was answered is lost, in mode everysec at most a second of it.
func TestKill(t *testing.T) {
	n := *kills
	if testing.Short() {
		n = 2
	}
	for i := range n {
		mode := []string{"always", "everysec"}[i%2]
		t.Run(fmt.Sprintf("%d-%s", i, mode), func(t *testing.T) { killOnce(t, mode, uint64(i)) })
	}
}

func killOnce(t *testing.T, mode string, seed uint64) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 1))
	dir := t.TempDir()
	writers := []*writer{{id: 0}, {id: 1}, {id: 2}}
	for range 2 {
		c := startChild(t, "--dir", dir, "--fsync", mode)
		check(t, c.addr, mode, writers)
		var wg sync.WaitGroup
		for _, w := range writers {
			wg.Go(func() { w.run(t.Context(), c.addr) })
		}
		if mode == "everysec" {
			time.Sleep(1500 * time.Millisecond)
		}
		time.Sleep(time.Duration(rng.IntN(150)) * time.Millisecond)
		if nc, err := new(net.Dialer).DialContext(t.Context(), "tcp", c.addr); err == nil {
			_, _ = talk(nc, bufio.NewReader(nc), "BGSAVE")
			_ = nc.Close()
		}
		time.Sleep(time.Duration(rng.IntN(150)) * time.Millisecond)
		c.kill()
		wg.Wait()
	}
	c := startChild(t, "--dir", dir, "--fsync", mode)
	check(t, c.addr, mode, writers)
	c.kill()
	if code, out, errOut := call(t, "doctor", dir); code != 0 {
		t.Errorf("doctor = %d\n%s%s", code, out, errOut)
	}
}

// check asks for everything that must be there. What may be lost the writers will
// send again.
func check(t *testing.T, addr, mode string, writers []*writer) {
	t.Helper()
	nc := dial(t, addr)
	r := bufio.NewReader(nc)
	total := 0
	for _, w := range writers {
		if w.err != nil {
			t.Fatal(w.err)
		}
		must := w.next
		if mode == "everysec" {
			// What is older than a second makes writers wait for the disk. They may read late
			// that they need not wait: when they asked counts.
			for must > 0 && w.sent.Sub(w.acked[must-1]) <= time.Second {
				must--
			}
		}
		total += must
		for n := 0; n < must; {
			var commands []string
			for from := n; n < must && n < from+500; n++ {
				commands = append(commands, fmt.Sprintf("BF.EXISTS %s item%d", w.key(n), n))
			}
			replies, err := talk(nc, r, commands...)
			if i := slices.IndexFunc(replies, func(s string) bool { return s != ":1" }); err != nil || i >= 0 {
				t.Fatalf("mode %s: of %d items of writer %d one below %d is lost: %v", mode, w.next, w.id, n, err)
			}
		}
		w.next, w.acked = must, w.acked[:must]
		replies, err := talk(nc, r, fmt.Sprintf("GET last%d", w.id))
		if last, _ := strconv.Atoi(replies[0]); err != nil || last < must-16 {
			t.Fatalf("mode %s: last of writer %d is %v, want %d", mode, w.id, replies, must-16)
		}
	}
	t.Logf("%d answered items are there", total)
}
