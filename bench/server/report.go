package main

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"
)

// result is all runs of a case.
type result struct {
	c    benchCase
	runs []oneRun
}

// median returns the middle of the values that pick takes from the runs.
func (r result) median(pick func(oneRun) float64) float64 {
	values := make([]float64, len(r.runs))
	for i, run := range r.runs {
		values[i] = pick(run)
	}
	return median(values)
}

func median(values []float64) float64 {
	values = slices.Sorted(slices.Values(values))
	n := len(values)
	return (values[(n-1)/2] + values[n/2]) / 2
}

// spread returns the lowest and the highest share.
func (r result) spread() (low, high float64) {
	low, high = r.runs[0].share, r.runs[0].share
	for _, run := range r.runs {
		low, high = min(low, run.share), max(high, run.share)
	}
	return low, high
}

// report writes the page.
func report(o options, results []result) string {
	var b strings.Builder
	fmt.Fprintf(&b, `# Server benchmarks

<!-- Made by make bench-server. -->

redis-benchmark with 50 clients; filters of %d keys at 1%%, half of the keys asked are there, added keys go to an empty
filter; %d interleaved rounds, medians. The yardstick is Redis answering PING in the same round: a share of 1 means as
many items per second as Redis answers PINGs. Client and server share the processors of one machine with whatever else
runs there, so single cells swing; CPU per request is the server's own processor time and swings less. "Share by CPU" is
Redis's CPU per PING over ours per item. "Busy" is how many processors the server kept busy: where it is well below 1,
redis-benchmark (one thread, which also makes the random keys) was the limit, not the server.

%s`, o.capacity, o.rounds, setting(o))
	for _, p := range []int{1, 16, 64} {
		fmt.Fprintf(&b, "\n## Pipeline %d\n\n| command | items/s | CPU per request, µs | busy | share of Redis PING | lowest – highest | share by CPU | target |\n|---|---|---|---|---|---|---|---|\n", p)
		yardstick := 0.0
		for _, r := range results {
			if r.c.pipeline != p {
				continue
			}
			target := "–"
			if r.c.target > 0 {
				target = fmt.Sprintf("≥ %.1f", r.c.target)
			}
			low, high := r.spread()
			rate := r.median(func(x oneRun) float64 { return x.rate })
			cpu := r.median(func(x oneRun) float64 { return x.cpu.Seconds() })
			if r.c.redis {
				yardstick = cpu
			}
			items := float64(r.c.items)
			fmt.Fprintf(&b, "| %s | %.0f | %.2f | %.2f | **%.2f** | %.2f – %.2f | %.2f | %s |\n", r.c.name,
				rate, cpu*1e6, cpu*rate/items, r.median(func(x oneRun) float64 { return x.share }), low, high, yardstick*items/cpu, target)
		}
	}
	return b.String()
}

// setting returns the table that says where and how it was measured.
func setting(o options) string {
	return fmt.Sprintf(`| | |
|---|---|
| machine | %s, %d processors |
| system | %s |
| Go | %s |
| Redis | %s |
| commit | %s |
| date | %s |
| command | %s |
`, cpuModel(), runtime.NumCPU(), output("uname", "-sr"), runtime.Version(),
		output("redis-server", "--version"), output("git", "-C", o.root, "rev-parse", "--short", "HEAD"),
		time.Now().UTC().Format("2006-01-02"), fmt.Sprintf("`go run . %s` in bench/server", strings.Join(os.Args[1:], " ")))
}

// memory runs the tests that hold the memory of filters and connections.
func memory(o options) string {
	cmd := exec.Command("go", "test", "./server", "-count=1", "-v", "-run", "^(TestIdleConnections|TestManyFilters)$")
	cmd.Dir = o.root
	cmd.Env = append(os.Environ(), "BLOOMERY_IDLE=10000", "BLOOMERY_FILTERS=1000000")
	out, err := cmd.CombinedOutput()
	var b strings.Builder
	b.WriteString("\n## Memory\n\nLive heap and stacks after a collection, and resident memory, by `BLOOMERY_IDLE=10000 BLOOMERY_FILTERS=1000000 go test ./server -run 'Idle|ManyFilters' -v`.\n" +
		"Targets: at most 512 bytes of live heap for a filter of 100 keys at 1%, at most 16 KiB for an idle connection. Resident memory includes what\n" +
		"the collector has not given back after the load.\n\n")
	for line := range strings.Lines(string(out)) {
		if _, figures, ok := strings.Cut(line, "_test.go:"); ok {
			_, figures, _ = strings.Cut(figures, ": ")
			fmt.Fprintf(&b, "- %s\n", strings.TrimSpace(figures))
		}
	}
	if err != nil {
		fmt.Fprintf(&b, "- failed: %v\n", err)
	}
	return b.String()
}

func output(name string, args ...string) string {
	out, err := exec.Command(name, args...).Output()
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(out))
}

func cpuModel() string {
	data, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "unknown"
	}
	_, rest, _ := strings.Cut(string(data), "model name")
	line, _, _ := strings.Cut(rest, "\n")
	return strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), ":"))
}
