//go:build unix

package main

import (
	"context"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"
)

// manager returns the socket of a manager as systemd is one, to which servers of this test report, and its name.
func manager(t *testing.T) (l *net.UnixConn, name string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "notify") // names of sockets must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	name = filepath.Join(dir, "s")
	l, err = net.ListenUnixgram("unixgram", &net.UnixAddr{Name: name, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	t.Setenv(notifySocket, name)
	return l, name
}

// TestNotify starts a server as systemd does, and reads what it reports: that it is
// ready, when it answers, and that it stops.
func TestNotify(t *testing.T) {
	l, name := manager(t)
	_ = l.SetDeadline(time.Now().Add(2 * time.Minute))
	c := startChild(t, "--dir", "")
	for _, want := range []string{notifyReady, notifyStopping} {
		b := make([]byte, 100)
		n, err := l.Read(b)
		if err != nil || string(b[:n]) != want {
			t.Fatalf("the server reports %q, %v, want %q", b[:n], err, want)
		}
		if want == notifyReady {
			_ = dial(t, c.addr)
			if err := c.cmd.Process.Signal(syscall.SIGINT); err != nil {
				t.Fatal(err)
			}
		}
	}
	if code := exitOf(t, c.cmd.Wait()); code != 0 {
		t.Errorf("the server ends with %d", code)
	}
	// A manager that is not there is no reason to stop.
	if err := notify(func(string) (string, bool) { return name + "-of-nobody", true }, notifyReady); err == nil {
		t.Error("a report to nobody is no error")
	}
	if err := notify(func(string) (string, bool) { return "", false }, notifyReady); err != nil {
		t.Errorf("without a manager: %v", err)
	}
}

// TestStoppingIsReported ends servers that stop at once, and asks that each has reported it by then.
func TestStoppingIsReported(t *testing.T) {
	l, _ := manager(t)
	raw, err := l.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	for range 100 {
		ctx, cancel := context.WithCancel(t.Context())
		stop := notifyManager(ctx, slog.New(slog.DiscardHandler))
		cancel()
		stop()
		for _, want := range []string{notifyReady, notifyStopping} {
			b, n := make([]byte, 100), 0
			_ = raw.Control(func(fd uintptr) { n, _, err = syscall.Recvfrom(int(fd), b, syscall.MSG_DONTWAIT) })
			if err != nil || string(b[:n]) != want {
				t.Fatalf("%q, %v is what was reported, want %q", b[:max(n, 0)], err, want)
			}
		}
	}
}

// TestStoppingWaitsForTheManager has a manager read late that a server stops: the process does not end before.
func TestStoppingWaitsForTheManager(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("a report that has no room does not wait for it here")
	}
	l, name := manager(t)
	_ = l.SetDeadline(time.Now().Add(2 * time.Minute))
	c := startChild(t, "--dir", "")
	b := make([]byte, 100)
	if n, err := l.Read(b); err != nil || string(b[:n]) != notifyReady {
		t.Fatalf("the server reports %q, %v", b[:n], err)
	}
	out, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: name, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	raw, err := out.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	for err == nil { // until there is no room
		_ = raw.Write(func(fd uintptr) bool { _, err = syscall.Write(int(fd), []byte("x")); return true })
	}
	if err := c.cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- c.cmd.Wait() }()
	select {
	case err := <-ended:
		t.Fatalf("the process has ended (%v) before the manager was told", err)
	case <-time.After(time.Second):
	}
	for got := "x"; got == "x"; {
		n, err := l.Read(b)
		if got = string(b[:n]); err != nil || got != "x" && got != notifyStopping {
			t.Fatalf("the server reports %q, %v", got, err)
		}
	}
	if code := exitOf(t, <-ended); code != 0 {
		t.Errorf("the server ends with %d", code)
	}
}
