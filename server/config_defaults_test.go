package server

import (
	"testing"
	"time"

	"github.com/bloomery/bloomery/internal/memory"
)

// TestClusterDefaults asks for the defaults that Cluster documents.
func TestClusterDefaults(t *testing.T) {
	c, err := Config{Dir: "data", Cluster: &Cluster{Name: "c1", Join: []string{"127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3"}}}.complete()
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Cluster; got.Addr != "127.0.0.1:6380" || got.Lanes != 8 || got.LaneSize != 1<<30 || got.Timeout != 15*time.Second || got.HideFromClients {
		t.Errorf("defaults: %+v", got)
	}
	for addr, want := range map[string]bool{
		"127.0.0.1:1": true, "127.9.9.9:1": true, "localhost:1": true, "[::1]:1": true, "[::ffff:127.0.0.1]:1": true,
		"10.0.0.1:1": false, "[::]:1": false, ":1": false, "example.org:1": false, "127.0.0.1": false, "localhost": false, "": false,
	} {
		if got := isLoopback(addr); got != want {
			t.Errorf("isLoopback(%q) = %t", addr, got)
		}
	}
}

// TestDefaultMaxMemory asks for three quarters of the memory of this process.
func TestDefaultMaxMemory(t *testing.T) {
	limit := int64(memory.Limit())
	if got := defaultMaxMemory(); got > limit*3/4 || got < limit*3/4-3 {
		t.Errorf("defaultMaxMemory() = %d, of %d", got, limit)
	}
}
