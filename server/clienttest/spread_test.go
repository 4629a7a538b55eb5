package clienttest

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
)

// TestSpreadCluster has clients of Redis Cluster use a cluster whose contents are spread: they
// go straight to a node that holds a filter of one part, so that nodes pass on next to nothing, and no
// node ever answers MOVED.
func TestSpreadCluster(t *testing.T) {
	if testing.Short() {
		t.Skip("a cluster takes 10 seconds to start")
	}
	t.Parallel()
	n := startNodes(t)
	ctx := t.Context()
	one := goredis.NewClient(&goredis.Options{Addr: n.addrs[0], ReadTimeout: clusterPatience})
	defer one.Close()
	until(t, "CLUSTER UPGRADE", func() error { return one.Do(ctx, "CLUSTER", "UPGRADE").Err() })
	until(t, "CLUSTER COPIES", func() error { return one.Do(ctx, "CLUSTER", "COPIES", 2).Err() })
	until(t, "moves", func() error {
		left, err := one.Do(ctx, "CLUSTER", "REBALANCE").Slice()
		if err == nil && len(left) > 0 {
			err = fmt.Errorf("%v have to move", left)
		}
		return err
	})
	until(t, "all nodes know where contents lie", func() error {
		for _, addr := range n.addrs {
			slots, err := slotsOf(t, addr)
			if err != nil {
				return err
			}
			for _, s := range slots {
				if len(s.Nodes) != 2 {
					return fmt.Errorf("slots %d to %d are at %v", s.Start, s.End, s.Nodes)
				}
			}
		}
		return nil
	})

	c := goredis.NewClusterClient(&goredis.ClusterOptions{Addrs: []string{n.addrs[0]}, DialTimeout: time.Minute, ReadTimeout: clusterPatience, MaxRedirects: -1})
	defer c.Close()
	spreads(t, n, c)
	for i := range clusterKeys {
		until(t, "BFAdd", func() error { return c.BFAdd(ctx, clusterKey(i), "x").Err() })
	}
	before := questions(t, n)
	for i := range clusterKeys { // a client that knows one node
		check(t, one.BFExists(ctx, clusterKey(i), "x").Err())
	}
	if questions(t, n) == before {
		t.Error("what a node does not hold it has answered without asking another one")
	}
	straight(t, n, "go-redis", func(lookups int) error {
		for i := range lookups {
			got, err := c.BFExists(ctx, clusterKey(i), "x").Result()
			if err != nil || !got {
				return fmt.Errorf("BFExists %s = %v, %w", clusterKey(i), got, err)
			}
		}
		return nil
	})
	p := startRedisPy(t, n, "lookups")
	if p == nil {
		return // no Python has redis-py
	}
	check(t, p.round()) // it connects
	straight(t, n, "redis-py", func(lookups int) error {
		for range lookups / clusterKeys {
			if err := p.round(); err != nil {
				return err
			}
		}
		return nil
	})
}

func slotsOf(t *testing.T, addr string) ([]goredis.ClusterSlot, error) {
	t.Helper()
	c := goredis.NewClient(&goredis.Options{Addr: addr, ReadTimeout: clusterPatience})
	defer c.Close()
	return c.ClusterSlots(t.Context()).Result()
}

// straight asks that nodes hardly ask each other while a client looks things up. One that went to
// any node would miss its filter a third of the times.
func straight(t *testing.T, n *nodes, client string, look func(lookups int) error) {
	t.Helper()
	const lookups = 10 * clusterKeys
	before := questions(t, n)
	if err := look(lookups); err != nil {
		t.Errorf("%s: %v", client, err)
	}
	if asked := questions(t, n) - before; asked > lookups/10 {
		t.Errorf("%s: nodes have asked each other %d times about %d lookups", client, asked, lookups)
	}
}

// questions returns how often nodes have asked each other.
func questions(t *testing.T, n *nodes) (sum int) {
	t.Helper()
	for _, addr := range n.addrs {
		c := goredis.NewClient(&goredis.Options{Addr: addr, ReadTimeout: clusterPatience})
		text, err := c.Info(t.Context(), "cluster").Result()
		check(t, errors.Join(err, c.Close()))
		_, rest, _ := strings.Cut(text, "cluster_questions_asked:")
		value, _, _ := strings.Cut(rest, "\r\n")
		asked, err := strconv.Atoi(value)
		check(t, err)
		sum += asked
	}
	return sum
}
