package clienttest

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/bloomery/bloomery/server"
)

var onCluster = flag.Bool("cluster", false, "start three servers of a cluster, too")

// TestGoRedisOnACluster has the cluster client of go-redis use three servers of a
// cluster: it finds all of them from one, spreads its commands and pipelines, and sees
// what it wrote.
func TestGoRedisOnACluster(t *testing.T) {
	if !*onCluster {
		t.Skip("three servers of a cluster take a while to start: make soak does that")
	}
	addrs := startCluster(t)
	// On a machine under load a write that is slow must not be sent again, since the second finds
	// the item there, and one that is refused must.
	c := goredis.NewClusterClient(&goredis.ClusterOptions{Addrs: addrs[:1], ReadTimeout: time.Minute, MaxRedirects: 100})
	defer c.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute) // disks of a machine under load take their time
	defer cancel()
	// A node is in the slots of others as soon as they have heard of it.
	for seen, want := []string(nil), slices.Sorted(slices.Values(addrs)); !slices.Equal(seen, want); time.Sleep(100 * time.Millisecond) {
		slots, err := c.ClusterSlots(ctx).Result()
		if err != nil {
			t.Fatalf("ClusterSlots, which had %v of %v: %v", seen, want, err)
		}
		seen = nil
		for _, s := range slots {
			seen = append(seen, s.Nodes[0].Addr)
		}
		slices.Sort(seen)
	}
	c.ReloadState(ctx)
	used := map[string]bool{}
	for i := range 60 {
		key := fmt.Sprint("key", i)
		node, err := c.MasterForKey(ctx, key)
		check(t, err)
		used[node.Options().Addr] = true
		if got, err := c.BFAdd(ctx, key, "x").Result(); err != nil || !got {
			t.Errorf("BFAdd %s = %v, %v", key, got, err)
		}
		if got, err := c.BFExists(ctx, key, "x").Result(); err != nil || !got {
			t.Errorf("BFExists %s = %v, %v", key, got, err)
		}
	}
	if len(used) < 2 {
		t.Errorf("the client uses %v", used)
	}
	replies, err := c.Pipelined(ctx, func(p goredis.Pipeliner) error {
		for i := range 60 {
			p.BFAdd(ctx, fmt.Sprint("key", i), "y")
		}
		return nil
	})
	if err != nil || len(replies) != 60 {
		t.Errorf("a pipeline = %d replies, %v", len(replies), err)
	}
	if _, err := c.TxPipelined(ctx, func(p goredis.Pipeliner) error {
		p.Incr(ctx, "{n}1")
		p.Expire(ctx, "{n}1", time.Minute)
		return nil
	}); err != nil {
		t.Errorf("a transaction: %v", err)
	}
	if got, err := c.Info(ctx, "cluster").Result(); err != nil || !strings.Contains(got, "cluster_enabled:1") {
		t.Errorf("Info = %s, %v", got, err)
	}
}

// startCluster runs three servers of a new cluster until the test ends, and returns the
// addresses of clients.
func startCluster(t *testing.T) []string {
	t.Helper()
	var join []string
	for len(join) < 3 {
		addr := fmt.Sprintf("127.0.0.1:%d", 15000+rand.IntN(15000))
		if l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", addr); err == nil && !slices.Contains(join, addr) {
			_ = l.Close()
			join = append(join, addr)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	dir, servers, errs := t.TempDir(), make([]*server.Server, 3), make([]error, 3)
	var wg sync.WaitGroup
	for i := range join {
		wg.Go(func() {
			servers[i], errs[i] = server.NewContext(ctx, server.Config{
				Addr: []string{"127.0.0.1:0"}, Dir: filepath.Join(dir, fmt.Sprint(i)),
				Cluster: &server.Cluster{Name: "test", Join: join, Addr: join[i], Lanes: 2, LaneSize: 64 << 20},
			})
		})
	}
	wg.Wait()
	addrs := make([]string, 3)
	for i, s := range servers {
		if s == nil {
			continue
		}
		addrs[i] = s.Addr().String()
		serving, stop := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() { done <- s.Serve(serving) }()
		t.Cleanup(func() {
			stop()
			if err := <-done; err != nil {
				t.Errorf("Serve: %v", err)
			}
		})
	}
	check(t, errors.Join(errs...))
	return addrs
}
