//go:build linux

package main

// A node: a process, its network, its disk and its clock.

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// node is a server of the cluster.
type node struct {
	i      int
	name   string
	addr   string // of clients, on the node's machine
	peer   string // of other nodes
	folder string
	args   []string
	base   string // where its log and its clock are
	bin    string

	room *room // nil: it shares the network of this machine
	disk *disk // nil: it shares the disk

	// away counts how often the node was taken down or stopped; odd while it is.
	away atomic.Int64

	mu   sync.Mutex // guards what follows
	cmd  *exec.Cmd
	done chan struct{} // closed when the process has ended
}

// live returns a token if the node should answer now. It holds as long as same says.
func (n *node) live() (token int64, ok bool) {
	token = n.away.Load()
	return token, token%2 == 0
}

func (n *node) same(token int64) bool { return n.away.Load() == token }

// leave and back frame the time in which a node is not expected to answer.
func (n *node) leave() {
	if n.away.Load()%2 == 0 {
		n.away.Add(1)
	}
}

func (n *node) back() {
	if n.away.Load()%2 == 1 {
		n.away.Add(1)
	}
}

// startWithin bounds how long a node may take until it serves.
const startWithin = 3 * time.Minute

// start starts the process and returns when the node serves.
func (n *node) start(ctx context.Context) error {
	if err := n.launch(ctx); err != nil {
		return fmt.Errorf("%s: %w", n.name, err)
	}
	n.back()
	return nil
}

