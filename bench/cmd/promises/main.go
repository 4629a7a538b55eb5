// Command promises asks every library for error rates, gives it bad
// parameters and damaged files, and writes down what came of it in
// docs/evidence/promises.md.
//
//	go run ./cmd/promises -results results/promises.jsonl -out ../docs/evidence/promises.md
//
// Each row is a line of the results file as soon as it was measured. A later
// run leaves out what is there, unless it asks for more queries or has -again,
// and the document is written from all that the file holds: so a run can be
// interrupted, and one part be done again.
//
// It ends with status 1 if a filter of this module broke a promise.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"runtime"
	"strings"
	"time"
)

// errBroken means that a filter of ours did not keep its word.
var errBroken = errors.New("a filter of this module broke a promise")

// options are the flags.
type options struct {
	out     string
	results string
	again   bool
	rows    bool
	only    *regexp.Regexp
	ours    float64 // queries of ours, times 1/p
	peers   float64 // queries of a peer, times 1/p
	most    float64 // queries of a peer in a row
	quick   bool
	largest int // keys
	timeout time.Duration
	workers int
}

func main() {
	if h := os.Getenv(childVariable); h != "" {
		child(h, os.Stdout)
		return
	}
	if err := run(context.Background(), os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "promises:", err)
		os.Exit(1)
	}
}

// run is the whole program.
func run(ctx context.Context, args []string, stdout io.Writer) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	known, err := open(ctx, o.results)
	if err != nil {
		return err
	}
	// Bad input takes minutes, the rows take hours.
	if err := errors.Join(provoke(ctx, o, known), measure(o, known), known.Tidy()); err != nil {
		return err
	}
	d := gather(known)
	if o.rows {
		_, err = io.WriteString(stdout, d.everyRow())
	} else {
		err = d.markdown().Write(o.out, stdout, "")
	}
	if err != nil {
		return err
	}
	if broken := d.broken(); len(broken) > 0 {
		return fmt.Errorf("%w: %s", errBroken, strings.Join(broken, "; "))
	}
	return nil
}

func parse(args []string) (options, error) {
	flags := flag.NewFlagSet("promises", flag.ContinueOnError)
	var o options
	var only string
	flags.StringVar(&o.out, "out", "", "write the document to this `file` instead of standard output")
	flags.StringVar(&o.results, "results", "", "keep results in this `file`, and go on from what it holds")
	flags.BoolVar(&o.again, "again", false, "measure again what the results file holds")
	flags.BoolVar(&o.rows, "rows", false, "print every row instead of the document")
	flags.StringVar(&only, "only", "", "run only the rows whose names match this `regexp`, as in \"blobloom/rate=1e-06/user/n=1000\"")
	flags.BoolVar(&o.quick, "quick", false, "few queries and at most 1,000 keys, for development")
	flags.Float64Var(&o.ours, "queries", 10_000, "queries of our filters, times 1/rate")
	flags.Float64Var(&o.peers, "peer-queries", 1000, "queries of other libraries, times 1/rate")
	flags.Float64Var(&o.most, "peer-most", 2e9, "queries of other libraries in one row, at most")
	flags.IntVar(&o.largest, "largest", 10_000_000, "leave out rows with more `keys`")
	flags.DurationVar(&o.timeout, "timeout", 10*time.Second, "what takes longer with bad input hangs")
	flags.IntVar(&o.workers, "workers", runtime.GOMAXPROCS(0), "rows that are measured at the same time")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if o.quick {
		o.ours, o.peers, o.most = min(o.ours, 100), min(o.peers, 100), min(o.most, 1e6)
		o.largest = min(o.largest, 1000)
	}
	if !(o.ours > 0 && o.peers > 0 && o.most > 0) || o.workers < 1 {
		return o, errors.New("queries and workers must be positive")
	}
	var err error
	o.only, err = regexp.Compile(only)
	return o, err
}

func progress(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }
