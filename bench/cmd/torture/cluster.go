//go:build linux

package main

// The cluster: its nodes, the wires between them, and their disks.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// logNodes is how many nodes keep the log. Others hold contents alone. The last node of a cluster is a
// spare one: it joins when a fault asks for it.
const logNodes = 3

// cluster is the nodes under test.
type cluster struct {
	base   string
	nodes  []*node
	size   int    // how many of them belong to it from the beginning
	copies int    // how many nodes hold the contents of each filter, 0 for all
	wires  *wires // nil without namespaces
	disks  bool
}

// newCluster makes the machines of a cluster in a folder. What this system does not
// allow is left out, with a notice.
func newCluster(o *options, jailed bool, say func(format string, args ...any)) (*cluster, error) {
	base, bin := o.dir, o.bin
	c := &cluster{base: base, size: o.nodes, copies: o.copies}
	secret := filepath.Join(base, "secret")
	if err := os.WriteFile(secret, []byte(strings.Repeat("a secret of the torture chamber ", 2)+"\n"), 0o600); err != nil {
		return nil, err
	}
	rooms, err := newRooms(c.size + 1)
	if err != nil {
		say("no network namespaces (%v): nodes share the loopback interface, and faults of the network are left out", err)
	}
	var join []string
	for i := range c.size + 1 {
		n := &node{i: i, name: fmt.Sprintf("n%d", i+1), base: base, bin: bin, folder: filepath.Join(base, fmt.Sprintf("n%d", i+1))}
		n.addr, n.peer = "127.0.0.1:6379", net.JoinHostPort(roomAddr(i).String(), "6380")
		if rooms != nil {
			n.room = rooms[i]
		} else {
			ports := freePorts(2)
			n.addr, n.peer = ports[0], ports[1]
		}
		if i < logNodes {
			join = append(join, n.peer)
		}
		if err := os.MkdirAll(n.folder, 0o700); err != nil {
			return nil, err
		}
		c.nodes = append(c.nodes, n)
	}
	for _, n := range c.nodes {
		n.args = []string{
			"serve", "--log-format", "json", "--addr", n.addr, "--dir", n.folder, "--cluster", "torture", "--lanes", "3", "--lane-size", "256MiB",
			"--join", strings.Join(join, ","), "--cluster-addr", n.peer, "--cluster-secret-file", secret,
		}
		n.leave()
		if err := n.setClock(0); err != nil {
			return nil, err
		}
	}
	if rooms != nil {
		ports := make([]io.ReadWriter, len(rooms))
		for i, r := range rooms {
			ports[i] = r.tun
		}
		c.wires = newWires(ports)
	}
	c.disks = jailed
	for _, n := range c.nodes {
		if !c.disks {
			break
		}
		if n.disk, err = newDisk(n.folder+".img", n.folder); err != nil {
			say("no disks for nodes (%v): faults of disks are left out", err)
			c.disks, n.disk = false, nil
		}
	}
	if !jailed {
		say("no namespaces of mounts: faults of disks are left out")
	}
	return c, nil
}

func newRooms(count int) (rooms []*room, err error) {
	for i := range count {
		r, err := newRoom(i)
		if err != nil {
			return nil, err
		}
		rooms = append(rooms, r)
	}
	return rooms, nil
}

// freePorts returns addresses that nobody listens on, below the ports that systems give
// to connections.
func freePorts(n int) (addrs []string) {
	for len(addrs) < n {
		addr := fmt.Sprintf("127.0.0.1:%d", 15000+rand.IntN(15000))
		if l, err := net.Listen("tcp", addr); err == nil && !slices.Contains(addrs, addr) {
			_ = l.Close()
			addrs = append(addrs, addr)
		}
	}
	return addrs
}

// members are the nodes that make up the cluster, without the spare one.
func (c *cluster) members() []*node { return c.nodes[:c.size] }

func (c *cluster) spare() *node { return c.nodes[c.size] }

// up are the nodes that run.
func (c *cluster) up() []*node {
	return slices.DeleteFunc(slices.Clone(c.nodes), func(n *node) bool { return !n.running() })
}

// start starts nodes and returns when all of them serve.
func (c *cluster) start(ctx context.Context, nodes ...*node) error {
	errs := make([]error, len(nodes))
	var wg sync.WaitGroup
	for i, n := range nodes {
		wg.Go(func() { errs[i] = n.start(ctx) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// mend ends all faults but those of processes.
func (c *cluster) mend() {
	if c.wires != nil {
		c.wires.mend()
	}
	for _, n := range c.nodes {
		if n.disk != nil {
			_ = n.disk.thaw() // most are not frozen
			_ = n.disk.free()
		}
		_ = n.setClock(0)
	}
}

// close ends all processes and unmounts all disks. Files stay.
func (c *cluster) close() error {
	c.mend()
	for _, n := range c.nodes {
		n.kill()
	}
	var errs []error
	for _, n := range c.nodes {
		if n.disk != nil {
			errs = append(errs, n.disk.unmount())
		}
	}
	return errors.Join(errs...)
}
