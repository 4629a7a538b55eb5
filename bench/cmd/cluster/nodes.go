package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/bloomery/bloomery/bench/internal/process"
)

// Ports of 127.0.0.1. Nodes are numbered from 0: the first three keep the log.
const (
	localPort   = 7470
	builderPort = 7471
	nodePort    = 7480
	logPort     = 17480
	logNodes    = 3
)

// patience bounds what takes seconds on a quiet machine.
const patience = 3 * time.Minute

// nodes is a cluster on this machine.
type nodes struct {
	program, dir string
	more         []string           // arguments of all
	shift        int                // of their ports
	all          []*process.Process // nil where none runs
}

// launch starts a node and does not wait until it serves.
func (n *nodes) launch(i int, folder string) error {
	var join []string
	port := nodePort + n.shift + i
	for k := range logNodes {
		join = append(join, "127.0.0.1:"+strconv.Itoa(logPort+n.shift+k))
	}
	args := []string{
		"serve", "--log-level", "error", "--addr", "127.0.0.1:" + strconv.Itoa(port), "--dir", filepath.Join(n.dir, folder),
		"--cluster", "bench", "--join", strings.Join(join, ","), "--cluster-addr", "127.0.0.1:" + strconv.Itoa(logPort+n.shift+i),
	}
	p, err := process.Launch(port, n.program, append(args, n.more...)...)
	for len(n.all) <= i {
		n.all = append(n.all, nil)
	}
	n.all[i] = p
	return err
}

// start starts the nodes that keep the log. It returns after how long each of them
// answered a command.
func (n *nodes) start(args ...string) ([]time.Duration, error) {
	began := time.Now()
	for i := range logNodes {
		if err := n.launch(i, "n"+strconv.Itoa(i+1)); err != nil {
			return nil, err
		}
	}
	took, errs := make([]time.Duration, logNodes), make([]error, logNodes)
	var wg sync.WaitGroup
	for i := range logNodes {
		wg.Go(func() {
			errs[i] = awaitAnswer(n.all[i].Addr(), patience, args...)
			took[i] = time.Since(began)
		})
	}
	wg.Wait()
	return took, errors.Join(errs...)
}

// addrs returns where the nodes that keep the log take clients.
func (n *nodes) addrs() (list []string) {
	for _, p := range n.all[:logNodes] {
		list = append(list, p.Addr())
	}
	return list
}

// kill ends all nodes at once.
func (n *nodes) kill() {
	for i, p := range n.all {
		if p != nil {
			p.Kill()
			n.all[i] = nil
		}
	}
}

// cpu returns the processor time of processes, together.
func cpu(list ...*process.Process) (sum time.Duration, err error) {
	for _, p := range list {
		t, err := p.CPU()
		if err != nil {
			return 0, err
		}
		sum += t
	}
	return sum, nil
}

// messages returns how many messages nodes have sent, 0 of servers that are not in a
// cluster.
func messages(addrs []string) (sum uint64, err error) {
	for _, addr := range addrs {
		c, err := dial(addr)
		if err != nil {
			return 0, err
		}
		reply, err := c.do("INFO", "cluster")
		c.close()
		if err != nil {
			return 0, err
		}
		_, rest, ok := strings.Cut(string(reply.Text), "cluster_messages_sent:")
		if !ok {
			continue
		}
		value, _, _ := strings.Cut(rest, "\r\n")
		n, err := strconv.ParseUint(value, 10, 64)
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, nil
}

// copyFilter brings a filter from one server to another.
func copyFilter(from, to, filter string) error {
	a, err := dial(from)
	if err != nil {
		return err
	}
	defer a.close()
	b, err := dial(to)
	if err != nil {
		return err
	}
	defer b.close()
	dump, err := a.do("DUMP", filter)
	if err != nil {
		return err
	}
	if _, err := b.do("RESTORE", filter, "0", string(dump.Text), "REPLACE"); err != nil {
		return fmt.Errorf("RESTORE %s of %d bytes: %w", filter, len(dump.Text), err)
	}
	return nil
}
