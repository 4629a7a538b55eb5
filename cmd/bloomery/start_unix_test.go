//go:build unix

// Tests of starts that cannot succeed, or are interrupted.

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/bloomery/bloomery/server"
)

// TestNotAFile puts a pipe, and a folder, in the place of each file that a start
// reads: it ends at once and names it.
func TestNotAFile(t *testing.T) {
	dir := t.TempDir()
	c := startChild(t, "--dir", dir)
	m := dial(t, c.addr)
	for _, command := range []string{"SET k v\r\n", "SAVE\r\n"} {
		if _, err := m.Write([]byte(command)); err != nil {
			t.Fatal(err)
		}
		if n, err := m.Read(make([]byte, 100)); err != nil || n == 0 {
			t.Fatal(err)
		}
	}
	c.kill()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) < 3 {
		t.Fatalf("%v, %v, want a log, a part file and a manifest", entries, err)
	}
	for _, e := range entries {
		name := filepath.Join(dir, e.Name())
		for what, put := range map[string]func() error{
			"a pipe":   func() error { return syscall.Mkfifo(name, 0o600) },
			"a folder": func() error { return os.Mkdir(name, 0o700) },
		} {
			if err := os.Rename(name, name+".aside"); err != nil {
				t.Fatal(err)
			}
			if err := put(); err != nil {
				t.Fatal(err)
			}
			for _, args := range [][]string{{"serve", "--dir", dir, "--addr", "127.0.0.1:0"}, {"doctor", dir}} {
				cmd := process(t, args...)
				var errOut bytes.Buffer
				cmd.Stdout, cmd.Stderr = &errOut, &errOut
				timer := time.AfterFunc(2*time.Minute, func() { _ = cmd.Process.Kill() })
				got := exitOf(t, cmd.Run())
				timer.Stop()
				if got != exitBad || !strings.Contains(errOut.String(), e.Name()) || !strings.Contains(errOut.String(), "not a regular file") {
					t.Errorf("%s with %s as %s = %d, %s", args[0], what, e.Name(), got, &errOut)
				}
			}
			if err := os.Remove(name); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(name+".aside", name); err != nil {
				t.Fatal(err)
			}
		}
	}
	if code, out, errOut := call(t, "doctor", dir); code != 0 {
		t.Errorf("doctor, when all is back = %d, %s%s", code, out, errOut)
	}
}

// TestStartIsInterrupted ends a start that reads: one that notices, one that is
// done all the same, and one whose disk does not answer.
func TestStartIsInterrupted(t *testing.T) {
	never := make(chan struct{})
	t.Cleanup(func() { close(never) })
	for name, start := range map[string]func(context.Context, server.Config) (*server.Server, error){
		"notices": func(ctx context.Context, _ server.Config) (*server.Server, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		},
		"is done": func(ctx context.Context, c server.Config) (*server.Server, error) {
			<-ctx.Done()
			return server.New(t.Context(), c)
		},
		"no answer": func(context.Context, server.Config) (*server.Server, error) {
			<-never
			return nil, nil
		},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(20*time.Millisecond, cancel)
		limit := time.Minute
		if name == "no answer" {
			limit = 100 * time.Millisecond // it is waited for
		}
		s, err := startServer(ctx, server.Config{Addr: []string{"127.0.0.1:0"}, ShutdownTimeout: limit}, start)
		if (s != nil) != (name == "is done") || (err != nil) != (name == "notices") {
			t.Errorf("a start that %s: %v, %v", name, s, err)
		}
		if s != nil {
			if err := s.Serve(ctx); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestServeAgain asks that a node whose log was purged while it was away is started again by
// the same process, and that nothing else is.
func TestServeAgain(t *testing.T) {
	purged, other := fmt.Errorf("lane CAT: %w", server.ErrPurged), errors.New("another")
	for _, c := range []struct {
		errs []error
		want error
	}{{[]error{nil}, nil}, {[]error{purged, purged, nil}, nil}, {[]error{purged, other}, other}, {[]error{server.ErrRemoved}, server.ErrRemoved}} {
		n := 0
		err := serveAgain(t.Context(), slog.New(slog.DiscardHandler), func() error { n++; return c.errs[n-1] })
		if !errors.Is(err, c.want) || n != len(c.errs) {
			t.Errorf("%v: served %d times, and ended with %v", c.errs, n, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := serveAgain(ctx, slog.New(slog.DiscardHandler), func() error { return purged }); !errors.Is(err, server.ErrPurged) {
		t.Errorf("a process that is to end: %v", err)
	}
}
