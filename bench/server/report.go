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

// result is all runs of a case, by who was measured and by round.
type result struct {
	c    benchCase
	runs [parties][]oneRun
}

// median returns the middle of the values that pick takes from the runs.
func (r result) median(who int, pick func(oneRun) float64) float64 {
	values := make([]float64, len(r.runs[who]))
	for i, run := range r.runs[who] {
		values[i] = pick(run)
	}
	return median(values)
}

func median(values []float64) float64 {
	values = slices.Sorted(slices.Values(values))
	n := len(values)
	return (values[(n-1)/2] + values[n/2]) / 2
}

// shares returns, round by round, Redis's CPU per PING over that of an item.
func shares(ping, r result, who int) []float64 {
	var all []float64
	for i, run := range r.runs[who] {
		all = append(all, ping.runs[redis][i].cpu.Seconds()*float64(r.c.items)/run.cpu.Seconds())
	}
	return all
}

// overBase returns, round by round, our CPU over that of the base.
func overBase(r result) []float64 {
	var all []float64
	for i, run := range r.runs[base] {
		all = append(all, r.runs[ours][i].cpu.Seconds()/run.cpu.Seconds())
	}
	return all
}

const intro = `# Server benchmarks

<!-- Made by make bench-server. -->

redis-benchmark with 50 clients; filters of %d keys at 1%%, half of the keys asked are there, added keys go to an empty
filter; all bloomery servers keep a log with one fsync a second; %d interleaved rounds, medians, ratios within a round. CPU is the
server's own processor time per request, from the scheduler's counters. "By CPU" is Redis's CPU per PING at the same pipeline
over ours per item: above 1 an item costs less than a PING of Redis. Client and server share the processors of one machine with whatever
else runs there, so throughput swings; CPU swings less.%s

%s`

// report writes the page.
func report(o options, results []result) string {
	var b strings.Builder
	about := ""
	if o.base != "" {
		about = fmt.Sprintf(" \"Base\" is commit %s of bloomery, in the same rounds;\n\"over base\" is our CPU over its. At pipeline 1 that is to be at most 1.05.", o.base)
	}
	fmt.Fprintf(&b, intro, o.capacity, o.rounds, about, setting(o))
	for _, p := range []int{1, 16, 64} {
		fmt.Fprintf(&b, "\n## Pipeline %d\n\n| command | items/s | CPU, µs | by CPU | lowest – highest | target | base: CPU, µs | base: by CPU | over base |\n|---|---|---|---|---|---|---|---|---|\n", p)
		var ping result
		for _, r := range results {
			if r.c.pipeline != p || r.c.tls {
				continue
			}
			if r.c.redis {
				ping = r
			}
			b.WriteString(row(ping, r))
		}
	}
	return b.String()
}

// row returns the line of a case.
func row(ping, r result) string {
	who := ours
	if r.c.redis {
		who = redis
	}
	rate := func(x oneRun) float64 { return x.rate }
	cpu := func(x oneRun) float64 { return x.cpu.Seconds() * 1e6 }
	share := shares(ping, r, who)
	target := "–"
	if r.c.target > 0 {
		target = fmt.Sprintf("≥ %.2f", r.c.target)
	}
	line := fmt.Sprintf("| %s | %.0f | %.2f | **%.2f** | %s | %s |", r.c.name, r.median(who, rate), r.median(who, cpu), median(share), span(share, "%.2f"), target)
	if len(r.runs[base]) == 0 {
		return line + " | | |\n"
	}
	return line + fmt.Sprintf(" %.2f | %.2f | %.2f |\n", r.median(base, cpu), median(shares(ping, r, base)), median(overBase(r)))
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

// gate runs the debug build, which records how long the gate is held, and returns
// its table.
func gate(o options) string {
	const run = "TestGateIsHeldShortly/^(SAVE|DUMP_in_EXEC|RESTORE)$"
	cmd := exec.Command("go", "test", "-tags", "bloomerydebug", "./server/internal/engine", "-count=1", "-v", "-run", run)
	cmd.Dir = o.root
	out, err := cmd.CombinedOutput()
	var b strings.Builder
	fmt.Fprintf(&b, "\n## The gate\n\nTransactions, BF.ADD with CF.ADD and two lookups, and PING go on in three sessions while a fourth does something long to a filter of 262 MiB, by\n"+
		"`go test -tags bloomerydebug ./server/internal/engine -v -run '%s'`. Target: the gate is held for at\n"+
		"most 1 ms of processor time, and nobody waits for log, disk or client inside it. The debug build notes every lock, so its replies are slower than\n"+
		"those of the server. Replies to others: 99.9%% of them took at most so long, and the longest, by the clock.\n\n"+
		"| meanwhile | took | longest hold, by processor | holds, 99.9%%, by the clock | waits inside | transactions | adds and lookups | PING |\n|---|---|---|---|---|---|---|---|\n", run)
	for line := range strings.Lines(string(out)) {
		if at := strings.Index(line, "| "); at > 0 && strings.Contains(line, "gate_test.go:") {
			b.WriteString(line[at:])
		}
	}
	if err != nil {
		fmt.Fprintf(&b, "\nFailed: %v\n", err)
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
