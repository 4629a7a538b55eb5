package main

import (
	"bufio"
	"fmt"
	"net"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/bloomery/bloomery/bench/internal/process"
)

// knows reports whether the server has a command: an old revision has fewer.
func knows(p *process.Process, command string) bool {
	out, err := p.CLI("--json", "COMMAND", "INFO", command)
	return err == nil && !strings.Contains(out, "null")
}

// oneRun is what one run of redis-benchmark gave.
type oneRun struct {
	rate float64       // items per second
	cpu  time.Duration // of the server, per request
}

var rateLine = regexp.MustCompile(`([0-9.]+) requests per second`)

// benchmark runs redis-benchmark once.
func benchmark(p *process.Process, c benchCase, o options) (oneRun, error) {
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
	before, err := p.CPU()
	if err != nil {
		return oneRun{}, err
	}
	where := []string{"-p", p.Port}
	if c.tls {
		port, err := strconv.Atoi(p.Port)
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
	after, err := p.CPU()
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
func fill(p *process.Process, capacity int) error {
	heads := []string{"*1002\r\n$7\r\nBF.MADD\r\n$2\r\nbf\r\n", "*1003\r\n$9\r\nCF.INSERT\r\n$2\r\ncf\r\n$5\r\nITEMS\r\n"}
	if out, err := p.CLI("FILTER.CREATE", "fl", "bloom", "CAPACITY", strconv.Itoa(capacity)); err == nil && strings.HasPrefix(out, "OK") {
		heads = append(heads, "*1002\r\n$10\r\nFILTER.ADD\r\n$2\r\nfl\r\n")
	}
	for _, line := range []string{"DEL bf cf", "BF.RESERVE bf 0.01 " + strconv.Itoa(capacity), "CF.RESERVE cf " + strconv.Itoa(capacity)} {
		if _, err := p.CLI(strings.Fields(line)...); err != nil {
			return err
		}
	}
	nc, err := net.Dial("tcp", p.Addr())
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
