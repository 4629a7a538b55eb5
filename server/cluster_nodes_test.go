package server_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bloomery/bloomery/internal/ports"
	"github.com/bloomery/bloomery/server"
)

// clusterPatience bounds what takes seconds on a quiet machine.
const clusterPatience = 2 * time.Minute

// startCluster runs three servers of a new cluster until the test ends, and returns
// their addresses.
func startCluster(t *testing.T, change func(*server.Config)) []string {
	t.Helper()
	join := ports.Free(t, 3)
	dir := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), clusterPatience)
	defer cancel()
	servers := make([]*server.Server, len(join))
	errs := make([]error, len(join))
	var wg sync.WaitGroup
	for i := range join {
		c := server.Config{
			Addr: []string{"127.0.0.1:0"}, Dir: filepath.Join(dir, fmt.Sprint(i)),
			Cluster: &server.Cluster{Name: "test", Join: join, Addr: join[i], Lanes: 2, LaneSize: 64 << 20},
		}
		if change != nil {
			change(&c)
		}
		wg.Go(func() { servers[i], errs[i] = server.New(ctx, c) })
	}
	wg.Wait()
	addrs := make([]string, len(join))
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
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	return addrs
}

// differs are the groups of recordings that a cluster answers in another way, and why.
// Their contents are compared between the nodes all the same.
var differs = map[string]string{
	"topk-multi-1": "a transaction that makes a key and then writes to it is refused",
	"td-multi-1":   "a transaction that makes a key and then writes to it is refused",
	"td-merge-1":   "TDIGEST.MERGE does not compress its sources",
	"td-merge-4":   "TDIGEST.MERGE does not compress its sources",
}

// TestClusterRecordings replays what RedisBloom answered, group by group, on the
// nodes of a cluster in turn. At the end of each group all nodes hold the same.
func TestClusterRecordings(t *testing.T) {
	if testing.Short() {
		t.Skip("a cluster takes 10 seconds to start")
	}
	t.Parallel()
	addrs := startCluster(t, nil)
	for _, path := range []string{"testdata/redisbloom.jsonl", "../internal/redisbloom/testdata/sketches.jsonl"} {
		for i, group := range recordings(t, path) {
			at := i % len(addrs)
			name := fmt.Sprintf("node%d/RESP%d/%s", at+1, group[0].Proto, group[0].Group)
			t.Run(name, func(t *testing.T) { replayAt(t, addrs, at, group) })
		}
	}
	t.Run("level", func(t *testing.T) { isNewest(t, addrs) })
	t.Run("followers", func(t *testing.T) { followersOfNodes(t, addrs) })
	t.Run("settings", func(t *testing.T) { settingsDiffer(t, addrs) })
	t.Run("connections", func(t *testing.T) { connected(t, addrs) })
}

// isNewest asks that a new cluster does what this release can, without an upgrade.
func isNewest(t *testing.T, addrs []string) {
	t.Helper()
	for i, addr := range addrs {
		c, name := dial(t, addr), fmt.Sprint("newest", i)
		for _, args := range [][]string{{"FILTER.CREATE", name, "bloom", "NEWS", "10"}, {"FILTER.REBUILD", name, "BEGIN"}, {"FILTER.REBUILD", name, "ABORT"}} {
			if got := awake(t, c, args...); got != "+OK\r\n" {
				t.Errorf("%q = %q", args, got)
			}
		}
		if got := awake(t, c, "DEL", name); got != ":1\r\n" {
			t.Errorf("DEL = %q", got)
		}
	}
}

// connected asks that every node has connections of its own to both others, and from them.
func connected(t *testing.T, addrs []string) {
	t.Helper()
	for _, addr := range addrs {
		c := dial(t, addr)
		waitFor(t, func() bool {
			info := c.do("INFO", "cluster")
			return strings.Count(info, ",trip_us=") == len(addrs)-1 && strings.Contains(info, fmt.Sprintf("cluster_connections:%d\r\n", 2*(len(addrs)-1)))
		}, "a node has no connections to the others")
	}
}

