package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/bloomery/bloomery/bench/internal/process"
	"github.com/bloomery/bloomery/bench/internal/report"
)

const (
	largeBatch    = 10_000
	largeClients  = 16
	restoredNodes = 4
	beforeBackup  = 30 * time.Second // of load, with which a backup is compared
)

// adding adds numbers to the large filter through several nodes, each batch until it is acknowledged.
type adding struct {
	next atomic.Uint64 // batch
	most uint64        // of numbers
	stop atomic.Bool
	wg   sync.WaitGroup
	mu   sync.Mutex
	err  error
}

// addLarge begins to add numbers from one on.
func (n *nodes) addLarge(from, most uint64) *adding {
	a := &adding{most: most}
	a.next.Store(from / largeBatch)
	for i := range largeClients {
		a.wg.Go(func() {
			if err := a.run(n.all[i%len(n.all)].Addr()); err != nil {
				a.mu.Lock()
				a.err = errors.Join(a.err, err)
				a.mu.Unlock()
				a.stop.Store(true)
			}
		})
	}
	return a
}

func (a *adding) run(addr string) error {
	c, err := dial(addr)
	if err != nil {
		return err
	}
	defer c.close()
	for !a.stop.Load() {
		first := (a.next.Add(1) - 1) * largeBatch
		if first >= a.most {
			return nil
		}
		for end := time.Now().Add(patience); ; time.Sleep(100 * time.Millisecond) {
			c.out = appendHead(c.out, "FILTER.ADD", "large", largeBatch)
			for i := range uint64(largeBatch) {
				c.out = appendNumber(c.out, first+i)
			}
			if err = c.send(); err != nil {
				return err
			}
			if _, err = c.receive(); err == nil {
				break
			}
			if !isDown(err) && !strings.Contains(err.Error(), "UNKNOWN") || time.Now().After(end) {
				return err
			}
		}
	}
	return nil
}

// end returns up to which number all were acknowledged.
func (a *adding) end() (uint64, error) {
	a.stop.Store(true)
	a.wg.Wait()
	return min(a.next.Load()*largeBatch, a.most), a.err
}

// fillLarge adds numbers for so long, or until the filter is full. It returns how many.
func (n *nodes) fillLarge(most uint64, within time.Duration) (uint64, error) {
	a := n.addLarge(0, most)
	done := make(chan struct{})
	go func() { a.wg.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(within):
	}
	return a.end()
}

// backupLarge copies the cluster while clients add to the filter, and makes another one of four nodes of the copy.
func (n *nodes) backupLarge(o options, t *report.Table, added uint64) error {
	load := n.addLarge(added, largeKeys)
	before := watchMemory(n.all)
	time.Sleep(beforeBackup)
	usual := before.end()
	during := watchMemory(n.all)
	began := time.Now()
	to := filepath.Join(n.dir, "backup")
	_, err := n.command("cluster", "backup", to, "--addr", n.all[0].Addr())
	took := time.Since(began)
	peak := during.end()
	sure, failed := load.end()
	if err = errors.Join(err, failed); err != nil {
		return err
	}
	most := 0
	for i := range usual {
		most = max(most, peak[i]-usual[i])
	}
	t.Row(fmt.Sprintf("backup in %.0f s, while %d keys were added: memory of a node over before", took.Seconds(), sure-added), "≤ 16 MiB", fmt.Sprintf("**%.1f MiB**", float64(most)/(1<<20)),
		fmt.Sprintf("at most %.0f MiB before", float64(slices.Max(usual))/(1<<20)), verdict(most <= 16<<20))
	n.kill()
	n.all = n.all[:0]
	began = time.Now()
	used, err := n.command("cluster", "restore", to, "--dir", filepath.Join(n.dir, "restored"), "--nodes", strconv.Itoa(restoredNodes), "--copies", strconv.Itoa(spreadCopies))
	if err != nil {
		return err
	}
	t.Row(fmt.Sprintf("restore into %d folders", restoredNodes), "–", fmt.Sprintf("%.0f s", time.Since(began).Seconds()), fmt.Sprintf("%.0f MiB of memory", float64(used)/(1<<20)), "")
	began = time.Now()
	for i := range restoredNodes {
		if err := n.launch(i, filepath.Join("restored", strconv.Itoa(i+1))); err != nil {
			return err
		}
	}
	for _, p := range n.all {
		if err := awaitAnswer(p.Addr(), patience, "PING"); err != nil {
			return err
		}
	}
	return n.ask(o, t, fmt.Sprintf("restored into %d nodes, which serve after %.0f s", restoredNodes, time.Since(began).Seconds()), restoredNodes)
}

// command runs a command of the program, and returns how much memory it took.
func (n *nodes) command(args ...string) (bytes int64, err error) {
	cmd := exec.Command(n.program, args...)
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return 0, fmt.Errorf("%s: %w", strings.Join(args[:2], " "), err)
	}
	usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0, nil
	}
	return usage.Maxrss << 10, nil
}

// memoryWatch reads again and again how much memory processes take.
type memoryWatch struct {
	stop, done chan struct{}
	most       []int
}

func watchMemory(list []*process.Process) *memoryWatch {
	w := &memoryWatch{make(chan struct{}), make(chan struct{}), make([]int, len(list))}
	go func() {
		defer close(w.done)
		for {
			for i, p := range list {
				if m, err := p.Memory(); err == nil {
					w.most[i] = max(w.most[i], m)
				}
			}
			select {
			case <-w.stop:
				return
			case <-time.After(50 * time.Millisecond):
			}
		}
	}()
	return w
}

// end returns the most that each has taken.
func (w *memoryWatch) end() []int {
	close(w.stop)
	<-w.done
	return w.most
}
