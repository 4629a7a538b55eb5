package main

import (
	"bufio"
	"context"
	"io"
	"net/http"
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
	if err != nil || !strings.HasPrefix(line, "http://127.0.0.1:") {
		t.Fatalf("page prints %q, %v", line, err)
	}
	for path, want := range map[string]string{"": "No server", "filters": "No server", "calculator": "Calculator", "how": "How it works"} {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSpace(line)+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if err != nil || response.StatusCode != http.StatusOK || !strings.Contains(string(body), want) {
			t.Errorf("/%s = %s, %v, without %q", path, response.Status, err, want)
		}
	}
	cancel()
	if got := <-code; got != 0 {
		t.Errorf("after Ctrl-C page ends with %d, want 0", got)
	}
	for _, args := range [][]string{{"page", "--addr", "nowhere"}, {"page", "--addr", "127.0.0.1:99999"}, {"page", "more"}} {
		if got, _, errOut := call(t, args...); got != exitUsage || errOut == "" {
			t.Errorf("%q = %d, %q, want %d and a message", args, got, errOut, exitUsage)
		}
	}
}
