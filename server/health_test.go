package server_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/bloomery/bloomery/server"
)

// TestHealthOfTwoServers runs two servers in one process: each measures its own
// filters only, and when they have ended nothing runs any more.
func TestHealthOfTwoServers(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 2)
	var conns []net.Conn
	for range 2 {
		s, err := server.New(t.Context(), server.Config{Addr: []string{"127.0.0.1:0"}})
		if err != nil {
			t.Fatal(err)
		}
		go func() { ended <- s.Serve(ctx) }()
		c, err := s.Dial(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		conns = append(conns, c)
	}
	sendLine(t, conns[0], "BF.RESERVE f 0.01 1000\r\n")
	sendLine(t, conns[0], "SET s 1\r\n")
	waitFor(t, func() bool { return healthField(t, conns[0], "health_probes") != "0" }, "a filter is not probed")
	if got := healthField(t, conns[0], "health_filters"); got != "1" {
		t.Errorf("%s filters, want 1", got)
	}
	for _, field := range []string{"health_filters", "health_probes", "health_cpu_microseconds"} {
		if got := healthField(t, conns[1], field); got != "0" {
			t.Errorf("%s of a server without filters is %s, want 0", field, got)
		}
	}
	cancel()
	for range 2 {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	stacks := make([]byte, 1<<20)
	if all := string(stacks[:runtime.Stack(stacks, true)]); strings.Contains(all, "health.(*Keeper).Run") {
		t.Error("the prober of a server that has ended still runs")
	}
}

// sendLine sends a command and returns the line that answers it.
func sendLine(t *testing.T, c net.Conn, command string) string {
	t.Helper()
	if _, err := io.WriteString(c, command); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(c).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return line
}

// healthField returns a field of INFO health.
func healthField(t *testing.T, c net.Conn, name string) string {
	t.Helper()
	if _, err := io.WriteString(c, "INFO health\r\n"); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(c)
	head, err := r.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(strings.TrimSpace(head[1:]))
	if err != nil {
		t.Fatal(err)
	}
	body := make([]byte, n+2)
	if _, err := io.ReadFull(r, body); err != nil {
		t.Fatal(err)
	}
	for l := range strings.Lines(string(body)) {
		if v, ok := strings.CutPrefix(strings.TrimSpace(l), name+":"); ok {
			return v
		}
	}
	t.Fatalf("INFO health has no %s", name)
	return ""
}
