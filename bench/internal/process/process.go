// Package process starts servers that are measured, and reads what they take of the
// machine.
package process

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Build makes the program bloomery of a source tree.
func Build(root, to string, flags ...string) error {
	cmd := exec.Command("go", append(append([]string{"build", "-trimpath", "-o", to}, flags...), "./cmd/bloomery")...)
	cmd.Dir, cmd.Stderr = root, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("build: %w", err)
	}
	return nil
}

// Process is a server under test.
type Process struct {
	Port string // of 127.0.0.1, where it takes clients
	cmd  *exec.Cmd
}

// Launch starts a program that is to take clients on a port, and does not wait for it.
func Launch(port int, name string, args ...string) (*Process, error) {
	p := &Process{Port: strconv.Itoa(port), cmd: exec.Command(name, args...)}
	p.cmd.Env = append(os.Environ(), "BLOOMERY_HTTP=") // several servers run at once
	p.cmd.Stderr = os.Stderr
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	return p, nil
}

// Start starts a Redis server and waits until it answers PING: while it loads its data
// the answer is LOADING.
func Start(port int, name string, args ...string) (*Process, error) {
	p, err := Launch(port, name, args...)
	if err != nil {
		return nil, err
	}
	for range 100 {
		if answers(p.Addr()) {
			return p, nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	p.Stop()
	return nil, fmt.Errorf("%s does not answer on port %s", name, p.Port)
}

func answers(addr string) bool {
	nc, err := net.Dial("tcp", addr)
	if err != nil {
		return false
	}
	defer nc.Close()
	_ = nc.SetDeadline(time.Now().Add(time.Second))
	if _, err := io.WriteString(nc, "PING\r\n"); err != nil {
		return false
	}
	line, err := bufio.NewReader(nc).ReadString('\n')
	return err == nil && !strings.HasPrefix(line, "-LOADING ")
}

// Addr returns where it takes clients.
func (p *Process) Addr() string { return "127.0.0.1:" + p.Port }

// Stop asks the process to end, and waits for that.
func (p *Process) Stop() {
	_ = p.cmd.Process.Signal(os.Interrupt)
	_ = p.cmd.Wait()
}

// Kill ends the process at once, as kill -9 does.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}

// CLI runs a command with redis-cli.
func (p *Process) CLI(args ...string) (string, error) {
	out, err := exec.Command("redis-cli", append([]string{"-e", "-p", p.Port}, args...)...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("redis-cli %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return string(out), nil
}

// CPU returns the processor time of the process so far, from the scheduler's
// counters, which are in nanoseconds; the ticks of /proc/PID/stat are too coarse.
func (p *Process) CPU() (time.Duration, error) {
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", p.cmd.Process.Pid))
	if err != nil || len(tasks) == 0 {
		return 0, fmt.Errorf("no /proc/%d/task/*/schedstat: %w", p.cmd.Process.Pid, err)
	}
	var sum time.Duration
	for _, task := range tasks {
		data, err := os.ReadFile(task)
		if err != nil {
			continue // the thread has ended
		}
		var ran int64
		if _, err := fmt.Sscan(string(data), &ran); err != nil {
			return 0, fmt.Errorf("%s: %q: %w", task, data, err)
		}
		sum += time.Duration(ran)
	}
	return sum, nil
}

// Memory returns how many bytes of the process are in memory.
func (p *Process) Memory() (int, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(data)) {
		if value, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kib, err := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(value), " kB"))
			return kib << 10, err
		}
	}
	return 0, errors.New("no VmRSS in /proc/PID/status")
}
