//go:build unix

// Tests of a cluster of three processes: faults under load, and what is left.

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bloomery/bloomery/internal/ports"
	"github.com/bloomery/bloomery/internal/resp"
)

var restoreNodes = flag.Bool("cluster-restore", false, "run TestClusterRestore")

// clusterPatience bounds what takes seconds on a quiet machine.
const clusterPatience = 3 * time.Minute

// nodes are the servers of a cluster, a process each.
type nodes struct {
	dir   string
	join  []string
	peers []string // where nodes reach each other: join, and nodes beyond it
	addrs []string // of clients
	cmds  []*exec.Cmd
}

func newNodes(t *testing.T) *nodes {
	t.Helper()
	n := &nodes{dir: t.TempDir(), join: ports.Free(t, 3), addrs: ports.Free(t, 3), cmds: make([]*exec.Cmd, 3)}
	n.peers = n.join
	if err := os.WriteFile(filepath.Join(n.dir, "secret"), []byte("a secret of the tests, long enough\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for i := range n.cmds {
			n.kill(i)
		}
	})
	return n
}

// start starts nodes and returns when all of them serve.
func (n *nodes) start(t *testing.T, which ...int) {
	t.Helper()
	errs := make([]error, len(which))
	var wg sync.WaitGroup
	for k, i := range which {
		wg.Go(func() { errs[k] = n.startOne(t.Context(), i) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

func (n *nodes) startOne(ctx context.Context, i int) error {
	name := fmt.Sprintf("n%d", i+1)
	cmd := exec.CommandContext(ctx, os.Args[0], "serve", "--log-format", "json", "--addr", n.addrs[i], "--dir", filepath.Join(n.dir, name),
		"--cluster", "test", "--join", strings.Join(n.join, ","), "--cluster-addr", n.peers[i],
		"--cluster-secret-file", filepath.Join(n.dir, "secret"), "--lanes", "3")
	cmd.Env = append(os.Environ(), childEnv+"=1")
	pipe, err := cmd.StderrPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	n.cmds[i] = cmd
	var log bytes.Buffer
	lines := bufio.NewScanner(pipe)
	for lines.Scan() {
		log.Write(append(lines.Bytes(), '\n'))
		var line struct{ Msg string }
		if json.Unmarshal(lines.Bytes(), &line) == nil && line.Msg == "ready" {
			go n.keepLog(name, log.Bytes(), lines)
			return nil
		}
	}
	return fmt.Errorf("node %d did not start: %w\n%s", i+1, cmd.Wait(), log.Bytes())
}

// keepLog writes the log of a node to a file, for whoever looks for a fault.
func (n *nodes) keepLog(name string, head []byte, lines *bufio.Scanner) {
	f, err := os.OpenFile(filepath.Join(n.dir, name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	defer func() { _ = f.Close() }()
	_, _ = f.Write(head)
	for lines.Scan() {
		_, _ = f.Write(append(lines.Bytes(), '\n'))
	}
}

// kill ends a node at once.
func (n *nodes) kill(i int) {
	if cmd := n.cmds[i]; cmd != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		n.cmds[i] = nil
	}
}

// TestCluster kills a node of a cluster of three processes under load. What was
// acknowledged is there afterwards, on every node, once; and all nodes have the same
// contents, byte for byte. make torture has all the other faults.
func TestCluster(t *testing.T) {
	if testing.Short() {
		t.Skip("a cluster takes 10 seconds to start")
	}
	t.Parallel()
	const seed = 1
	rng := rand.New(rand.NewPCG(seed, 1))
	n := newNodes(t)
	began := time.Now()
	n.start(t, 0, 1, 2)
	t.Logf("all nodes serve after %v", time.Since(began).Round(100*time.Millisecond))
	loads := make([]*load, 6)
	for i := range loads {
		at := i % 3
		loads[i] = &load{
			id: i, addrs: append(slices.Clone(n.addrs[at:]), n.addrs[:at]...),
			rng: rand.New(rand.NewPCG(seed, uint64(i)+2)), next: 1,
		}
	}
	nc := dial(t, n.addrs[0])
	for _, l := range loads {
		if replies, err := awake(nc, bufio.NewReader(nc), "CF.RESERVE "+l.cuckoo()+" 100000"); err != nil || replies[0] != "+OK" {
			t.Fatalf("CF.RESERVE = %q, %v", replies, err)
		}
	}
	n.round(t, rng, loads)
	n.check(t, loads)
	if t.Failed() {
		for i := range n.cmds {
			log, _ := os.ReadFile(filepath.Join(n.dir, fmt.Sprintf("n%d.log", i+1)))
			t.Logf("log of node %d:\n%s", i+1, log[max(0, len(log)-4000):])
		}
		t.FailNow()
	}
	reportRound(t, loads)
	n.backup(t)
	n.fourth(t, loads)
}

// round kills a node under load, and returns when all nodes serve and nobody writes.
func (n *nodes) round(t *testing.T, rng *rand.Rand, loads []*load) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var wg sync.WaitGroup
	for _, l := range loads {
		wg.Go(func() { l.run(ctx) })
	}
	time.Sleep(time.Duration(500+rng.IntN(1000)) * time.Millisecond)
	for i, addr := range n.addrs {
		// Some nodes start from a snapshot, and the log is purged below two of them.
		if rng.IntN(3) > 0 {
			nc := dial(t, addr)
			if replies, err := awake(nc, bufio.NewReader(nc), "BGSAVE"); err != nil || !strings.HasPrefix(replies[0], "+") && !strings.Contains(replies[0], "already in progress") {
				t.Fatalf("BGSAVE at node %d = %q, %v", i+1, replies, err)
			}
			_ = nc.Close()
		}
	}
	time.Sleep(time.Duration(rng.IntN(1500)) * time.Millisecond)
	victim := rng.IntN(3)
	n.kill(victim)
	waitForWrites(t, loads)
	n.start(t, victim)
	waitForWrites(t, loads)
	stop()
	wg.Wait()
}

// waitForWrites returns when each client has had another acknowledgement.
func waitForWrites(t *testing.T, loads []*load) {
	t.Helper()
	began := time.Now()
	for _, l := range loads {
		for {
			l.mu.Lock()
			last := l.last
			l.mu.Unlock()
			if last.After(began) {
				break
			}
			if time.Since(began) > clusterPatience {
				t.Fatalf("client %d has had no acknowledgement for %v", l.id, clusterPatience)
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
}

// check asks every node for everything that must be there.
func (n *nodes) check(t *testing.T, loads []*load) {
	t.Helper()
	n.sameEverywhere(t, loads)
	for i, addr := range n.addrs {
		nc := dial(t, addr)
		r := bufio.NewReader(nc)
		for _, l := range loads {
			if len(l.wrong) > 0 {
				t.Errorf("client %d: %s", l.id, strings.Join(l.wrong, "; "))
			}
			if missing := lost(t, nc, r, l.bloom(), l.added); missing > 0 {
				t.Errorf("node %d: %d of %d acknowledged items of %s are lost", i+1, missing, len(l.added), l.bloom())
			}
			l.checkCuckoo(t, i+1, cuckooCounts(t, nc, l.cuckoo()))
		}
		_ = nc.Close()
	}
}

// lost returns how many items a filter lacks.
func lost(t *testing.T, nc net.Conn, r *bufio.Reader, key string, items []int) (missing int) {
	t.Helper()
	for some := range slices.Chunk(items, 500) {
		commands := make([]string, len(some))
		for i, item := range some {
			commands[i] = fmt.Sprintf("BF.EXISTS %s item%d", key, item)
		}
		replies, err := awake(nc, r, commands...)
		if err != nil {
			t.Fatal(err)
		}
		for _, reply := range replies {
			if reply != ":1" {
				missing++
			}
		}
	}
	return missing
}

// awake is talk with a node that may have been paused, on a busy machine: it refuses all
// commands until it knows what it has missed.
func awake(nc net.Conn, r *bufio.Reader, commands ...string) (replies []string, err error) {
	for end := time.Now().Add(clusterPatience); ; time.Sleep(50 * time.Millisecond) {
		replies, err = talk(nc, r, commands...)
		paused := slices.ContainsFunc(replies, func(reply string) bool { return strings.HasPrefix(reply, "-LOADING ") })
		if err != nil || !paused || time.Now().After(end) {
			return replies, err
		}
	}
}

// sameEverywhere waits until all nodes hold the same.
func (n *nodes) sameEverywhere(t *testing.T, loads []*load) {
	t.Helper()
	for end := time.Now().Add(clusterPatience); ; time.Sleep(20 * time.Millisecond) {
		var all [3]string
		for i, addr := range n.addrs {
			nc := dial(t, addr)
			r := bufio.NewReader(nc)
			for _, l := range loads {
				replies, err := awake(nc, r, "DUMP "+l.bloom(), "DUMP "+l.cuckoo())
				if err != nil {
					t.Fatal(err)
				}
				all[i] += strings.Join(replies, "\n")
			}
			_ = nc.Close()
		}
		if all[0] == all[1] && all[1] == all[2] {
			return
		}
		if time.Now().After(end) {
			t.Fatal("the nodes hold different contents, though nobody writes")
		}
	}
}

// reportRound logs what a round was like.
func reportRound(t *testing.T, loads []*load) {
	t.Helper()
	var stop time.Duration
	var ok, refused, unknown, added, deleted int
	for _, l := range loads {
		stop = max(stop, l.stop)
		ok, refused, unknown = ok+l.counts.acknowledged, refused+l.counts.refused, unknown+l.counts.unknown
		added, deleted = added+len(l.added), deleted+l.deleted.sure
	}
	t.Logf("%d writes acknowledged (%d added, %d deleted), %d refused, %d unknown; none lost, none twice; the longest stop of a client was %v",
		ok, added, deleted, refused, unknown, stop.Round(100*time.Millisecond))
}

// cuckoo is what a cuckoo filter counts of itself.
type cuckoo struct{ items, deleted, layers int }

func cuckooCounts(t *testing.T, nc net.Conn, key string) (c cuckoo) {
	t.Helper()
	var reply resp.Reply
	for paused := true; paused; paused = bytes.HasPrefix(reply.Text, []byte("LOADING ")) {
		if err := ask(nc, bufio.NewReader(nc), &reply, "CF.INFO", key); err != nil {
			t.Fatal(err)
		}
	}
	for i := 0; i+1 < len(reply.Array); i += 2 {
		n := int(reply.Array[i+1].Int)
		switch string(reply.Array[i].Text) {
		case "Number of items inserted":
			c.items = n
		case "Number of items deleted":
			c.deleted = n
		case "Number of filters":
			c.layers = n
		}
	}
	return c
}

// checkCuckoo asks that every insertion and deletion that was acknowledged was made
// once, and every unknown one at most once.
func (l *load) checkCuckoo(t *testing.T, node int, c cuckoo) {
	t.Helper()
	left := bounds{l.inserted.sure - l.deleted.sure - l.deleted.perhaps, l.inserted.perhaps + l.deleted.perhaps}
	if !left.holds(c.items) {
		t.Errorf("node %d: %d items in %s, want %d and at most %d more", node, c.items, l.cuckoo(), left.sure, left.perhaps)
	}
	// A filter of several layers is compacted, and forgets what it counted.
	if c.layers == 1 && !l.deleted.holds(c.deleted) {
		t.Errorf("node %d: %d deletions from %s, want %d and at most %d more", node, c.deleted, l.cuckoo(), l.deleted.sure, l.deleted.perhaps)
	}
	if c.layers == 1 && !l.inserted.holds(c.items+c.deleted) {
		t.Errorf("node %d: %d insertions into %s, want %d and at most %d more", node, c.items+c.deleted, l.cuckoo(), l.inserted.sure, l.inserted.perhaps)
	}
}
