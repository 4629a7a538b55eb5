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
	c := goredis.NewClusterClient(&goredis.ClusterOptions{Addrs: addrs[:1], DialTimeout: time.Minute, ReadTimeout: 2 * clusterWrite, MaxRedirects: 100})
	defer c.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	// until tries something until it works: a machine under load has moments in which most
	// nodes do not hear of each other, and in which one lags behind another.
	until := func(what string, works func() error) {
		t.Helper()
		for {
			err := works()
			if err == nil {
				return
			}
			select {
			case <-ctx.Done():
				t.Fatalf("%s: %v", what, err)
			case <-time.After(50 * time.Millisecond):
			}
		}
	}
	key := func(i int) string { return fmt.Sprint("key", i) }
	// A node is in the slots of others as soon as they have heard of it, and the client looks at
	// them in its own time.
	until("the client spreads its keys", func() error {
		used := map[string]bool{}
		for i := range 60 {
			node, err := c.MasterForKey(ctx, key(i))
			if err != nil {
				return err
			}
			used[node.Options().Addr] = true
		}
		if len(used) < len(addrs) {
			c.ReloadState(ctx)
			return fmt.Errorf("it uses %v of %v", used, addrs)
		}
		return nil
	})
	for i := range 60 {
		until("BFAdd "+key(i), func() error {
			got, err := c.BFAdd(ctx, key(i), "x").Result()
			if err != nil && strings.HasPrefix(err.Error(), "CLUSTERDOWN ") {
				return err // nothing was changed
			}
			if err != nil || !got {
				t.Errorf("BFAdd %s = %v, %v", key(i), got, err)
			}
			return nil
		})
		until("BFExists "+key(i), func() error {
			got, err := c.BFExists(ctx, key(i), "x").Result()
			if err == nil && !got {
				err = errors.New("the item is not there")
			}
			return err
		})
	}
	until("a pipeline", func() error {
		replies, err := c.Pipelined(ctx, func(p goredis.Pipeliner) error {
			for i := range 60 {
				p.BFAdd(ctx, key(i), "y")
			}
			return nil
		})
		if err == nil && len(replies) != 60 {
			err = fmt.Errorf("%d replies", len(replies))
		}
		return err
	})
	until("a transaction", func() error {
		_, err := c.TxPipelined(ctx, func(p goredis.Pipeliner) error {
			p.Incr(ctx, "{n}1")
			p.Expire(ctx, "{n}1", time.Hour)
			return nil
		})
		return err
	})
	until("Info", func() error {
		got, err := c.Info(ctx, "cluster").Result()
		if err == nil && !strings.Contains(got, "cluster_enabled:1") {
			err = errors.New(got)
		}
		return err
	})
}

// clusterWrite is how long a write may take before its client is told that nobody knows
// whether it was kept: that would fail the test, and a machine under load takes its time.
const clusterWrite = 2 * time.Minute

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
				Cluster: &server.Cluster{Name: "test", Join: join, Addr: join[i], Lanes: 2, LaneSize: 64 << 20, Timeout: clusterWrite},
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
