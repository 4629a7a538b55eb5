// Command cluster measures a cluster of three nodes on this machine beside a single
// server whose writes are on disk before they are answered, and writes a page of
// figures.
//
//	go run ./cmd/cluster -out ../docs/evidence/benchmarks-cluster.md
//	go run ./cmd/cluster -rounds 1 -time 500ms -keys 100000 -only 'BF.MADD|join'
//
// Both share the processors of one machine with the clients, so figures are ratios
// of processor time, of runs that took turns.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"github.com/bloomery/bloomery/bench/internal/process"
	"github.com/bloomery/bloomery/bench/internal/report"
)

// options are the flags.
type options struct {
	rounds   int
	time     time.Duration
	idle     time.Duration
	capacity uint64
	keys     uint64
	repeats  int
	only     string
	out      string
	root     string
	base     string
	torture  string
	spread   bool
	large    bool
	fill     time.Duration
}

func main() {
	var o options
	flag.IntVar(&o.rounds, "rounds", 5, "interleaved rounds")
	flag.DurationVar(&o.time, "time", 3*time.Second, "how long a run of a round takes")
	flag.DurationVar(&o.idle, "idle", time.Minute, "how long the cluster is left alone before, and again while, its idle cost is read")
	flag.Uint64Var(&o.capacity, "capacity", 10_000_000, "keys of the filters of a round")
	flag.Uint64Var(&o.keys, "keys", 100_000_000, "keys of the cluster that a node joins")
	flag.IntVar(&o.repeats, "repeats", 3, "how often a node joins, and all nodes are killed")
	flag.StringVar(&o.only, "only", "", "regular expression of what to measure: idle, join, restart, or names of the rows with commands; with -spread: idle, memory, join; with -large: moves, backup")
	flag.StringVar(&o.out, "out", "", "write the document to this `file` instead of standard output")
	flag.StringVar(&o.root, "root", "..", "the repository")
	flag.StringVar(&o.base, "base", "", "compare with a cluster of the repository in this `folder`, of another commit, instead, and print a table")
	flag.StringVar(&o.torture, "torture", "docs/evidence/torture.md", "report of make torture, a `file` of the repository")
	flag.BoolVar(&o.spread, "spread", false, "measure six nodes whose contents are spread instead, and print a table")
	flag.BoolVar(&o.large, "large", false, "fill a filter that is larger than a node with -keys of its keys instead, and print a table")
	flag.DurationVar(&o.fill, "fill", 15*time.Minute, "how long keys are added with -large, unless all are before")
	flag.Parse()
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, "cluster:", err)
		os.Exit(1)
	}
}

func run(o options) error {
	only, err := regexp.Compile(o.only)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "bench-cluster")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // it is a temporary folder
	n := &nodes{program: filepath.Join(dir, "bloomery"), dir: dir}
	if err := process.Build(o.root, n.program); err != nil {
		return err
	}
	defer n.kill()
	if o.spread || o.large || o.base != "" {
		measure, doc := measureSpread, report.New("Contents that are spread", "make bench-spread")
		switch {
		case o.base != "":
			measure, doc = measureBase, report.New("Clusters of two commits", "make bench-base")
		case o.large:
			measure = measureLarge
		}
		t, err := measure(o, n, only)
		doc.Table(t)
		return errors.Join(err, doc.Write(o.out, os.Stdout, ""))
	}
	f, failed := measureAll(o, n, only)
	doc := page(o, f)
	if failed != nil { // what was measured before counts
		doc.Text(fmt.Sprintf("**The run ended early: %v.**", failed))
	}
	return errors.Join(failed, doc.Write(o.out, os.Stdout, ""))
}

// figures is all that was measured. What was not is nil.
type figures struct {
	start   time.Duration // of a new cluster, until all nodes served
	idle    []idleNode
	results []result
	joins   []joined
	ends    []restarted
}

// measureAll measures what only names, in an order in which nothing disturbs what
// follows.
func measureAll(o options, n *nodes, only *regexp.Regexp) (f figures, err error) {
	took, err := n.start("PING")
	if err != nil {
		return f, err
	}
	f.start = slices.Max(took)
	if only.MatchString("idle") {
		if f.idle, err = idle(o, n.all[:logNodes]); err != nil {
			return f, fmt.Errorf("idle: %w", err)
		}
	}
	list := slices.DeleteFunc(cases(o.capacity), func(c benchCase) bool { return !only.MatchString(c.name) })
	if len(list) > 0 {
		if f.results, err = measure(o, n, list); err != nil {
			return f, err
		}
	}
	join, restart := only.MatchString("join"), only.MatchString("restart")
	if join || restart {
		if err := fillCluster(o, n); err != nil {
			return f, fmt.Errorf("fill: %w", err)
		}
	}
	for i := 0; join && i < o.repeats; i++ {
		j, err := joinOne(o, n, i)
		if err != nil {
			return f, fmt.Errorf("join: %w", err)
		}
		f.joins = append(f.joins, j)
	}
	for i := 0; restart && i < o.repeats; i++ {
		r, err := restartAll(o, n, i)
		if err != nil {
			return f, fmt.Errorf("restart: %w", err)
		}
		f.ends = append(f.ends, r)
	}
	return f, nil
}