// settingsDiffer asks that nodes notice that another one has other defaults of filters.
func settingsDiffer(t *testing.T, addrs []string) {
	t.Helper()
	const problem = "has other settings of bf-* or cf-* than this node"
	other := dial(t, addrs[1])
	for _, v := range []struct {
		size   string
		differ bool
	}{{"100", false}, {"200", true}, {"100", false}} {
		other.expect("+OK\r\n", "CONFIG", "SET", "bf-initial-size", v.size)
		for i, addr := range addrs {
			c := dial(t, addr)
			for end := time.Now().Add(clusterPatience); strings.Contains(c.do("INFO", "cluster"), problem) != v.differ; time.Sleep(50 * time.Millisecond) {
				if time.Now().After(end) {
					t.Fatalf("with bf-initial-size %s on node 2 node %d shows\n%s", v.size, i+1, c.do("INFO", "cluster"))
				}
			}
		}
	}
}

func replayAt(t *testing.T, addrs []string, at int, group []recorded) {
	t.Helper()
	replies := repliesOf(t, addrs[at], group)
	for end := time.Now().Add(clusterPatience); slices.ContainsFunc(replies, wasPaused) && time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		replies = repliesOf(t, addrs[at], group)
	}
	for i, r := range group {
		if differs[r.Group] == "" {
			compare(t, r, replies[i])
		}
	}
	sameEverywhere(t, addrs)
}

// wasPaused reports whether a node has refused a command since it was not run for a while, on a
// busy machine, and does not know yet what it has missed.
func wasPaused(reply string) bool { return strings.Contains(reply, "this node was paused") }

// awake returns the reply to a command, of a node that may have been paused.
func awake(t *testing.T, c *client, args ...string) (reply string) {
	t.Helper()
	waitFor(t, func() bool { reply = c.do(args...); return !wasPaused(reply) }, "a node that was paused does not go on")
	return reply
}

// repliesOf sends a group to a node that is empty, and returns the replies.
func repliesOf(t *testing.T, addr string, group []recorded) []string {
	t.Helper()
	c := dial(t, addr)
	defer func() { _ = c.nc.Close() }()
	if got := awake(t, c, "FLUSHALL"); got != "+OK\r\n" {
		t.Errorf("FLUSHALL = %q", got)
	}
	if group[0].Proto == 3 {
		c.do("HELLO", "3")
	}
	var all []byte
	for _, r := range group {
		all = append(all, request(r.Args...)...)
	}
	if _, err := c.nc.Write(all); err != nil {
		t.Fatal(err)
	}
	replies := make([]string, len(group))
	for i := range group {
		replies[i] = c.reply()
	}
	return replies
}

// sameEverywhere waits until all nodes have the same names with the same contents.
func sameEverywhere(t *testing.T, addrs []string) {
	t.Helper()
	for end := time.Now().Add(clusterPatience); ; time.Sleep(10 * time.Millisecond) {
		first := contents(t, addrs[0])
		differs := slices.IndexFunc(addrs[1:], func(addr string) bool { return contents(t, addr) != first })
		if differs < 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("node %d differs from node 1", differs+2)
		}
	}
}

// contents returns the dumps of all keys of a node.
func contents(t *testing.T, addr string) string {
	t.Helper()
	c := dial(t, addr)
	defer func() { _ = c.nc.Close() }()
	lines := strings.Split(c.do("KEYS", "*"), "\r\n")
	var names []string
	for i, l := range lines {
		if strings.HasPrefix(l, "$") {
			names = append(names, lines[i+1])
		}
	}
	slices.Sort(names)
	var b strings.Builder
	for _, name := range names {
		fmt.Fprintf(&b, "%q %q\n", name, c.do("DUMP", name))
	}
	return b.String()
}
