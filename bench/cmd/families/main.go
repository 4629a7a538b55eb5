// Command families measures the families of this module that are no plain
// Bloom filters beside those of other libraries, and writes
// docs/evidence/benchmarks-families.md.
//
//	go run ./cmd/families -results results/families.jsonl -out ../docs/evidence/benchmarks-families.md
//
// It starts itself once for each experiment. In an experiment the loops take
// turns: a round runs every loop once, and the fastest of its rounds counts.
// Only times of the same experiment are compared. Results are kept line by
// line: a later run leaves out the experiments that are there, unless it has
// -again, and the document is written from all of them.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"time"

	"github.com/bloomery/bloomery/bench/internal/report"
	"github.com/bloomery/bloomery/bench/internal/results"
)

// childVariable holds the name of the experiment that a process is for.
const childVariable = "BLOOMERY_FAMILIES_RUN"

// options are the flags.
type options struct {
	out     string
	results string
	again   bool
	quick   bool
	only    *regexp.Regexp
	rounds  int
	most    int    // keys
	corpora string // folder of fetched data
}

func main() {
	if err := run(context.Background(), os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "families:", err)
		os.Exit(1)
	}
}

// run is the whole program.
func run(ctx context.Context, args []string, stdout io.Writer) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	if name := os.Getenv(childVariable); name != "" {
		figures, err := named(name).measure(ctx, o)
		return errors.Join(err, json.NewEncoder(stdout).Encode(figures))
	}
	known, err := results.Open(o.results, func(r record) string { return r.Name })
	if err != nil {
		return err
	}
	stamp := record{
		Commit: report.Commit(ctx), Date: time.Now().UTC().Format(time.DateOnly),
		Go: runtime.Version(), CPU: report.CPU(), Rounds: o.rounds, Quick: o.quick,
	}
	for _, e := range experiments() {
		_, there := known.Get(e.name())
		if !o.only.MatchString(e.name()) || e.keys > o.most || there && !o.again {
			continue
		}
		start := time.Now()
		one, err := e.apart(ctx, args, stamp)
		if err != nil {
			return err
		}
		fmt.Fprintf(os.Stderr, "%s (%v)\n", e.name(), time.Since(start).Round(time.Second))
		if err := known.Add(one); err != nil {
			return err
		}
	}
	if err := known.Tidy(); err != nil {
		return err
	}
	d := gather(known)
	all, _ := d.aims()
	return d.markdown().Write(o.out, stdout, all.String())
}

// apart runs one experiment in a process of its own: memory that a Go program
// used before comes back without huge pages.
func (e experiment) apart(ctx context.Context, args []string, stamp record) (record, error) {
	self, err := os.Executable()
	if err != nil {
		return record{}, err
	}
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, self, args...)
	cmd.Env = append(os.Environ(), childVariable+"="+e.name())
	cmd.Stdout, cmd.Stderr = &out, os.Stderr
	if err := cmd.Run(); err != nil {
		return record{}, fmt.Errorf("%s: %w", e.name(), err)
	}
	stamp.Name = e.name()
	return stamp, json.Unmarshal(out.Bytes(), &stamp.Figures)
}

func parse(args []string) (options, error) {
	flags := flag.NewFlagSet("families", flag.ContinueOnError)
	var o options
	var only string
	flags.StringVar(&o.out, "out", "", "write the document to this `file` instead of standard output")
	flags.StringVar(&o.results, "results", "", "keep results in this `file`, and go on from what it holds")
	flags.BoolVar(&o.again, "again", false, "measure again what the results file holds")
	flags.BoolVar(&o.quick, "quick", false, "a hundredth of the keys, for development: figures are worth nothing")
	flags.StringVar(&only, "only", "", "run only the experiments whose names match this `regexp`, as in \"cuckoo/n=1000000\"")
	flags.IntVar(&o.rounds, "rounds", 9, "rounds, of which the fastest counts")
	flags.IntVar(&o.most, "largest", 100_000_000, "leave out experiments with more `keys`")
	flags.StringVar(&o.corpora, "corpora", "../corpora", "`folder` for data that is fetched")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if o.rounds < 1 {
		return o, fmt.Errorf("%d rounds are too few", o.rounds)
	}
	var err error
	o.only, err = regexp.Compile(only)
	return o, err
}

// scale returns the number of keys to take where n are meant.
func (o options) scale(n int) int {
	if o.quick {
		return max(1000, n/100)
	}
	return n
}

// pass returns the number of keys of one timing.
func (o options) pass() int {
	if o.quick {
		return 1 << 12
	}
	return 1 << 18
}
