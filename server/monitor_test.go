package server_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/bloomery/bloomery/server"
)

// TestMonitor watches what other clients do.
func TestMonitor(t *testing.T) {
	t.Parallel()
	addr := start(t, server.Config{})
	m, c := dial(t, addr), dial(t, addr)
	m.expect("+OK\r\n", "MONITOR")
	m2 := dial(t, addr)
	m2.expect("+OK\r\n", "MONITOR")
	c.expect("+OK\r\n", "SET", "k", "a \"quoted\"\r\n\x01\xff\\")
	c.do("AUTH", "s3cret")
	c.do("HELLO", "2", "AUTH", "default", "s3cret")
	c.do("NOCOMMAND", "s3cret")
	c.do("CONFIG", "SET", "timeout", "3") // an operator's
	c.expect("+OK\r\n", "MULTI")
	c.expect("+QUEUED\r\n", "GET", "k")
	c.do("EXEC")
	c.expect("+OK\r\n", "SET", "long", strings.Repeat("v", 5000))
	if got := c.do("CLIENT", "LIST"); strings.Count(got, "flags=O") != 2 {
		t.Errorf("CLIENT LIST = %s", got)
	}
	head := regexp.MustCompile(`^\+\d+\.\d{6} \[0 ` + regexp.QuoteMeta(c.nc.LocalAddr().String()) + `\] `)
	for _, want := range []string{
		`"SET" "(key)" "a \"quoted\"\r\n\x01\xff\\"`, `"AUTH" "(redacted)"`, `"HELLO" "2" "AUTH" "(redacted)" "(redacted)"`,
		`"MULTI"`, `"GET" "(key)"`, `"EXEC"`, `"SET" "(key)" "` + strings.Repeat("v", 4096) + `... (904 more bytes)"`,
	} {
		line := m.reply()
		if !head.MatchString(line) || head.ReplaceAllString(line, "") != want+"\r\n" {
			t.Errorf("MONITOR shows %q, want %s", line, want)
		}
		if m2.reply() != line {
			t.Error("two monitors see different lines")
		}
	}
	if got := m.do("RESET"); got != "+RESET\r\n" {
		t.Errorf("RESET = %q", got)
	}
	m.expect("+PONG\r\n", "PING")
	if got := m2.reply(); !strings.HasSuffix(got, "\"RESET\"\r\n") {
		t.Errorf("MONITOR shows %q", got)
	}
	if got := m2.reply(); !strings.HasSuffix(got, "\"PING\"\r\n") {
		t.Errorf("MONITOR shows %q", got)
	}
	m2.expect("+OK\r\n", "QUIT")
}

// TestSlowMonitorIsDropped has a monitor that takes nothing: it is closed, others
// go on, and its memory is given back.
func TestSlowMonitorIsDropped(t *testing.T) {
	addr := start(t, server.Config{})
	m, c := dial(t, addr), dial(t, addr)
	m.expect("+OK\r\n", "MONITOR")
	value := strings.Repeat("v", 4000)
	batch := []byte(strings.Repeat(string(request("SET", "k", value)), 50))
	for until := time.Now().Add(30 * time.Second); ; {
		if _, err := c.nc.Write(batch); err != nil {
			t.Fatal(err)
		}
		for range 50 {
			if got := c.reply(); got != "+OK\r\n" {
				t.Fatalf("SET = %q", got)
			}
		}
		if !strings.Contains(c.do("CLIENT", "LIST"), "flags=O") {
			break
		}
		if time.Now().After(until) {
			t.Fatal("a monitor that takes nothing stays")
		}
	}
	held := regexp.MustCompile(`used_memory_clients:\d{7}`) // 1 MB or more
	waitFor(t, func() bool { return !held.MatchString(c.do("INFO", "memory")) }, "memory of clients is still held")
}

// TestMonitorWithLargeReplies asks that lines never come into the middle of a
// reply.
func TestMonitorWithLargeReplies(t *testing.T) {
	addr := start(t, server.Config{})
	m, c := dial(t, addr), dial(t, addr)
	value := strings.Repeat("0123456789", 100_000)
	c.expect("+OK\r\n", "SET", "k", value)
	m.expect("+OK\r\n", "MONITOR")
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
				c.do("PING")
			}
		}
	}()
	for range 5 {
		if _, err := m.nc.Write(request("GET", "k")); err != nil {
			t.Fatal(err)
		}
		for {
			got := m.reply()
			if got[0] == '+' {
				if !strings.HasSuffix(got, "\"\r\n") {
					t.Fatalf("MONITOR shows %.80q", got)
				}
				continue
			}
			if got != "$1000000\r\n"+value+"\r\n" {
				t.Fatalf("GET = %.80q, %d bytes", got, len(got))
			}
			break
		}
	}
	close(stop)
	<-stopped
}
