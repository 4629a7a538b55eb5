package clienttest

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
)

var (
	kills    = flag.Int("kills", 1, "how many nodes are killed under clients, one after the other")
	restarts = flag.Int("restarts", 1, "how many nodes are restarted under clients, one after the other")
)

// goRedisModes are clients as docs/cluster.md recommends: one that reads from the first node of a
// range, and others that read from any.
var goRedisModes = map[string]goredis.ClusterOptions{
	"recommended": {}, "ReadOnly": {ReadOnly: true}, "RouteRandomly": {RouteRandomly: true}, "RouteByLatency": {RouteByLatency: true},
}

// killUnderClients kills a node while clients use it, and asks that no read fails: of a client
// with the defaults of go-redis, once it has asked for the slots again, which it does within a
// minute.
func killUnderClients(t *testing.T, n *nodes) {
	t.Helper()
	// A machine under load may be slow; what is dead refuses at once.
	clients, wait := useUnderLoad(t, n, time.Minute)
	defaults := newGoRedis(t, n, goredis.ClusterOptions{}, time.Minute)
	for round := range *kills {
		victim := n.inSlots(t, round%len(n.cmds))
		goOn(t, clients)
		n.kill(victim)
		goOn(t, clients)
		n.leaves(t, victim)
		goOn(t, clients)
		defaults.ReloadState(t.Context())
		until(t, "reads with the defaults of go-redis", func() error {
			for i := range clusterKeys {
				if there, err := defaults.BFExists(t.Context(), clusterKey(i), "x").Result(); err != nil || !there {
					return fmt.Errorf("%s: %v, %w", clusterKey(i), there, err)
				}
			}
			return nil
		})
		if round < *kills-1 {
			check(t, n.start(victim))
		}
	}
	wait()
}

// restartUnderClients restarts one node after the other while clients use them, and asks that no
// command fails: a node that ends says so, and one that starts takes clients when it can serve them.
func restartUnderClients(t *testing.T, n *nodes) {
	t.Helper()
	patience := time.Minute // as above
	if *restarts > 1 {
		patience = 0 // the long form shows clients as they are
	}
	clients, wait := useUnderLoad(t, n, patience)
	for round := range *restarts {
		victim := n.inSlots(t, round%len(n.cmds))
		goOn(t, clients)
		n.restart(t, victim)
		goOn(t, clients)
	}
	wait()
}

// newGoRedis returns a client of a cluster which has found all of its nodes. No patience means the
// timeouts that go-redis has by itself.
func newGoRedis(t *testing.T, n *nodes, options goredis.ClusterOptions, patience time.Duration) *goredis.ClusterClient {
	t.Helper()
	options.Addrs = slices.Clone(n.addrs) // go-redis changes its own
	options.DialTimeout, options.ReadTimeout = patience, patience
	c := goredis.NewClusterClient(&options)
	t.Cleanup(func() { _ = c.Close() })
	spreads(t, n, c)
	return c
}

// useUnderLoad has clients of all kinds use a cluster until the test calls wait, which asks that
// no command has failed.
func useUnderLoad(t *testing.T, n *nodes, patience time.Duration) (clients []*user, wait func()) {
	t.Helper()
	logging.Disable() // go-redis reports every connection that is refused
	t.Cleanup(logging.Enable)
	for name, options := range goRedisModes {
		options.ClusterStateReloadInterval, options.MaxRedirects, options.MaxRetryBackoff = time.Second, 30, time.Second
		c := newGoRedis(t, n, options, patience)
		clients = append(clients, &user{name: name + " reads", run: func(ctx context.Context, i int) error {
			there, err := c.BFExists(ctx, clusterKey(i), "x").Result()
			if err == nil && !there {
				err = errors.New("the item is not there")
			}
			return err
		}})
		if name == "recommended" {
			clients = append(clients, &user{name: name + " writes", run: func(ctx context.Context, i int) error {
				return c.BFAdd(ctx, clusterKey(i), fmt.Sprint(i)).Err()
			}})
		}
	}
	for _, mode := range []string{"reads", "writes"} {
		if p := startRedisPy(t, n, mode); p != nil {
			clients = append(clients, &user{name: "redis-py " + mode, run: func(context.Context, int) error { return p.round() }})
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for _, c := range clients {
		wg.Go(func() { c.loop(ctx) })
	}
	t.Cleanup(stop)
	return clients, func() {
		t.Helper()
		stop()
		wg.Wait()
		for _, c := range clients {
			t.Logf("%s: %d commands, %d errors, the longest wait was %v", c.name, c.done.Load(), len(c.errs), c.longest.Round(100*time.Millisecond))
			if len(c.errs) > 0 {
				t.Errorf("%s: %d of %d commands failed: %v …", c.name, len(c.errs), c.done.Load(), c.errs[:min(len(c.errs), 5)])
			}
		}
	}
}

// user is a client that runs commands one after the other.
type user struct {
	name    string
	run     func(ctx context.Context, i int) error
	done    atomic.Int64 // commands
	errs    []error
	longest time.Duration
}

func (u *user) loop(ctx context.Context) {
	for i := 0; ctx.Err() == nil; i++ {
		began := time.Now()
		err := u.run(context.WithoutCancel(ctx), i)
		u.longest = max(u.longest, time.Since(began))
		if err != nil {
			u.errs = append(u.errs, err)
		}
		u.done.Add(1)
		time.Sleep(20 * time.Millisecond) // there are others on this machine
	}
}

// goOn returns when all clients have used all keys again, whichever node they are at.
func goOn(t *testing.T, clients []*user) {
	t.Helper()
	before := make([]int64, len(clients))
	for i, c := range clients {
		before[i] = c.done.Load()
	}
	for i, c := range clients {
		until(t, c.name, func() error {
			if done := c.done.Load() - before[i]; done <= clusterKeys {
				return fmt.Errorf("%d commands only", done)
			}
			return nil
		})
	}
}

// inSlots returns the node that has the range at a place. The first is the worst to lose:
// some clients ask it first.
func (n *nodes) inSlots(t *testing.T, place int) (node int) {
	t.Helper()
	c := goredis.NewClient(&goredis.Options{Addr: n.addrs[0], ReadTimeout: time.Minute})
	defer c.Close()
	until(t, "the slots", func() error {
		slots, err := c.ClusterSlots(t.Context()).Result()
		if err == nil && len(slots) != len(n.addrs) {
			err = fmt.Errorf("%v", slots)
		}
		if err == nil {
			node = slices.Index(n.addrs, slots[place].Nodes[0].Addr)
		}
		return err
	})
	return node
}

// leaves waits until the other nodes list a dead one no more.
func (n *nodes) leaves(t *testing.T, dead int) {
	t.Helper()
	for i, addr := range n.addrs {
		if i == dead {
			continue
		}
		c := goredis.NewClient(&goredis.Options{Addr: addr, ReadTimeout: time.Minute})
		defer c.Close()
		until(t, "the slots without a node", func() error {
			slots, err := c.ClusterSlots(t.Context()).Result()
			for _, s := range slots {
				if slices.ContainsFunc(s.Nodes, func(v goredis.ClusterNode) bool { return v.Addr == n.addrs[dead] }) {
					return fmt.Errorf("%s lists %s", addr, n.addrs[dead])
				}
			}
			return err
		})
	}
}
