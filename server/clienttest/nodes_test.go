package clienttest

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/bloomery/bloomery/internal/ports"
	"github.com/bloomery/bloomery/server"
)

// nodeEnv has the configuration of a node, in JSON, in processes that are to be one.
const nodeEnv = "BLOOMERY_CLIENTTEST_NODE"

// TestMain is a node of a cluster if the environment says so: nodes that are killed are
// processes of their own.
func TestMain(m *testing.M) {
	config := os.Getenv(nodeEnv)
	if config == "" {
		os.Exit(m.Run())
	}
	if err := runNode(config); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// nodeConfig is what nodes differ in.
type nodeConfig struct {
	Addr, Dir string
	Cluster   server.Cluster
}

// runNode serves until its standard input ends, which it does with the test.
func runNode(config string) error {
	var c nodeConfig
	if err := json.Unmarshal([]byte(config), &c); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		stop()
	}()
	s, err := server.New(ctx, server.Config{Addr: []string{c.Addr}, Dir: c.Dir, Cluster: &c.Cluster})
	if err != nil {
		return err
	}
	fmt.Println("ready")
	return s.Serve(ctx)
}

// nodes are the servers of a cluster, a process each.
type nodes struct {
	dir   string
	join  []string // where they reach each other
	addrs []string // of clients
	cmds  []*exec.Cmd
	ends  []io.Closer // of each node, has it end in order
}

// clusterPatience bounds what takes seconds on a quiet machine.
const clusterPatience = 4 * time.Minute

// startNodes starts a new cluster of three, which ends with the test.
func startNodes(t *testing.T) *nodes {
	t.Helper()
	n := &nodes{dir: t.TempDir(), join: ports.Free(t, 3), addrs: ports.Free(t, 3), cmds: make([]*exec.Cmd, 3), ends: make([]io.Closer, 3)}
	t.Cleanup(func() {
		for i := range n.cmds {
			n.kill(i)
		}
	})
	errs := make([]error, len(n.cmds))
	var wg sync.WaitGroup
	for i := range n.cmds {
		wg.Go(func() { errs[i] = n.start(i) })
	}
	wg.Wait()
	check(t, errors.Join(errs...))
	return n
}

// start starts a node, and returns when it serves. It is of the whole test: the context of a part of
// it would end it.
func (n *nodes) start(i int) error {
	config, err := json.Marshal(nodeConfig{
		Addr: n.addrs[i], Dir: filepath.Join(n.dir, fmt.Sprint(i)),
		// A machine under load takes its time, and no write of the test is to be given up.
		Cluster: server.Cluster{Name: "test", Join: n.join, Addr: n.join[i], Lanes: 2, LaneSize: 64 << 20, Timeout: clusterPatience},
	})
	if err != nil {
		return err
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), nodeEnv+"="+string(config))
	cmd.Stderr = os.Stderr
	if n.ends[i], err = cmd.StdinPipe(); err != nil { // it ends with this process
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	n.cmds[i] = cmd
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		return fmt.Errorf("node %d has not started: %q, %w", i+1, line, err)
	}
	return nil
}

// restart ends a node in order, and starts it again.
func (n *nodes) restart(t *testing.T, i int) {
	t.Helper()
	check(t, n.ends[i].Close())
	check(t, n.cmds[i].Wait())
	n.cmds[i] = nil
	check(t, n.start(i))
}

// kill ends a node at once.
func (n *nodes) kill(i int) {
	if cmd := n.cmds[i]; cmd != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		n.cmds[i] = nil
	}
}

// until tries something until it works: a machine under load has moments in which most
// nodes do not hear of each other, and in which one lags behind another.
func until(t *testing.T, what string, works func() error) {
	t.Helper()
	for end := time.Now().Add(clusterPatience); ; time.Sleep(20 * time.Millisecond) {
		err := works()
		if err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s: %v", what, err)
		}
	}
}
