package server

import (
	"bufio"
	"bytes"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"
)

// TestOneStreamOfAMonitor asks that a monitor has one goroutine that sends lines,
// however many commands it sends itself, and that what it is sent is counted.
func TestOneStreamOfAMonitor(t *testing.T) {
	s := newServer(t, Config{})
	nc, err := s.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = nc.Close() }()
	_ = nc.SetDeadline(time.Now().Add(time.Minute))
	r, read := bufio.NewReader(nc), int64(0)
	do := func(line, want string) {
		t.Helper()
		if _, err := nc.Write([]byte(line + "\r\n")); err != nil {
			t.Fatal(err)
		}
		for got := ""; got != want; {
			if got, err = r.ReadString('\n'); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			read += int64(len(got))
		}
	}
	do("MONITOR", "+OK\r\n")
	const commands = 10
	for range commands {
		do("PING", "+PONG\r\n")
	}
	stacks := make([]byte, 4<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	if n := bytes.Count(stacks, []byte("server.(*conn).stream(")); n > 1 {
		t.Errorf("%d goroutines send lines to one monitor", n)
	}
	other, err := s.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Close() }()
	_ = other.SetDeadline(time.Now().Add(time.Minute))
	for range commands {
		if _, err := other.Write([]byte("ECHO a\r\n")); err != nil {
			t.Fatal(err)
		}
		reply := make([]byte, len("$1\r\na\r\n"))
		if _, err := io.ReadFull(other, reply); err != nil {
			t.Fatal(err)
		}
		read += int64(len(reply))
		line, err := r.ReadString('\n')
		for err == nil && !strings.Contains(line, `"ECHO"`) {
			read += int64(len(line))
			line, err = r.ReadString('\n')
		}
		if err != nil {
			t.Fatal(err)
		}
		read += int64(len(line))
	}
	// Bytes are counted when they have been written: a moment later, perhaps.
	for until := time.Now().Add(20 * time.Second); (host{s}).Facts().BytesOut != read; time.Sleep(time.Millisecond) {
		if time.Now().After(until) {
			t.Fatalf("%d bytes count as sent, %d were read", (host{s}).Facts().BytesOut, read)
		}
	}
}
