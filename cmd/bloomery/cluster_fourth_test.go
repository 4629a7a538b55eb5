//go:build unix

// A fourth node of a cluster, which keeps no streams.

package main

import (
	"bufio"
	"fmt"
	"net"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bloomery/bloomery/internal/ports"
	"github.com/bloomery/bloomery/internal/resp"
)

// fourth starts a node that is not among those that keep the streams. It serves
// when it has everything, is seen by all, dies without effect on the others, and
// comes back.
func (n *nodes) fourth(t *testing.T, loads []*load) {
	t.Helper()
	four := &nodes{
		dir: n.dir, join: n.join, peers: append(slices.Clone(n.join), ports.Free(t, 1)...),
		addrs: append(slices.Clone(n.addrs), ports.Free(t, 1)...), cmds: append(slices.Clone(n.cmds), (*exec.Cmd)(nil)),
	}
	defer func() { four.kill(3) }()
	began := time.Now()
	four.start(t, 3)
	t.Logf("the fourth node serves after %v", time.Since(began).Round(100*time.Millisecond))
	four.complete(t, loads)
	n.exchange(t, four.addrs, "first")
	for i := range four.addrs {
		four.seenBy(t, i, 4)
	}
	statusShows(t, four.addrs[3], "4 of 4 nodes are up")
	four.kill(3)
	addUntil(t, n.addrs[1], "without")
	four.seenBy(t, 0, 3)
	statusShows(t, n.addrs[0], "3 of 4 nodes are up")
	if code, out, _ := call(t, "cluster", "status", "--addr", n.addrs[0]); code != 1 {
		t.Errorf("cluster status without the fourth node exits with %d, want 1:\n%s", code, out)
	}
	four.start(t, 3)
	four.complete(t, loads)
	nc := dial(t, four.addrs[3])
	if replies, err := awake(nc, bufio.NewReader(nc), "BF.EXISTS fourth without"); err != nil || replies[0] != ":1" {
		t.Errorf("BF.EXISTS of what was added meanwhile = %q, %v", replies, err)
	}
	n.exchange(t, four.addrs, "second")
}

// complete asks the fourth node, right after its start, for everything that was
// acknowledged before.
func (n *nodes) complete(t *testing.T, loads []*load) {
	t.Helper()
	nc := dial(t, n.addrs[3])
	r := bufio.NewReader(nc)
	for _, l := range loads {
		if missing := lost(t, nc, r, l.bloom(), l.added); missing > 0 {
			t.Errorf("the fourth node serves without %d of %d acknowledged items of %s", missing, len(l.added), l.bloom())
		}
		l.checkCuckoo(t, 4, cuckooCounts(t, nc, l.cuckoo()))
	}
}

// exchange writes at every node and asks every other for it.
func (n *nodes) exchange(t *testing.T, addrs []string, word string) {
	t.Helper()
	for i, addr := range addrs {
		item := fmt.Sprintf("%s%d", word, i)
		addUntil(t, addr, item)
		for k, other := range addrs {
			nc := dial(t, other)
			r := bufio.NewReader(nc)
			replies, err := talk(nc, r, "FILTER.READ OWNER", "BF.EXISTS fourth "+item)
			for end := time.Now().Add(clusterPatience); err == nil && replies[len(replies)-1][0] == '-' && time.Now().Before(end); {
				replies, err = talk(nc, r, "BF.EXISTS fourth "+item)
			}
			if err != nil || replies[len(replies)-1] != ":1" {
				t.Errorf("what was added at node %d is not at node %d: %q, %v", i+1, k+1, replies, err)
			}
		}
	}
}

// addUntil adds an item at a node until that is acknowledged.
func addUntil(t *testing.T, addr, item string) {
	t.Helper()
	nc := dial(t, addr)
	r := bufio.NewReader(nc)
	for end := time.Now().Add(clusterPatience); ; {
		replies, err := talk(nc, r, "BF.ADD fourth "+item)
		switch {
		case err != nil:
			t.Fatal(err)
		case replies[0][0] == ':':
			return
		case time.Now().After(end):
			t.Fatalf("BF.ADD at %s = %s", addr, replies[0])
		}
	}
}

// statusShows waits until cluster status prints a text.
func statusShows(t *testing.T, addr, text string) {
	t.Helper()
	for end := time.Now().Add(clusterPatience); ; time.Sleep(50 * time.Millisecond) {
		_, out, errOut := call(t, "cluster", "status", "--addr", addr)
		if strings.Contains(out, text) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("cluster status at %s has no %q:\n%s%s", addr, text, out, errOut)
		}
	}
}

// seenBy waits until a node shows clients that many nodes.
func (n *nodes) seenBy(t *testing.T, at, want int) {
	t.Helper()
	for end := time.Now().Add(clusterPatience); ; time.Sleep(50 * time.Millisecond) {
		nc := dial(t, n.addrs[at])
		slots, up := slotNodes(t, nc), nodesUp(t, nc)
		_ = nc.Close()
		if slots == want && up == want {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("node %d shows %d nodes in CLUSTER SLOTS and %d up in CLUSTER NODES, want %d", at+1, slots, up, want)
		}
	}
}

func slotNodes(t *testing.T, nc net.Conn) int {
	t.Helper()
	var reply resp.Reply
	if err := ask(nc, bufio.NewReader(nc), &reply, "CLUSTER", "SLOTS"); err != nil {
		t.Fatal(err)
	}
	return len(reply.Array)
}

func nodesUp(t *testing.T, nc net.Conn) (up int) {
	t.Helper()
	text, err := askText(nc, bufio.NewReader(nc), "INFO", "cluster")
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range parseClusterInfo(text).Nodes {
		if n.Live {
			up++
		}
	}
	return up
}
