package server_test

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

var watchMachine = flag.Bool("watch-machine", false, "print when a processor stood still, until standard input ends")

// halt is a moment when a processor ran nobody, or nothing but the kernel.
type halt struct{ from, to int64 } // UnixNano

// halts measures how long the processors stand still: a process of its own, with a thread on each of them that wants to run
// every millisecond and goes before all others. Without the right to that, it goes before none.
type halts struct {
	mu  sync.Mutex // guards all
	all []halt
}

// startHalts begins to measure, until the test ends.
func startHalts(t *testing.T) *halts {
	t.Helper()
	m := &halts{}
	watcher := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestWatchMachine$", "-watch-machine")
	stop, err := watcher.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	found, err := watcher.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := watcher.Start(); err != nil {
		t.Fatal(err)
	}
	var reading sync.WaitGroup
	reading.Go(func() {
		for lines := bufio.NewScanner(found); lines.Scan(); {
			var h halt
			if n, _ := fmt.Sscanf(lines.Text(), "halt %d %d", &h.from, &h.to); n == 2 {
				m.mu.Lock()
				m.all = append(m.all, h)
				m.mu.Unlock()
			}
		}
	})
	t.Cleanup(func() {
		_ = stop.Close()
		reading.Wait()
		_ = watcher.Wait()
	})
	return m
}

// most returns the longest halt of a processor between two moments.
func (m *halts) most(from, to time.Time) (most time.Duration) {
	time.Sleep(10 * time.Millisecond) // until the last one is known
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, h := range m.all {
		if h.from < to.UnixNano() && h.to > from.UnixNano() {
			most = max(most, time.Duration(h.to-h.from))
		}
	}
	return most
}

// TestWatchMachine is the process that startHalts starts.
func TestWatchMachine(t *testing.T) {
	if !*watchMachine {
		t.Skip("a part of TestFigureOfWaits")
	}
	runtime.GOMAXPROCS(runtime.NumCPU() + 1)
	for cpu := range runtime.NumCPU() {
		go func() {
			runtime.LockOSThread()
			var set unix.CPUSet
			set.Set(cpu)
			_ = unix.SchedSetaffinity(0, &set)
			_ = unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: 50}, 0)
			for step := unix.NsecToTimespec(int64(time.Millisecond)); ; {
				began := time.Now()
				_ = unix.Nanosleep(&step, nil)
				if took := time.Since(began) - time.Millisecond; took > time.Millisecond {
					fmt.Println("halt", began.UnixNano(), began.Add(took).UnixNano())
				}
			}
		}()
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
}
