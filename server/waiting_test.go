//go:build linux

package server_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/bloomery/bloomery/server"
)

// TestWaitingFollowers holds the memory of a client that waits for news to 1 KiB more than that
// of an idle one, and gives each of them every change. BLOOMERY_WAITING=10000 is the promise,
// with an add a second for half a minute, and says what that takes of a processor. The clients
// are another process, as those of TestIdleConnections.
func TestWaitingFollowers(t *testing.T) {
	const most = 1 << 10
	n, adds, pause := scale("BLOOMERY_WAITING", 400), 3, time.Duration(0)
	if n >= 10_000 {
		adds, pause = 30, time.Second
	}
	addr := start(t, server.Config{Addr: []string{"127.0.0.1:0"}, MaxClients: n + 100})
	c := dial(t, addr)
	c.expect("+OK\r\n", "FILTER.CREATE", "f", "bloom", "CAPACITY", "3000")

	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestWaitingClients$")
	cmd.Env = append(os.Environ(), fmt.Sprintf("BLOOMERY_WAITING_CLIENTS=%s %d", addr, n))
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
	if line, err := out.ReadString('\n'); line != "idle\n" {
		t.Fatalf("clients: %q, %v", line, err)
	}
	idle := live()
	for range 5 { // what serving them took is given back when they rest
		time.Sleep(100 * time.Millisecond)
		idle = min(idle, live())
	}
	fmt.Fprintln(in, "wait")
	waitFor(t, func() bool {
		return strings.Contains(c.do("INFO", "clients"), fmt.Sprintf("blocked_clients:%d\r\n", n))
	}, "INFO shows another number of blocked clients")
	each := most + 1
	for deadline := time.Now().Add(time.Minute); each > most && time.Now().Before(deadline); {
		time.Sleep(100 * time.Millisecond)
		each = (int(live()) - int(idle)) / n
	}
	if each > most {
		t.Errorf("a client that waits takes %d bytes more than an idle one, want at most %d", each, most)
	}

	began, before := time.Now(), processorTime(t)
	for i := range adds {
		c.expect("*1\r\n:1\r\n", "FILTER.ADD", "f", fmt.Sprint("key ", i))
		time.Sleep(pause)
	}
	share := (processorTime(t) - before).Seconds() / time.Since(began).Seconds()
	c.expect("+OK\r\n", "FILTER.CLEAR", "f") // they get the whole filter, and leave
	var got int
	if _, err := fmt.Fscanf(out, "%d news\n", &got); err != nil || got < n { // what happens at once may come as one
		t.Errorf("clients had %d news, want at least %d: %v", got, n, err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	t.Logf("%d clients wait: %d bytes each, over an idle one; %d adds in %v, %d news: %.1f%% of a processor", n, each, adds, time.Since(began).Round(time.Second), got, 100*share)
}

// processorTime is what this process has taken so far.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// TestWaitingClients is the other process of TestWaitingFollowers.
func TestWaitingClients(t *testing.T) {
	var addr string
	var n int
	if _, err := fmt.Sscan(os.Getenv("BLOOMERY_WAITING_CLIENTS"), &addr, &n); err != nil {
		t.Skip("run by TestWaitingFollowers")
	}
	conns, tokens := make([]*client, n), make([]string, n)
	for i := range conns {
		conns[i] = dial(t, addr)
		tokens[i] = tokenOf(t, conns[i].do("FILTER.NEWS", "f"))
	}
	fmt.Println("idle")
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
	var news atomic.Int64
	var followers sync.WaitGroup
	for i, c := range conns {
		followers.Go(func() {
			for token, whole := tokens[i], false; !whole; news.Add(1) {
				raw := c.do("FILTER.NEWS", "f", "SINCE", token, "BLOCK", "3600000")
				token, whole = tokenOf(t, raw), strings.Contains(raw, "\r\nwhole\r\n")
			}
		})
	}
	followers.Wait()
	fmt.Println(news.Load(), "news")
	os.Exit(0)
}
