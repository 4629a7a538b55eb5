package main

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// process is a server under test.
type process struct {
	port string
	cmd  *exec.Cmd
}

// startServer starts a program and waits until its port is open.
func startServer(port int, name string, args ...string) (*process, error) {
	p := &process{port: strconv.Itoa(port), cmd: exec.Command(name, args...)}
	p.cmd.Env = append(os.Environ(), "BLOOMERY_HTTP=") // several servers run at once
	p.cmd.Stderr = os.Stderr
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	for range 100 {
		if nc, err := net.Dial("tcp", "127.0.0.1:"+p.port); err == nil {
			return p, nc.Close()
		}
		time.Sleep(50 * time.Millisecond)
	}
	p.stop()
	return nil, fmt.Errorf("%s does not listen on port %s", name, p.port)
}

func (p *process) stop() {
	_ = p.cmd.Process.Signal(os.Interrupt)
	_ = p.cmd.Wait()
}

// cli runs a command with redis-cli.
func (p *process) cli(args ...string) (string, error) {
	out, err := exec.Command("redis-cli", append([]string{"-e", "-p", p.port}, args...)...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("redis-cli %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return string(out), nil
}

// knows reports whether the server has a command: an old revision has fewer.
func (p *process) knows(command string) bool {
	out, err := p.cli("--json", "COMMAND", "INFO", command)
	return err == nil && !strings.Contains(out, "null")
}

// cpu returns the processor time of the server so far, from the scheduler's
// counters, which are in nanoseconds; the ticks of /proc/PID/stat are too coarse.
func (p *process) cpu() (time.Duration, error) {
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

// oneRun is what one run of redis-benchmark gave.
type oneRun struct {
	rate float64       // items per second
	cpu  time.Duration // of the server, per request
}

var rateLine = regexp.MustCompile(`([0-9.]+) requests per second`)

// benchmark runs redis-benchmark once.
func (p *process) benchmark(c benchCase, o options) (oneRun, error) {
	n := o.requests
	if c.pipeline == 1 {
		n /= 10
	}
	if c.items > 1 {
		n /= 20
	}
	if c.items >= 1000 {
		n /= 10
	}
	before, err := p.cpu()
	if err != nil {
		return oneRun{}, err
	}
	where := []string{"-p", p.port}
	if c.tls {
		port, err := strconv.Atoi(p.port)
		if err != nil {
			return oneRun{}, err
		}
		where = []string{"-p", strconv.Itoa(port + tlsPort), "--tls", "--insecure"}
	}
	args := append(append(where, "-c", "50", "-n", strconv.Itoa(n), "-P", strconv.Itoa(c.pipeline), "-r", strconv.Itoa(2*o.capacity), "-q"), c.args...)
	out, err := exec.Command("redis-benchmark", args...).CombinedOutput()
	if err != nil {
		return oneRun{}, fmt.Errorf("redis-benchmark: %w: %s", err, out)
	}
	after, err := p.cpu()
	if err != nil {
		return oneRun{}, err
	}
	all := rateLine.FindAllSubmatch(out, -1)
	if all == nil {
		return oneRun{}, fmt.Errorf("redis-benchmark: no figure in %q", out)
	}
	rate, err := strconv.ParseFloat(string(all[len(all)-1][1]), 64)
	return oneRun{rate: rate * float64(c.items), cpu: (after - before) / time.Duration(n)}, err
}

// fill makes the filters bf, cf and fl with every second key of those that
// redis-benchmark draws. A revision of before FILTER commands has no fl.
func fill(p *process, capacity int) error {
	heads := []string{"*1002\r\n$7\r\nBF.MADD\r\n$2\r\nbf\r\n", "*1003\r\n$9\r\nCF.INSERT\r\n$2\r\ncf\r\n$5\r\nITEMS\r\n"}
	if out, err := p.cli("FILTER.CREATE", "fl", "bloom", "CAPACITY", strconv.Itoa(capacity)); err == nil && strings.HasPrefix(out, "OK") {
		heads = append(heads, "*1002\r\n$10\r\nFILTER.ADD\r\n$2\r\nfl\r\n")
	}
	for _, line := range []string{"DEL bf cf", "BF.RESERVE bf 0.01 " + strconv.Itoa(capacity), "CF.RESERVE cf " + strconv.Itoa(capacity)} {
		if _, err := p.cli(strings.Fields(line)...); err != nil {
			return err
		}
	}
	nc, err := net.Dial("tcp", "127.0.0.1:"+p.port)
	if err != nil {
		return err
	}
	defer nc.Close()
	w, r := bufio.NewWriterSize(nc, 1<<20), bufio.NewReaderSize(nc, 1<<20)
	const batch = 1000
	for i := 0; i < capacity; i += batch {
		for _, head := range heads {
			if _, err := w.WriteString(head); err != nil {
				return err
			}
			for j := range batch {
				if _, err := fmt.Fprintf(w, "$12\r\n%012d\r\n", 2*(i+j)); err != nil {
					return err
				}
			}
		}
		if err := w.Flush(); err != nil {
			return err
		}
		for range len(heads) * (batch + 1) {
			line, err := r.ReadString('\n')
			if err != nil || line[0] == '-' {
				return fmt.Errorf("fill: %q, %w", line, err)
			}
		}
	}
	return nil
}
