package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"github.com/bloomery/bloomery/bench/internal/report"
)

// page returns the document.
func (b *bench) page(ctx context.Context, origin string, rounds int) *report.Document {
	size := int64(0)
	if info, err := os.Stat(b.text); err == nil {
		size = info.Size()
	}
	unique := ""
	if t, ok := b.task(dedupeTask); ok {
		unique = fmt.Sprintf(", %d of them different", t.ways[0].runs[0].lines)
	}
	d := report.New("Command line benchmarks", "make bench-cli")
	d.Text(fmt.Sprintf(`%d lines of real text (names of npm packages, paths of Debian packages, drawn with repetition), %d MB%s.
		All programs in turns, %d rounds, medians. Output goes to a pipe whose lines are counted. Memory is the peak of
		the resident set of the whole process, in millions of bytes.`, sampleLines, size/1e6, unique, rounds))
	d.Add(origin + "- Programs: " + versions(ctx) + "\n- Load of the machine at the end: " + load())
	for _, t := range b.tasks {
		d.Section(t.title)
		d.Table(t.table())
		var commands strings.Builder
		for _, w := range t.ways {
			for _, p := range w.programs {
				commands.WriteString(b.plain(p.String()) + "\n")
			}
		}
		d.Code("sh", commands.String())
	}
	d.Section("Targets")
	d.Table(b.targets())
	return d
}

// table has a row for each way to do the task.
func (t task) table() *report.Table {
	table := &report.Table{Head: []string{"", "wall s", "CPU s", "million lines/s", "peak MB", "lines out"}}
	for _, w := range t.ways {
		table.Row(w.name, fmt.Sprintf("%.2f", w.median(wall)), fmt.Sprintf("%.2f", w.median(cpu)),
			fmt.Sprintf("%.2f", sampleLines/w.median(wall)/1e6), fmt.Sprintf("%.0f", w.median(peak)), strconv.Itoa(w.runs[0].lines))
	}
	return table
}

// plain takes the names of temporary files out of a command line.
func (b *bench) plain(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(s, b.dir+"/", ""), b.text, "FILE")
}

// versions returns what was measured.
func versions(ctx context.Context) string {
	var all []string
	for _, name := range []string{"coreutils", "mawk", "golang-github-dcso-bloom-cli"} {
		out, err := exec.CommandContext(ctx, "dpkg-query", "-W", "-f", "${Package} ${Version}", name).Output()
		if err == nil {
			all = append(all, string(out))
		}
	}
	return strings.Join(all, ", ")
}

// load returns how many processes wanted a processor, in the last minute and in
// the last quarter of an hour, ours included.
func load() string {
	data, err := os.ReadFile("/proc/loadavg")
	fields := strings.Fields(string(data))
	if err != nil || len(fields) < 3 {
		return "unknown"
	}
	return fields[0] + ", " + fields[2]
}

// targets compares with what we want to reach.
func (b *bench) targets() *report.Table {
	t := &report.Table{Head: []string{"", "measured", "target", ""}}
	row := func(name string, got float64, format string, ok bool, target string) {
		verdict := "**missed**"
		if ok {
			verdict = "met"
		}
		t.Row(name, fmt.Sprintf(format, got), target, verdict)
	}
	time, how := wall, ""
	if b.shared {
		time, how = cpu, ", CPU time"
	}
	for _, c := range []struct {
		name        string
		task        string
		ours, their int
		pick        func(usage) float64
		want        float64
	}{
		{"dedupe: times as fast as `LC_ALL=C sort -u`" + how, dedupeTask, 0, 3, time, 3},
		{"dedupe: times as fast as mawk" + how, dedupeTask, 0, 4, time, 12},
		{"dedupe: `sort -u` takes this many times the memory", dedupeTask, 0, 3, peak, 4},
		{"dedupe with a rate: `sort -u` takes this many times the memory", dedupeTask, 2, 3, peak, 15},
		{"dedupe with a rate: mawk takes this many times the memory", dedupeTask, 2, 4, peak, 12},
		{"build: times as fast as DCSO's" + how, buildTask, 0, 1, time, 5},
		{"check: times as fast as DCSO's" + how, checkTask, 0, 1, time, 5},
	} {
		done, ok := b.task(c.task)
		if !ok {
			continue
		}
		got := done.ways[c.their].median(c.pick) / done.ways[c.ours].median(c.pick)
		row(c.name, got, "%.1f", got >= c.want, fmt.Sprintf("at least %.0f", c.want))
	}
	if done, ok := b.task(checkTask); ok {
		speed := sampleLines / done.ways[0].median(wall) / 1e6
		row("check: million lines a second", speed, "%.1f", speed >= 6, "at least 6")
	}
	first := report.Median(b.first)
	row("from the start to the first output on a pipe, ms", first, "%.1f", first <= 15, "at most 15")
	return t
}

// task returns a task by its name, if it was run.
func (b *bench) task(title string) (task, bool) {
	for _, t := range b.tasks {
		if t.title == title {
			return t, true
		}
	}
	return task{}, false
}
