package server_test

// What answers before a node has found its cluster.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bloomery/bloomery/internal/ports"
	"github.com/bloomery/bloomery/server"
)

// TestNodeStarts asks a node that waits for the others of its cluster: Redis clients
// are refused, and probes are told that it is not ready. It can be ended.
func TestNodeStarts(t *testing.T) {
	t.Parallel()
	addrs, socket := ports.Free(t, 5), filepath.Join(t.TempDir(), "socket")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	dir := t.TempDir()
	go func() {
		_, err := server.New(ctx, server.Config{
			Addr: []string{addrs[3], "unix:" + socket}, HTTP: addrs[4:], Dir: dir, Cluster: &server.Cluster{Name: "test", Join: addrs[:3], Addr: addrs[0]},
		})
		ended <- err
	}()
	listens(t, addrs[4])
	const starting = "this node is starting: it answers when it has all that its cluster has"
	for network, addr := range map[string]string{"tcp": addrs[3], "unix": socket} {
		if nc, err := new(net.Dialer).DialContext(t.Context(), network, addr); err == nil {
			_ = nc.Close()
			t.Errorf("a client is let in at %s", addr)
		}
	}
	for path, want := range map[string]string{
		"/livez":          `200 {"status":"starting"}`,
		"/readyz":         `503 {"error":{"code":"starting","message":"` + starting + `"}}`,
		"/api/v1/filters": `503 {"error":{"code":"starting","message":"` + starting + `"}}`,
	} {
		r, err := http.Get("http://" + addrs[4] + path)
		if err != nil {
			t.Error(err)
			continue
		}
		body, _ := io.ReadAll(r.Body)
		_ = r.Body.Close()
		if got := fmt.Sprintf("%d %s", r.StatusCode, strings.TrimSpace(string(body))); got != want {
			t.Errorf("%s = %s, want %s", path, got, want)
		}
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("New = %v", err)
	}
}

// listens returns when somebody listens on an address.
func listens(t *testing.T, addr string) {
	t.Helper()
	for end := time.Now().Add(clusterPatience); ; time.Sleep(5 * time.Millisecond) {
		nc, err := new(net.Dialer).DialContext(t.Context(), "tcp", addr)
		if err == nil {
			_ = nc.Close()
			return
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
}
