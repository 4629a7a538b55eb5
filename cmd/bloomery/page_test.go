package main

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPage opens the page that the command prints the address of, and ends it as
// Ctrl-C does.
func TestPage(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	out, in := io.Pipe()
	code := make(chan int, 1)
	go func() { code <- run(ctx, []string{"page"}, strings.NewReader(""), in, io.Discard) }()
	line, err := bufio.NewReader(out).ReadString('\n')
	root, found := strings.CutSuffix(line, "how\n") // where there is something to see without a server
	if err != nil || !found || !strings.HasPrefix(line, "http://127.0.0.1:") {
		t.Fatalf("page prints %q, %v", line, err)
	}
	for path, want := range map[string]string{"": "How it works", "filters": "How it works", "calculator": "Calculator", "how": "How it works"} {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, root+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if err != nil || response.StatusCode != http.StatusOK || !strings.Contains(string(body), want+" ·") || strings.Contains(string(body), "Overview") {
			t.Errorf("/%s = %s, %v, without %q", path, response.Status, err, want)
		}
	}
	cancel()
	if got := <-code; got != 0 {
		t.Errorf("after Ctrl-C page ends with %d, want 0", got)
	}
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	for addr, want := range map[string]string{
		"nowhere":             `page: --http "nowhere": want HOST:PORT`,
		"127.0.0.1:99999":     "invalid port",
		taken.Addr().String(): "the port is taken by another program\nhint: choose another port",
	} {
		for _, flag := range []string{"--http", "--addr"} {
			if got, _, errOut := call(t, "page", flag, addr); got != exitUsage || !strings.Contains(errOut, want) {
				t.Errorf("page %s %s = %d, %q, want %d and %q", flag, addr, got, errOut, exitUsage, want)
			}
		}
	}
	full := t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "x"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", full) // without Go
	for dir, want := range map[string]string{
		full:                       "is not empty",
		filepath.Join(full, "new"): "compiled by Go, which is not installed\nhint: take bloomery_VERSION_page.tar.gz",
	} {
		if got, _, errOut := call(t, "page", "export", dir); got == exitOK || !strings.Contains(errOut, want) {
			t.Errorf("page export %s = %d, %q, want %q", dir, got, errOut, want)
		}
	}
	if got, _, errOut := call(t, "page", "more"); got != exitUsage || errOut == "" {
		t.Errorf("page more = %d, %q, want %d and a message", got, errOut, exitUsage)
	}
}
