package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// outcome is how a process ended.
type outcome struct {
	failed bool
	output []byte
	cpu    time.Duration
}

// memory is how much a test may use, in bytes.
const memory = 6 << 30

// execute runs a test binary for a mutant within limits. Time is counted as work
// (cpu) and as rest (idle, while no thread could run), so that a busy machine
// makes nothing fail. Memory is what is really used: address space is cheap, and
// some tests reserve a lot of it.
func execute(tmp, dir string, number int, idle, cpu time.Duration, args ...string) outcome {
	temp, err := os.MkdirTemp(tmp, "run-")
	if err != nil {
		return outcome{failed: true, output: []byte(err.Error())}
	}
	defer os.RemoveAll(temp) //nolint:errcheck // a temporary folder
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	limit := strconv.Itoa(int(cpu/time.Second) + 1)
	c := exec.CommandContext(ctx, "sh", append([]string{"-c", `ulimit -t ` + limit + `; exec "$@"`, "sh"}, args...)...)
	c.Dir = dir
	c.Env = append(os.Environ(), "MUTANT="+strconv.Itoa(number), "TMPDIR="+temp, "GOMEMLIMIT=2GiB")
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
	c.WaitDelay = time.Second
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	if err := c.Start(); err != nil {
		return outcome{failed: true, output: []byte(err.Error())}
	}
	done := make(chan struct{})
	go func() {
		const tick = 100 * time.Millisecond
		for ticks := time.Tick(tick); ; {
			select {
			case <-done:
				return
			case <-ticks:
			}
			if resting(c.Process.Pid) {
				idle -= tick
			}
			if idle < 0 || resident(c.Process.Pid) > memory {
				cancel()
			}
		}
	}()
	err = c.Wait()
	close(done)
	syscall.Kill(-c.Process.Pid, syscall.SIGKILL) //nolint:errcheck // children it left, if any
	return outcome{err != nil, out.Bytes(), c.ProcessState.UserTime() + c.ProcessState.SystemTime()}
}

// resting reports whether no thread of a process runs or could.
func resting(pid int) bool {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	return !slices.ContainsFunc(threads, func(path string) bool {
		text, _ := os.ReadFile(path)
		_, state, _ := bytes.Cut(text, []byte(") "))
		return len(state) == 0 || state[0] != 'S'
	})
}

// resident returns how many bytes of memory a process uses.
func resident(pid int) int {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if f := strings.Fields(string(text)); len(f) > 1 {
		pages, _ := strconv.Atoi(f[1])
		return pages * os.Getpagesize()
	}
	return 0
}
