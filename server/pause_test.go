package server_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/bloomery/bloomery/server"
)

// silent fails the test if a client is sent something within a moment.
func silent(t *testing.T, c *client, what string) {
	t.Helper()
	_ = c.nc.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
	if b, err := c.r.Peek(1); err == nil {
		t.Errorf("%s is answered during a pause: %q", what, b)
	}
	_ = c.nc.SetReadDeadline(time.Now().Add(30 * time.Second))
}

// held waits until so many clients wait for the end of a pause.
func held(t *testing.T, operator *client, n int) {
	t.Helper()
	waitFor(t, func() bool {
		return strings.Contains(operator.do("INFO", "clients"), fmt.Sprintf("blocked_clients:%d\r\n", n))
	}, "too few clients are held back")
}

func send(t *testing.T, c *client, lines ...string) {
	t.Helper()
	if _, err := c.nc.Write([]byte(strings.Join(lines, "\r\n") + "\r\n")); err != nil {
		t.Fatal(err)
	}
}

// TestPauseOfAll holds all clients back: operators can look, kill and end it.
func TestPauseOfAll(t *testing.T) {
	addr := start(t, server.Config{})
	operator, a, b := dial(t, addr), dial(t, addr), dial(t, addr)
	b.expect("+OK\r\n", "CLIENT", "SETNAME", "b")
	for _, tt := range [][]string{
		{"-ERR timeout is not an integer or out of range\r\n", "CLIENT", "PAUSE", "x"},
		{"-ERR timeout is negative\r\n", "CLIENT", "PAUSE", "-1"},
		{"-ERR CLIENT PAUSE mode must be WRITE or ALL\r\n", "CLIENT", "PAUSE", "1", "SOME"},
		{"+OK\r\n", "CLIENT", "PAUSE", "9223372036854775807"},
	} {
		operator.expect(tt[0], tt[1:]...)
	}
	send(t, a, "PING", "GET k")
	send(t, b, "PING")
	silent(t, a, "PING")
	silent(t, b, "PING")
	list := operator.do("CLIENT", "LIST")
	if !strings.Contains(list, "name=b") {
		t.Errorf("CLIENT LIST = %s", list)
	}
	id := list[:strings.Index(list, " addr="+b.nc.LocalAddr().String())]
	operator.expect(":1\r\n", "CLIENT", "KILL", "ID", id[strings.LastIndex(id, "=")+1:])
	if !b.closed() {
		t.Error("a client that waits cannot be killed")
	}
	gone(t, operator, "name=b")
	silent(t, a, "PING")
	operator.expect("+OK\r\n", "CLIENT", "UNPAUSE")
	if got := a.reply() + a.reply(); got != "+PONG\r\n$-1\r\n" {
		t.Errorf("after the pause: %q", got)
	}
	operator.expect("+PONG\r\n", "PING")
}

// TestPauseEndsByItself asks that the longest of several pauses holds a write back,
// until its time is over.
func TestPauseEndsByItself(t *testing.T) {
	operator := dial(t, start(t, server.Config{}))
	const long = 400 * time.Millisecond
	began := time.Now()
	operator.expect("+OK\r\n", "CLIENT", "PAUSE", "100", "WRITE")
	operator.expect("+OK\r\n", "CLIENT", "PAUSE", "400", "WRITE")
	operator.expect("+OK\r\n", "CLIENT", "PAUSE", "1", "WRITE") // ends nothing
	operator.expect(":1\r\n", "INCR", "k")
	if took := time.Since(began); took < long {
		t.Errorf("the pause ended after %v, want %v", took, long)
	}
}

// TestPauseOfWrites holds writes back, and only them.
func TestPauseOfWrites(t *testing.T) {
	addr := start(t, server.Config{})
	operator, a, b := dial(t, addr), dial(t, addr), dial(t, addr)
	operator.expect("+OK\r\n", "SET", "k", "1")
	operator.expect("+OK\r\n", "CLIENT", "PAUSE", "60000", "write")
	send(t, a, "GET k", "MULTI", "GET k", "EXEC", "BF.ADD f x", "GET k")
	want := "$1\r\n1\r\n" + "+OK\r\n" + "+QUEUED\r\n" + "*1\r\n$1\r\n1\r\n"
	if got := a.reply() + a.reply() + a.reply() + a.reply(); got != want {
		t.Errorf("reads during a pause of writes = %q, want %q", got, want)
	}
	silent(t, a, "BF.ADD")
	send(t, b, "MULTI", "INCR k")
	if got := b.reply(); got != "+OK\r\n" {
		t.Error(got)
	}
	silent(t, b, "INCR")
	held(t, operator, 2)
	operator.expect("+OK\r\n", "CLIENT", "UNPAUSE")
	if got := a.reply() + a.reply(); got != ":1\r\n$1\r\n1\r\n" {
		t.Errorf("after the pause: %q", got)
	}
	if got := b.reply(); got != "+QUEUED\r\n" {
		t.Error(got)
	}
	operator.expect("+OK\r\n", "CLIENT", "PAUSE", "60000", "WRITE")
	send(t, b, "EXEC")
	silent(t, b, "EXEC of a write")
	operator.expect("+OK\r\n", "CLIENT", "PAUSE", "0", "ALL") // another kind, as long
	send(t, a, "PING")
	silent(t, a, "PING")
	operator.expect("+OK\r\n", "CLIENT", "UNPAUSE")
	if got := b.reply() + a.reply(); got != "*1\r\n:2\r\n+PONG\r\n" {
		t.Errorf("after UNPAUSE: %q", got)
	}
}

// TestShutdownDuringPause asks that a pause does not keep the server from ending:
// what waits is answered.
func TestShutdownDuringPause(t *testing.T) {
	addr, stop := startStop(t, server.Config{ShutdownTimeout: time.Minute})
	operator, a := dial(t, addr), dial(t, addr)
	operator.expect("+OK\r\n", "CLIENT", "PAUSE", "600000", "WRITE")
	send(t, a, "INCR k")
	held(t, operator, 1)
	done := make(chan string, 1)
	go func() { done <- a.reply() }()
	endsWithin(t, 30*time.Second, stop)
	if got := <-done; got != ":1\r\n" {
		t.Errorf("INCR = %q", got)
	}
}
