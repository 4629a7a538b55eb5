package main

import (
	"bufio"
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"testing"
)

// TestFollowServer follows a filter of a server: once, and until it is interrupted.
func TestFollowServer(t *testing.T) {
	c := startChild(t, "--dir", filepath.Join(t.TempDir(), "data"))
	t.Cleanup(c.kill)
	nc := dial(t, c.addr)
	r := bufio.NewReader(nc)
	ask := func(commands ...string) {
		t.Helper()
		if replies, err := talk(nc, r, commands...); err != nil || strings.Contains(strings.Join(replies, ""), "-") {
			t.Fatal(replies, err)
		}
	}
	ask("FILTER.CREATE seen cuckoo CAPACITY 1000", "FILTER.ADD seen first")
	name := filepath.Join(t.TempDir(), "seen.bf")
	cli := func(ctx context.Context, args ...string) (code int, out, errOut string) {
		var o, e bytes.Buffer
		code = run(ctx, args, strings.NewReader(""), &o, &e)
		return code, o.String(), e.String()
	}
	at := "redis://" + c.addr
	for _, want := range []string{"version 1, ", "is up to date"} {
		if code, _, errOut := cli(t.Context(), "follow", "--once", "-o", name, at, "seen"); code != 0 || !strings.Contains(errOut, want) {
			t.Fatalf("follow --once = %d, %q, want %q", code, errOut, want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan string, 1)
	go func() {
		code, _, errOut := cli(ctx, "follow", "--every", "50ms", "--name", "me", "-o", name, at, "seen")
		if code != 0 && code != 130 {
			t.Errorf("follow = %d, %q", code, errOut)
		}
		done <- errOut
	}()
	ask("FILTER.ADD seen second")
	cancel() // the copy may have the second item by now, or not
	<-done
	if code, _, errOut := cli(t.Context(), "follow", "--once", "-o", name, at, "seen"); code != 0 {
		t.Fatalf("follow --once behind it = %d, %q", code, errOut)
	}
	if code, _, errOut := cli(t.Context(), "check", name, "second"); code != 0 {
		t.Errorf("the copy lacks what was added: %d, %q", code, errOut)
	}
	ask("FILTER.CREATE parts cuckoo CAPACITY 1000 PARTS 4", "FILTER.ADD parts first second")
	parts := filepath.Join(t.TempDir(), "parts.bf")
	if code, _, errOut := cli(t.Context(), "follow", "--once", "-o", parts, at, "parts"); code != 0 {
		t.Fatalf("follow --once of four parts = %d, %q", code, errOut)
	}
	if code, out, errOut := cli(t.Context(), "check", parts, "first", "third", "second"); code != 0 || out != "first\nsecond\n" {
		t.Errorf("check of a copy of four parts = %d, %q, %q", code, out, errOut)
	}
	if code, out, errOut := cli(t.Context(), "inspect", parts); code != 0 || !strings.Contains(out, "2 of 1,") || !strings.Contains(out, "sound\n") {
		t.Errorf("inspect of a copy of four parts = %d, %q, %q", code, out, errOut)
	}
	for _, bad := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{at}, 2, "give the KEY"},
		{[]string{at, "none"}, 2, "the key \"none\" was not found on the server\nhint: FILTER.LIST lists"},
		{[]string{"--filter", "x", at, "seen"}, 2, "give the KEY"},
		{[]string{t.TempDir(), "seen"}, 2, "are for a server"},
		{[]string{"redis://127.0.0.1:1", "seen"}, 2, "refused"},
		{[]string{"--max-memory", "1KiB", at, "seen"}, 2, "1024 bytes, the limit\nhint: if you trust the source, give more with --max-memory"},
	} {
		args := append([]string{"follow", "--once", "-o", filepath.Join(t.TempDir(), "x.bf")}, bad.args...)
		if code, _, errOut := cli(t.Context(), args...); code != bad.code || !strings.Contains(errOut, bad.want) {
			t.Errorf("%q = %d, %q; want %d, %q", args, code, errOut, bad.code, bad.want)
		}
	}
}
