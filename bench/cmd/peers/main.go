// Command peers times the filters of this module beside those of other
// libraries and writes docs/evidence/benchmarks.md.
//
//	go run ./cmd/peers -out ../docs/evidence/benchmarks.md
//
// It starts itself once for each instruction set that the processor has, and
// for each section and size. In each of these runs the loops take turns: a
// round runs every loop once, and the fastest of its rounds counts. Only times
// of the same run are compared.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// childVariable informs a process that it is a run for one instruction set.
const childVariable = "BLOOMERY_PEERS_RUN"

// options are the flags.
type options struct {
	out    string
	times  string
	sizes  []int // MiB
	rounds int
	quick  bool
	only   *regexp.Regexp
}

func main() {
	if err := run(context.Background(), os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

// run is the whole program.
func run(ctx context.Context, args []string, stdout io.Writer) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	if os.Getenv(childVariable) != "" {
		return json.NewEncoder(stdout).Encode(measure(o))
	}
	started := time.Now()
	runs, err := everyTier(ctx, o, args)
	if err != nil {
		return err
	}
	progress("size and error of each library")
	doc := document{o, args, started, runs, accuracy(o)}
	if o.times != "" {
		if err := doc.nanoseconds(ctx).Write(o.times, stdout, ""); err != nil {
			return err
		}
	}
	return doc.markdown(ctx).Write(o.out, stdout, targetTable(verdicts(runs)).String())
}

func parse(args []string) (options, error) {
	flags := flag.NewFlagSet("peers", flag.ContinueOnError)
	var o options
	var sizes, only string
	flags.StringVar(&o.out, "out", "", "write the document to this `file` instead of standard output")
	flags.StringVar(&o.times, "times", "", "write all times to this `file`")
	flags.StringVar(&sizes, "sizes", "1,16,256,1024", "sizes of the arrays in `MiB`")
	flags.IntVar(&o.rounds, "rounds", 25, "rounds, of which the fastest counts")
	flags.BoolVar(&o.quick, "quick", false, "short passes, for development: figures are worth little")
	flags.StringVar(&only, "only", "", "time only the sections that match this `regexp`: "+strings.Join(sectionNames(), ", "))
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	for s := range strings.SplitSeq(sizes, ",") {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 || n&(n-1) != 0 {
			return o, fmt.Errorf("size %q is not a power of two", s)
		}
		o.sizes = append(o.sizes, n)
	}
	if o.rounds < 1 {
		return o, fmt.Errorf("%d rounds are too few", o.rounds)
	}
	var err error
	o.only, err = regexp.Compile(only)
	return o, err
}

// pass is the number of keys of one timing.
func (o options) pass() int {
	if o.quick {
		return 1 << 15
	}
	return 1 << 19
}

func progress(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }
