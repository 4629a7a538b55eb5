package main

import (
	"context"
	_ "embed" // the notes
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/bloomery/bloomery/bench/internal/report"
)

// started is when the program was, and busy how many processes wanted a processor
// in the minute before.
var (
	started = time.Now()
	busy    = loadAverage()
)

// loadAverage returns the load of the machine during the last minute.
func loadAverage() string {
	data, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	load, _, _ := strings.Cut(string(data), " ")
	return load
}

const intro = `Three nodes with 8 lanes, and a single server with ` + "`--fsync always`" + `, on one machine that they share with the clients:
	ratios of processor time, of runs that took turns; of all three nodes for adds, of the node that answers for reads. %d
	connections unless a row has more. Filters of %d keys at 1%%; each run lasts %v and adds new keys to a new filter. %d rounds:
	medians, quartiles. No TLS between the nodes.`

// notes explain, by hand, what falls short.
//
//go:embed notes.md
var notes string

// page returns the document.
func page(o options, f figures) *report.Document {
	doc := report.New("Benchmarks of the cluster", "make bench-cluster")
	doc.Text(fmt.Sprintf(intro, fewClients, o.capacity, o.time, o.rounds))
	command := "cd bench && go run ./cmd/cluster " + strings.Join(os.Args[1:], " ")
	doc.Add(report.Origin(context.Background(), command, started) + "- Load average in the minute before: " + busy + "\n")
	adds := &report.Table{Head: []string{"adds, acknowledged at a majority", "keys/s", "CPU, µs", "keys a message", "one server: keys/s", "CPU, µs", "CPU over one server's", "quartiles", "target", ""}}
	reads := &report.Table{Head: []string{"reads", "keys/s", "CPU, µs", "one server: keys/s", "CPU, µs", "one server's CPU over it", "quartiles", "target", ""}}
	for _, r := range f.results {
		if r.c.reads {
			reads.Row(rateRow(r)...)
		} else {
			adds.Row(rateRow(r)...)
		}
	}
	if len(f.results) > 0 {
		doc.Section("Adds and reads")
	}
	doc.Table(adds)
	doc.Table(reads)
	doc.Section("Cost and faults")
	doc.Table(faults(o, f))
	doc.Add(notes)
	return doc
}

// rateRow returns the cells of a case.
func rateRow(r result) []string {
	rates := func(runs []oneRun) string { return column(runs, "%.0f", func(x oneRun) float64 { return x.rate }) }
	cpus := func(runs []oneRun) string { return column(runs, "%.2f", func(x oneRun) float64 { return x.cpu * 1e6 }) }
	ratios := r.ratios()
	middle := report.Median(ratios)
	sign, met := "≤", middle <= r.c.target
	if r.c.reads {
		sign, met = "≥", middle >= r.c.target
	}
	cells := []string{r.c.name, rates(r.cluster), cpus(r.cluster)}
	if !r.c.reads {
		cells = append(cells, column(r.cluster, "%.0f", func(x oneRun) float64 { return x.each }))
	}
	return append(cells, rates(r.local), cpus(r.local), fmt.Sprintf("**%.2f**", middle),
		report.Quartiles(ratios, "%.2f"), fmt.Sprintf("%s %g", sign, r.c.target), verdict(met))
}

// column returns the median of what pick takes of runs.
func column(runs []oneRun, format string, pick func(oneRun) float64) string {
	return fmt.Sprintf(format, report.Median(each(runs, pick)))
}

func each[T any](list []T, pick func(T) float64) (values []float64) {
	for _, x := range list {
		values = append(values, pick(x))
	}
	return values
}

func verdict(met bool) string {
	if met {
		return "met"
	}
	return "**missed**"
}

// faults returns the table of what is not a rate. What happened several times has to
// meet its target every time.
func faults(o options, f figures) *report.Table {
	t := &report.Table{Head: []string{"figure", "target", "value", "lowest – highest", ""}}
	row := func(name, target, format string, values []float64, most float64) {
		t.Row(name, target, fmt.Sprintf(format, report.Median(values)), report.Span(values, format), verdict(slices.Max(values) <= most))
	}
	if len(f.idle) > 0 {
		after := fmt.Sprintf("an idle node, during %v after %v", o.idle, o.idle)
		row(after+": of a processor", "≤ 1.5%", "%.2f%%", each(f.idle, idleNode.percent), 1.5)
		row(after+": memory", "≤ 45 MB", "%.0f MB", each(f.idle, idleNode.megabytes), 45)
	}
	t.Row("kill -9 of one node under load, 50 times", "0 lost, 0 twice, equal states", "`make torture FAULTS=kill ROUNDS=50`", tortureReport(o), "")
	if len(f.ends) > 0 {
		name := fmt.Sprintf("kill -9 of all nodes with %d keys, %d times: ", o.keys, len(f.ends))
		row(name+"all serve after", "≤ 30 s", "%.1f s", each(f.ends, func(r restarted) float64 { return r.serves.Seconds() }), 30)
		row(name+"the first write is acknowledged after", "≤ 30 s", "%.1f s", each(f.ends, func(r restarted) float64 { return r.writes.Seconds() }), 30)
		lost, checked := 0, 0
		for _, r := range f.ends {
			lost, checked = lost+r.lost, checked+r.checked
		}
		t.Row(name+"keys acknowledged and lost, asked for at each node", "0", fmt.Sprintf("%d of %d", lost, checked), "", verdict(lost == 0))
	}
	if len(f.joins) > 0 {
		name := fmt.Sprintf("a fourth node joins %d keys under load, %d times: ", o.keys, len(f.joins))
		row(name+"it serves after", "≤ 60 s", "%.1f s", each(f.joins, func(j joined) float64 { return j.serves.Seconds() }), 60)
		var sum joined
		for _, j := range f.joins {
			sum.checked, sum.lacked, sum.later, sum.missed = sum.checked+j.checked, sum.lacked+j.lacked, sum.later+j.later, sum.missed+j.missed
		}
		t.Row(name+"keys acknowledged before its start that its first answers lacked", "0", fmt.Sprintf("%d of %d", sum.lacked, sum.checked), "", verdict(sum.lacked == 0))
		t.Row(name+"keys acknowledged since that `FILTER.READ OWNER` lacked", "0", fmt.Sprintf("%d of %d", sum.missed, sum.later), "", verdict(sum.missed == 0))
	}
	if f.start > 0 {
		t.Row("three new nodes form a cluster", "–", fmt.Sprintf("%.1f s", f.start.Seconds()), "", "")
	}
	return t
}

// tortureReport returns where the report of make torture is.
func tortureReport(o options) string {
	if _, err := os.Stat(filepath.Join(o.root, o.torture)); err != nil {
		return "no report yet"
	}
	name := filepath.Base(o.torture)
	return fmt.Sprintf("see [%s](%s)", name, name)
}
