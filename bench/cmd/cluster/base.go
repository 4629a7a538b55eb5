package main

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/bloomery/bloomery/bench/internal/process"
	"github.com/bloomery/bloomery/bench/internal/report"
)

// baseShift is by how much the ports of a cluster of another commit differ.
const baseShift = 20

// overBase is what a row may take of what it took at another commit.
const overBase = 1.05

// measureBase puts the cluster and one of another commit under each load in turn, and writes a table
// of what they take.
func measureBase(o options, n *nodes, only *regexp.Regexp) (*report.Table, error) {
	t := &report.Table{Head: []string{"three nodes over three of " + o.base, "CPU, µs", "there", "ratio", "quartiles", "target", ""}}
	base := &nodes{program: filepath.Join(n.dir, "base"), dir: filepath.Join(n.dir, "of-base"), shift: baseShift}
	if err := process.Build(o.base, base.program); err != nil {
		return t, err
	}
	defer base.kill()
	for _, c := range []*nodes{n, base} {
		if _, err := c.start("PING"); err != nil {
			return t, err
		}
	}
	if only.MatchString("idle") {
		if err := idleOver(o, n, base, t); err != nil {
			return t, err
		}
	}
	list := slices.DeleteFunc(cases(o.capacity), func(c benchCase) bool { return !only.MatchString(c.name) })
	builder, err := process.Start(builderPort, n.program, "serve", "--log-level", "error", "--addr", fmt.Sprintf("127.0.0.1:%d", builderPort), "--dir", "")
	if err != nil {
		return t, err
	}
	err = fillRead(o, builder, list, n.all[0].Addr(), base.all[0].Addr())
	builder.Stop()
	if err != nil {
		return t, err
	}
	results, err := takeTurns(o, n.all[:logNodes], base.all[:logNodes], list)
	for _, r := range results {
		each := func(runs []oneRun) []float64 { return each(runs, func(x oneRun) float64 { return x.cpu * 1e6 }) }
		overRow(t, r.c.name, "%.2f", each(r.cluster), each(r.local))
	}
	return t, err
}

// idleOver compares what nodes take that nobody uses.
func idleOver(o options, n, base *nodes, t *report.Table) error {
	all, err := idle(o, append(slices.Clone(n.all[:logNodes]), base.all[:logNodes]...))
	if err != nil {
		return err
	}
	here, there := all[:logNodes], all[logNodes:]
	overRow(t, "an idle node: of a processor, %", "%.2f", each(here, idleNode.percent), each(there, idleNode.percent))
	overRow(t, "an idle node: memory, MB", "%.0f", each(here, idleNode.megabytes), each(there, idleNode.megabytes))
	return nil
}

// overRow adds a row of what was measured in turns, in a format of fmt.
func overRow(t *report.Table, name, format string, here, there []float64) {
	ratios := make([]float64, len(here))
	for i := range here {
		ratios[i] = here[i] / there[i]
	}
	middle := report.Median(ratios)
	t.Row(name, fmt.Sprintf(format, report.Median(here)), fmt.Sprintf(format, report.Median(there)), fmt.Sprintf("**%.2f**", middle),
		report.Quartiles(ratios, "%.2f"), fmt.Sprintf("≤ %g", overBase), verdict(middle <= overBase))
}
