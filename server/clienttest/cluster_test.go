package clienttest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
)

// TestCluster has clients of Redis Cluster use a cluster of three: they find all nodes
// from one, spread their commands, see what they wrote, and go on when a node is restarted or killed.
func TestCluster(t *testing.T) {
	if testing.Short() {
		t.Skip("a cluster takes 10 seconds to start")
	}
	t.Parallel()
	n := startNodes(t)
	// A write that is slow, on a machine under load, must not be sent again: the second
	// finds the item there.
	c := goredis.NewClusterClient(&goredis.ClusterOptions{Addrs: []string{n.addrs[0]}, DialTimeout: time.Minute, ReadTimeout: clusterPatience, MaxRedirects: 100})
	defer c.Close()
	spreads(t, n, c)
	for i := range clusterKeys {
		until(t, "BFAdd", func() error {
			got, err := c.BFAdd(t.Context(), clusterKey(i), "x").Result()
			if err != nil && strings.HasPrefix(err.Error(), "CLUSTERDOWN ") {
				return err // nothing was changed
			}
			if err != nil || !got {
				t.Errorf("BFAdd %s = %v, %v", clusterKey(i), got, err)
			}
			return nil
		})
	}
	t.Run("GoRedis", func(t *testing.T) { goRedisOnACluster(t, n, c) })
	t.Run("Rueidis", func(t *testing.T) { rueidisOnACluster(t, n) })
	t.Run("RedisPy", func(t *testing.T) { redisPyOnACluster(t, n) })
	t.Run("Restart", func(t *testing.T) { restartUnderClients(t, n) })
	t.Run("Kill", func(t *testing.T) { killUnderClients(t, n) })
}

// clusterKeys is how many filters the tests have: enough that each node has some.
const clusterKeys = 60

func clusterKey(i int) string { return fmt.Sprint("key", i%clusterKeys) }

// spreads waits until a client uses all nodes: a node is in the slots of others as soon as
// they have heard of it, and the client looks at them in its own time.
func spreads(t *testing.T, n *nodes, c *goredis.ClusterClient) {
	t.Helper()
	until(t, "the client spreads its keys", func() error {
		used := map[string]bool{}
		for i := range clusterKeys {
			node, err := c.MasterForKey(t.Context(), clusterKey(i))
			if err != nil {
				return err
			}
			used[node.Options().Addr] = true
		}
		if len(used) < len(n.addrs) {
			c.ReloadState(t.Context())
			return fmt.Errorf("it uses %v of %v", used, n.addrs)
		}
		return nil
	})
}

func goRedisOnACluster(t *testing.T, n *nodes, c *goredis.ClusterClient) {
	t.Helper()
	ctx := t.Context()
	until(t, "a pipeline", func() error {
		replies, err := c.Pipelined(ctx, func(p goredis.Pipeliner) error {
			for i := range clusterKeys {
				p.BFExists(ctx, clusterKey(i), "x")
			}
			return nil
		})
		for _, r := range replies {
			if cmd, ok := r.(*goredis.BoolCmd); err == nil && (!ok || !cmd.Val()) {
				err = fmt.Errorf("%v", r)
			}
		}
		return err
	})
	until(t, "a transaction", func() error {
		_, err := c.TxPipelined(ctx, func(p goredis.Pipeliner) error {
			p.Incr(ctx, "{n}1")
			p.Expire(ctx, "{n}1", time.Hour)
			return nil
		})
		return err
	})
	until(t, "Info", func() error {
		got, err := c.Info(ctx, "cluster").Result()
		if err == nil && !strings.Contains(got, "cluster_enabled:1") {
			err = errors.New(got)
		}
		return err
	})
	// Every node lists every name: one of them is asked.
	until(t, "the names of one node", func() error {
		node, err := c.MasterForKey(ctx, "any")
		if err != nil {
			return err
		}
		var names []string
		for it := node.Scan(ctx, 0, "key*", 100).Iterator(); it.Next(ctx); {
			names = append(names, it.Val())
		}
		slices.Sort(names)
		if whole := len(names); whole != clusterKeys || len(slices.Compact(names)) != clusterKeys {
			return fmt.Errorf("%d names, want %d different ones", whole, clusterKeys)
		}
		return nil
	})
	until(t, "ClusterSlots and ClusterShards", func() error {
		slots, err := c.ClusterSlots(ctx).Result()
		if err != nil || len(slots) != len(n.addrs) || len(slots[0].Nodes) != len(n.addrs) {
			return fmt.Errorf("slots %v, %w: want all nodes in each range", slots, err)
		}
		shards, err := c.ClusterShards(ctx).Result()
		if err != nil || len(shards) != len(n.addrs) || len(shards[0].Nodes) != len(n.addrs) {
			return fmt.Errorf("shards %v, %w: want all nodes in each", shards, err)
		}
		return nil
	})
}

// rueidisOnACluster reads from replicas with a client of which a node can be both a
// primary and a replica.
func rueidisOnACluster(t *testing.T, n *nodes) {
	t.Helper()
	for _, replicas := range []bool{false, true} {
		c, err := rueidis.NewClient(rueidis.ClientOption{
			InitAddress: []string{n.addrs[0]}, DisableCache: true, SendToReplicas: func(cmd rueidis.Completed) bool { return replicas && cmd.IsReadOnly() },
		})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		for i := range clusterKeys {
			until(t, "BF.EXISTS", func() error {
				got, err := c.Do(t.Context(), c.B().BfExists().Key(clusterKey(i)).Item("x").Build()).AsBool()
				if err == nil && !got {
					err = errors.New("the item is not there")
				}
				return err
			})
		}
		if nodes := c.Nodes(); len(nodes) != len(n.addrs) {
			t.Errorf("it knows %d nodes, want %d", len(nodes), len(n.addrs))
		}
	}
}
