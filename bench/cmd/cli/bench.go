package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/bloomery/bloomery/bench/internal/report"
)

// starts is how often the start is measured in each round.
const starts = 20

// task is one thing to do, and the ways to do it: ours first.
type task struct {
	title string
	ways  []way
}

// way is a name, the programs that run one after the other, and what they took
// in each round.
type way struct {
	name     string
	programs []program
	runs     []usage
}

// bench is all tasks.
type bench struct {
	dir   string // for filters, and the program
	text  string
	tasks []task
	first []float64 // milliseconds to the first byte
	// shared compares CPU time instead of the time of a clock: others use the
	// machine, too.
	shared bool
}

// the names of the tasks.
const (
	dedupeTask = "dedupe"
	buildTask  = "build"
	checkTask  = "check"
)

// all runs every way of every task, round by round, so that a busy minute of
// the machine hits all of them.
func (b *bench) all(ctx context.Context, rounds int, only string) error {
	b.tasks = b.define()
	if only != "" {
		b.tasks = slices.DeleteFunc(b.tasks, func(t task) bool { return t.title != only })
	}
	if len(b.tasks) == 0 {
		return fmt.Errorf("no task is called %q", only)
	}
	for i := range rounds {
		for t := range b.tasks {
			for w := range b.tasks[t].ways {
				way := &b.tasks[t].ways[w]
				u, err := way.run(ctx)
				if err != nil {
					return err
				}
				way.runs = append(way.runs, u)
				fmt.Fprintf(os.Stderr, "round %d of %d: %s: %.2f s, %.2f s CPU, %.0f MB, %d lines\n", i+1, rounds, way.name, u.wall, u.cpu, u.peak, u.lines)
			}
		}
		for range starts {
			ms, err := program{args: []string{b.own(), "dedupe", "-q"}}.firstByte(ctx)
			if err != nil {
				return err
			}
			b.first = append(b.first, ms)
		}
	}
	return b.agree()
}

func (b *bench) own() string { return filepath.Join(b.dir, "bloomery") }

// define returns the tasks. The filters that are asked are those built before.
func (b *bench) define() []task {
	ours, theirs := filepath.Join(b.dir, "ours.bf"), filepath.Join(b.dir, "theirs.bloom")
	own := func(args ...string) program { return program{args: append([]string{b.own()}, args...)} }
	return []task{
		{dedupeTask, []way{
			{name: "bloomery dedupe", programs: []program{own("dedupe", b.text)}},
			{name: "bloomery dedupe, most lines through a temporary folder", programs: []program{own("dedupe", "--max-memory", "64M", b.text)}},
			{name: "bloomery dedupe with a rate", programs: []program{own("dedupe", "--max-memory", "80M", "--rate", "1e-6", b.text)}},
			{name: "sort -u", programs: []program{{args: []string{"sort", "-u", b.text}, env: []string{"LC_ALL=C"}}}},
			{name: "mawk", programs: []program{{args: []string{"mawk", "!seen[$0]++", b.text}}}},
		}},
		{buildTask, []way{
			{name: "bloomery build", programs: []program{own("build", "-n", "10M", "-p", "0.01", "--overwrite", "-o", ours, b.text)}},
			{name: "DCSO bloom create, insert", programs: []program{
				{args: []string{"bloom", "create", "-p", "0.01", "-n", "10000000", theirs}},
				{args: []string{"bloom", "insert", theirs}, stdin: b.text},
			}},
		}},
		{checkTask, []way{
			{name: "bloomery check", programs: []program{{args: []string{b.own(), "check", ours}, stdin: b.text}}},
			{name: "DCSO bloom check", programs: []program{{args: []string{"bloom", "check", theirs}, stdin: b.text}}},
		}},
	}
}

// run runs the programs of a way one after the other.
func (w *way) run(ctx context.Context) (sum usage, err error) {
	for _, p := range w.programs {
		u, err := p.run(ctx)
		if err != nil {
			return sum, err
		}
		sum.wall += u.wall
		sum.cpu += u.cpu
		sum.peak = max(sum.peak, u.peak)
		sum.lines += u.lines
	}
	return sum, nil
}

// agree returns an error if two ways of a task do not write as many lines.
func (b *bench) agree() error {
	for _, t := range b.tasks {
		for _, w := range t.ways {
			if got, want := w.runs[0].lines, t.ways[0].runs[0].lines; got != want {
				return fmt.Errorf("%s writes %d lines, %s %d", w.name, got, t.ways[0].name, want)
			}
		}
	}
	return nil
}

// median returns the middle of what pick takes from the runs.
func (w way) median(pick func(usage) float64) float64 {
	values := make([]float64, len(w.runs))
	for i, u := range w.runs {
		values[i] = pick(u)
	}
	return report.Median(values)
}

func wall(u usage) float64 { return u.wall }
func cpu(u usage) float64  { return u.cpu }
func peak(u usage) float64 { return u.peak }