func (n *node) launch(ctx context.Context) error {
	cmd := exec.Command(n.bin, n.args...)
	cmd.Env = append(os.Environ(), "BLOOMERY_HTTP=", "BLOOMERY_TORTURE_CLOCK="+n.clockFile())
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is for this program
	read, write, err := os.Pipe()
	if err != nil {
		return err
	}
	cmd.Stderr = write
	err = n.room.within(cmd.Start)
	err = errors.Join(err, write.Close())
	if err != nil {
		_ = read.Close()
		return err
	}
	done := make(chan struct{})
	ready := make(chan struct{})
	go func() {
		n.keepLog(read, ready)
		_ = cmd.Wait()
		close(done)
	}()
	n.mu.Lock()
	n.cmd, n.done = cmd, done
	n.mu.Unlock()
	select {
	case <-ready:
		return nil
	case <-done:
		return fmt.Errorf("it ended before it served: %v; its log is %s", cmd.ProcessState, n.logFile())
	case <-time.After(startWithin):
		_ = cmd.Process.Signal(syscall.SIGQUIT) // where it hangs is in its log
		return fmt.Errorf("it does not serve after %v; its log is %s", startWithin, n.logFile())
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (n *node) logFile() string   { return filepath.Join(n.base, n.name+".log") }
func (n *node) clockFile() string { return filepath.Join(n.base, n.name+".clock") }

// keepLog copies the log of a process to the file of its node, and closes ready when
// the node serves.
func (n *node) keepLog(pipe *os.File, ready chan struct{}) {
	defer func() { _ = pipe.Close() }()
	f, err := os.OpenFile(n.logFile(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	defer func() { _ = f.Close() }()
	lines := bufio.NewReader(pipe)
	for {
		line, err := lines.ReadBytes('\n')
		_, _ = f.Write(line)
		var entry struct{ Msg string }
		if bytes.Contains(line, []byte(`"ready"`)) && json.Unmarshal(line, &entry) == nil && entry.Msg == "ready" {
			close(ready)
		}
		if err != nil {
			return
		}
	}
}

// signal sends a signal to the process, if there is one.
func (n *node) signal(s syscall.Signal) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.cmd != nil {
		_ = n.cmd.Process.Signal(s)
	}
}

// ended returns a channel that is closed when the process has ended.
func (n *node) ended() <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.done
}

// running reports whether there is a process.
func (n *node) running() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.cmd == nil {
		return false
	}
	select {
	case <-n.done:
		return false
	default:
		return true
	}
}

// kill ends the process at once.
func (n *node) kill() {
	n.leave()
	if !n.running() {
		return
	}
	n.signal(syscall.SIGKILL)
	<-n.ended()
}

// stopWithin bounds how long a node may take to end when it is asked to.
const stopWithin = time.Minute

// stop asks the process to end.
func (n *node) stop() error {
	n.leave()
	n.signal(syscall.SIGTERM)
	select {
	case <-n.ended():
		return nil
	case <-time.After(stopWithin):
		n.signal(syscall.SIGQUIT)
		return fmt.Errorf("%s: it has not ended %v after SIGTERM; its log is %s", n.name, stopWithin, n.logFile())
	}
}

// answersIn is how long a node that was paused may answer no reads: it has to find out first
// what it has missed.
const answersIn = time.Minute

// answers returns when the node answers reads.
func (n *node) answers(ctx context.Context) error {
	for end := time.Now().Add(answersIn); ctx.Err() == nil; pause(ctx, 100*time.Millisecond) {
		reply := ""
		c, err := connect(ctx, n)
		if err == nil {
			reply, err = c.ask(5*time.Second, "GET left0")
			c.close()
		}
		switch {
		case err == nil && judge(reply) == acknowledged:
			return nil
		case time.Now().After(end):
			return fmt.Errorf("%s has answered no read for %v: %s %w", n.name, answersIn, reply, err)
		}
	}
	return ctx.Err()
}

// setClock lets the clock of the node be ahead by so much.
func (n *node) setClock(ahead time.Duration) error {
	temp := n.clockFile() + ".tmp"
	if err := os.WriteFile(temp, []byte(strconv.FormatInt(ahead.Milliseconds(), 10)), 0o600); err != nil {
		return err
	}
	return os.Rename(temp, n.clockFile())
}

func (n *node) dial(ctx context.Context) (net.Conn, error) { return n.room.dial(ctx, n.addr) }

// number returns the number of the node in its cluster.
func (n *node) number(ctx context.Context) (int, error) {
	c, err := connect(ctx, n)
	if err != nil {
		return 0, err
	}
	defer c.close()
	reply, err := c.ask(patience, "INFO cluster")
	for line := range strings.Lines(reply) {
		if text, ok := strings.CutPrefix(line, "cluster_node:"); ok {
			return strconv.Atoi(strings.TrimSpace(text))
		}
	}
	return 0, errors.Join(err, fmt.Errorf("%s: INFO cluster does not name its number", n.name))
}

// commandWithin bounds how long a command may take.
const commandWithin = 3 * time.Minute

// command runs the command line on the machine of the node, against it.
func (n *node) command(ctx context.Context, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, commandWithin)
	defer cancel()
	cmd := exec.CommandContext(ctx, n.bin, append(args, "--addr", n.addr)...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := n.room.within(cmd.Start)
	if err == nil {
		err = cmd.Wait()
	}
	if err != nil {
		return fmt.Errorf("%s at %s: %w: %s", strings.Join(args, " "), n.name, err, out.Bytes())
	}
	return nil
}

// erase removes what the node keeps. With log false, a log node keeps its streams.
func (n *node) erase(log bool) error {
	entries, err := os.ReadDir(n.folder)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() == "lost+found" || e.Name() == "log" && !log {
			continue
		}
		if err := os.RemoveAll(filepath.Join(n.folder, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// copyData copies what the node keeps, but for its log.
func (n *node) copyData(to string) error {
	if err := os.Mkdir(to, 0o700); err != nil {
		return err
	}
	entries, err := os.ReadDir(n.folder)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.IsDir() {
			continue
		}
		b, err := os.ReadFile(filepath.Join(n.folder, e.Name()))
		if err == nil {
			err = os.WriteFile(filepath.Join(to, e.Name()), b, 0o600)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
