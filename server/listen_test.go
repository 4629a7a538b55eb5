package server

import (
	"os"
	"path/filepath"
	"testing"
)

// TestNextPort asks for addresses beside those that are taken.
func TestNextPort(t *testing.T) {
	for addr, want := range map[string]string{
		"127.0.0.1:6379": "127.0.0.1:6380", "[::1]:1": "[::1]:2", ":65534": ":65535",
		":65535": "127.0.0.1:6380", ":http": "127.0.0.1:6380", "nonsense": "127.0.0.1:6380",
	} {
		if got := nextPort(addr); got != want {
			t.Errorf("nextPort(%q) = %q, want %q", addr, got, want)
		}
	}
}

// TestNoHTTPAddressStays asks that after an address of HTTP that cannot be bound the
// ones before it are free: the file of a socket is gone.
func TestNoHTTPAddressStays(t *testing.T) {
	dir, err := os.MkdirTemp("", "s")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	first := filepath.Join(dir, "first")
	s, err := New(t.Context(), Config{Addr: []string{"127.0.0.1:0"}, HTTP: []string{"unix:" + first, "unix:" + filepath.Join(dir, "none", "second")}})
	if err == nil {
		_ = s.Close()
		t.Fatal("New succeeded")
	}
	if _, err := os.Lstat(first); err == nil {
		t.Error("the first address is still bound")
	}
}
