package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/bloomery/bloomery/bench/internal/report"
)

// started is when the program was.
var started = time.Now()

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
	return report.Median(values)
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

const intro = `redis-benchmark with 50 clients; filters of %d keys at 1%%, half of the keys asked are there, added keys go to an empty
	filter; bloomery keeps a log with one fsync a second; %d interleaved rounds, medians, ratios within a round. CPU is the server's
	processor time per request. "By CPU" is Redis's CPU per PING at the same pipeline over ours per item: above 1 an item costs less
	than a PING. Client and server share the processors: CPU swings less than throughput.%s`

// speeds returns the document with what every command takes.
func speeds(o options, results []result) *report.Document {
	about := ""
	if o.base != "" {
		about = fmt.Sprintf(" \"Over base\" is our CPU over that of commit %s, in the same rounds, with the standard error of that figure.", o.base)
	}
	doc := report.New("Server benchmarks", "make bench-server")
	doc.Text(fmt.Sprintf(intro, o.capacity, o.rounds, about))
	doc.Add(setting(o))
	for _, p := range []int{1, 16, 64} {
		doc.Section(fmt.Sprintf("Pipeline %d", p))
		t := &report.Table{Head: []string{"command", "items/s", "CPU, µs", "by CPU", "lowest – highest", "target", "over base"}}
		var ping result
		for _, r := range results {
			if r.c.pipeline != p || r.c.tls {
				continue
			}
			if r.c.redis {
				ping = r
			}
			t.Row(row(ping, r)...)
		}
		doc.Table(t)
	}
	return doc
}

// row returns the cells of a case.
func row(ping, r result) []string {
	who := ours
	if r.c.redis {
		who = redis
	}
	rate := func(x oneRun) float64 { return x.rate }
	cpu := func(x oneRun) float64 { return x.cpu.Seconds() * 1e6 }
	share := shares(ping, r, who)
	cells := []string{
		r.c.name, fmt.Sprintf("%.0f", r.median(who, rate)), two(r.median(who, cpu)), "**" + two(report.Median(share)) + "**",
		report.Span(share, "%.2f"), target(r.c.target),
	}
	if len(r.runs[base]) == 0 {
		return append(cells, "")
	}
	return append(cells, withError(overBase(r)))
}

// withError writes the median of ratios and its standard error, which follows from the medians of sittings: what
// makes one process slower than the next is the same in all rounds of one.
func withError(ratios []float64) string {
	var sittings []float64
	for some := range slices.Chunk(ratios, sitting) {
		sittings = append(sittings, report.Median(some))
	}
	median := two(report.Median(ratios))
	if e := report.MedianError(sittings); e > 0 {
		return median + " ± " + two(e)
	}
	return median
}

// two writes x with two digits after the point.
func two(x float64) string { return fmt.Sprintf("%.2f", x) }

// target writes what is to be reached, if something is.
func target(x float64) string {
	if x == 0 {
		return "–"
	}
	return "≥ " + two(x)
}

// setting returns the list that says where and how it was measured.
func setting(o options) string {
	command := "cd bench && go run ./cmd/server " + strings.Join(os.Args[1:], " ")
	return report.Origin(context.Background(), command, started) +
		"- System: " + output("uname", "-sr") + "\n" +
		"- Redis: " + output("redis-server", "--version") + "\n"
}

// memory runs the tests that hold the memory of filters and connections.
func memory(doc *report.Document, o options) {
	cmd := exec.Command("go", "test", "./server", "-count=1", "-v", "-run", "^(TestIdleConnections|TestManyFilters)$")
	cmd.Dir = o.root
	cmd.Env = append(os.Environ(), "BLOOMERY_IDLE=10000", "BLOOMERY_FILTERS=1000000")
	out, err := cmd.CombinedOutput()
	doc.Section("Memory")
	doc.Text("Live heap and stacks after a collection, and resident memory, by `make scale`. " +
		"Targets: at most 512 bytes of live heap for a filter of 100 keys at 1%, at most 16 KiB for an idle connection.")
	var b strings.Builder
	for line := range strings.Lines(string(out)) {
		if _, figures, ok := strings.Cut(line, "_test.go:"); ok {
			_, figures, _ = strings.Cut(figures, ": ")
			fmt.Fprintf(&b, "- %s\n", strings.TrimSpace(figures))
		}
	}
	if err != nil {
		fmt.Fprintf(&b, "- failed: %v\n", err)
	}
	doc.Add(b.String())
}

// gate runs the debug build, which records how long the gate is held, and adds
// its table.
func gate(doc *report.Document, o options) {
	const run = "TestGateIsHeldShortly/^(SAVE|DUMP_in_EXEC|RESTORE)$"
	cmd := exec.Command("go", "test", "-tags", "bloomerydebug", "./server/internal/engine", "-count=1", "-v", "-run", run)
	cmd.Dir = o.root
	out, err := cmd.CombinedOutput()
	doc.Section("The gate")
	doc.Text("Transactions, BF.ADD with CF.ADD and two lookups, and PING go on in three sessions while a fourth does something long to a " +
		"filter of 262 MiB, DUMP in EXEC to one of 79, by `go test -tags bloomerydebug ./server/internal/engine -v -run '" + run + "'`. Target: the gate is held for at " +
		"most 1 ms of processor time, and nobody waits inside it. Replies to others: 99.9%, and the longest, by the clock.")
	t := &report.Table{Head: []string{
		"meanwhile", "took", "longest hold, by processor", "holds, 99.9%, by the clock", "waits inside", "transactions", "adds and lookups", "PING",
	}}
	for line := range strings.Lines(string(out)) {
		if _, cells, ok := strings.Cut(line, "| "); ok && strings.Contains(line, "gate_test.go:") {
			t.Row(strings.Split(strings.TrimSuffix(strings.TrimSpace(cells), " |"), " | ")...)
		}
	}
	doc.Table(t)
	if err != nil {
		doc.Text(fmt.Sprintf("Failed: %v", err))
	}
}

func output(name string, args ...string) string {
	out, err := exec.Command(name, args...).Output()
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(out))
}
