package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/codec/file"
	"github.com/bloomery/bloomery/internal/dedupe"
)

// What of --max-memory is left to the program itself, its buffers and the
// blocks of lines on their way: half, but no more than those need.
const (
	dedupeShare   = 2
	dedupeReserve = 20 << 20
)

// leastLimit keeps the collector from running all the time for a bound that the
// program cannot keep.
const leastLimit = 32 << 20

// dedupeOptions are the flags of dedupe.
type dedupeOptions struct {
	inputFlags
	keys      number[uint64]
	rate      number[float64]
	maxMemory number[int64]
	delimiter string
	columns   string
	state     string
	temp      string
	header    bool
	invert    bool
	exact     bool
	count     bool
}

func newDedupe() *cobra.Command {
	o := &dedupeOptions{keys: countFlag(), rate: rateFlag("1e-6"), maxMemory: sizeFlag("64M")}
	cmd := &cobra.Command{
		Use:     "dedupe [--max-memory SIZE] [-p P | --exact] [-d D -k COLUMNS] [FILE…]",
		Aliases: []string{"uniq"},
		Short:   "Drop the lines that were there before, in order and in little memory",
		Long: `dedupe writes each line of the files, or of standard input, the first time that it comes:
at once, and in the order of the input, which need not be sorted. Files may be compressed
by gzip or zstd.

It keeps 64-bit hashes of the lines as long as they fit into --max-memory, and goes over
to a Bloom filter with the error rate -p beyond. Both can take a new line for an old one.
At the end dedupe says how many lines it must be expected to have dropped wrongly; if
there were more lines than the filter holds at that rate, the exit code is 3.
--exact never drops a line wrongly: it keeps the lines themselves, and what does not fit
into --max-memory goes through a temporary folder and is written at the end.

--max-memory is for the whole program, from 48M on; a line longer than that is read all
the same, up to --max-line.

With -k only some columns are compared: 2, or 1,3, or 2-4, or 3-. They are parted by the
text after -d, a tab if there is none; quotes have no meaning.
--state carries what was seen from run to run. The file is replaced when all went well.`,
		Example: `  bloomery dedupe access.log > unique.log
  bloomery dedupe -d , -k 2 --header users.csv
  bloomery dedupe --exact --count words.txt
  bloomery dedupe --state seen.state access.log > new.log`,
		Args: cobra.ArbitraryArgs,
	}
	newShell(cmd, func(ctx context.Context, s *shell, args []string) error { return o.run(ctx, s, args) })
	f := cmd.Flags()
	f.Var(&o.maxMemory, "max-memory", "memory for the whole program")
	f.VarP(&o.rate, "rate", "p", "error rate of the filter, 1e-6 or more")
	f.VarP(&o.keys, "keys", "n", "different lines to expect: if hashes of so many do not fit, begin with the filter")
	f.BoolVar(&o.exact, "exact", false, "compare lines, not hashes: no line is dropped wrongly")
	f.BoolVarP(&o.count, "count", "c", false, "write how often each line came, and a tab, in front of it; needs --exact")
	f.StringVar(&o.temp, "temp", "", "where --exact makes its temporary folder (default that of the system)")
	f.StringVarP(&o.delimiter, "delimiter", "d", "", `what parts columns, \t and \x00 are known (default a tab)`)
	f.StringVarP(&o.columns, "columns", "k", "", "columns to compare: 2, 1,3, 2-4, 3-")
	f.BoolVar(&o.header, "header", false, "the first line of each file is a header: write that of the first file only")
	f.BoolVarP(&o.invert, "invert", "v", false, "write the lines that came before instead of the new ones")
	f.StringVar(&o.state, "state", "", "file that carries what was seen from run to run")
	o.bind(f)
	return cmd
}

func (o *dedupeOptions) run(ctx context.Context, s *shell, args []string) error {
	job, err := o.job()
	if err != nil {
		return err
	}
	files, err := s.files(args)
	if err != nil {
		return err
	}
	// The array is most of the memory and is no work for the collector; it must
	// not be the measure for how much garbage may lie about.
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(max(o.maxMemory.value, leastLimit)))
	before := 0.0
	if job.Exact == nil {
		if job.Seen, err = o.seen(job.Key); err != nil {
			return err
		}
		before = job.Seen.Wrong()
	}
	job.Input, job.Out = o.input(s, files), s.out
	stop := s.progress("dedupe", func() (int64, int64) { return job.Input.Done(), job.Input.Total() })
	defer stop()
	sum, err := job.Run(ctx)
	if err == nil && o.state != "" {
		err = about(o.state, file.WriteFile(o.state, &stateWriter{ctx, job.Seen, job.Key}))
	}
	if err != nil {
		return about("", err)
	}
	stop()
	r := dedupeJSON{In: sum.In, Out: sum.Out, Dropped: sum.Dropped, Bytes: sum.Bytes, Exact: o.exact}
	if job.Exact != nil {
		r.Spilled = job.Exact.Spilled()
	} else {
		r.seen(job.Seen, before)
	}
	return o.tell(s, r)
}

// job returns the job that the flags ask for, without input and memory.
func (o *dedupeOptions) job() (*dedupe.Job, error) {
	switch {
	case o.count && !o.exact:
		return nil, hinted{errors.New("--count needs --exact"), "hashes and filters tell that a line came before, not how often"}
	case o.count && o.invert:
		return nil, errors.New("--count and --invert exclude each other")
	case o.exact && o.state != "":
		return nil, errors.New("--state keeps hashes, so --exact and --state exclude each other")
	case o.delimiter != "" && o.columns == "":
		return nil, hinted{errors.New("-d without -k"), "say which columns to compare: -k 2"}
	case o.state == "-":
		return nil, errors.New("--state needs a file")
	}
	j := &dedupe.Job{Header: o.header, Duplicates: o.invert}
	if o.columns != "" {
		columns, err := dedupe.ParseColumns(o.columns)
		if err != nil {
			return nil, about("", err)
		}
		j.Key = dedupe.Key{Columns: columns, Delimiter: "\t"}
		if o.delimiter != "" {
			if j.Key.Delimiter, err = unescape(o.delimiter); err != nil {
				return nil, fmt.Errorf("-d %s: %w", o.delimiter, err)
			}
		}
	}
	if o.exact {
		j.Exact = &dedupe.Exact{Memory: max(o.memory(), dedupe.MinExact), Temp: o.temp, Count: o.count}
	}
	return j, nil
}

// memory is what may be used for what was seen.
func (o *dedupeOptions) memory() int {
	all := o.maxMemory.value
	return int(min(all-min(all/dedupeShare, dedupeReserve), math.MaxInt))
}

// unescape reads a delimiter with the escapes of Go.
func unescape(s string) (string, error) {
	if !strings.Contains(s, `\`) || s == `\` {
		return s, nil
	}
	return strconv.Unquote(`"` + strings.ReplaceAll(s, `"`, `\"`) + `"`)
}

// seen returns the memory for hashes: that of the state, if there is one.
func (o *dedupeOptions) seen(k dedupe.Key) (*dedupe.Seen, error) {
	if o.rate.value < 1e-6 {
		return nil, hinted{fmt.Errorf("-p %s is below 1e-6", o.rate.text), "--exact never drops a line wrongly"}
	}
	c := dedupe.Config{
		Memory: max(o.memory(), dedupe.MinMemory), ErrorRate: o.rate.value, Expected: int(min(o.keys.value, math.MaxInt)),
	}
	if o.state == "" {
		seen, err := c.New()
		return seen, about("", err)
	}
	f, err := os.Open(o.state)
	if errors.Is(err, fs.ErrNotExist) {
		seen, err := c.New()
		return seen, about("", err)
	}
	if err != nil {
		return nil, about(o.state, cause(err))
	}
	defer f.Close() //nolint:errcheck // it was only read
	seen, err := c.ReadState(f, k)
	if errors.Is(err, bloomery.ErrTooLarge) {
		return nil, hinted{about(o.state, err), "give it the --max-memory that it was made with"}
	}
	return seen, about(o.state, cause(err))
}

// stateWriter writes a state until its context is cancelled.
type stateWriter struct {
	ctx  context.Context
	seen *dedupe.Seen
	key  dedupe.Key
}

// WriteTo implements io.WriterTo.
func (w *stateWriter) WriteTo(out io.Writer) (n int64, err error) {
	err = w.seen.WriteState(writerFunc(func(p []byte) (int, error) {
		if err := w.ctx.Err(); err != nil {
			return 0, err
		}
		m, err := out.Write(p)
		n += int64(m)
		return m, err
	}), w.key)
	return n, err
}

// dedupeJSON is what dedupe tells with --json, on standard error.
type dedupeJSON struct {
	In      uint64 `json:"in"`
	Out     uint64 `json:"out"`
	Dropped uint64 `json:"dropped"`
	Bytes   uint64 `json:"bytes"`
	Exact   bool   `json:"exact"`
	Spilled uint64 `json:"spilled"`
	// Distinct is the number of different lines seen, earlier runs included.
	Distinct uint64 `json:"distinct,omitempty"`
	Capacity uint64 `json:"capacity,omitempty"`
	Filter   bool   `json:"filter"`
	// Wrong is the expected number of lines of this run that were taken for
	// old ones and were new.
	Wrong float64 `json:"wrong"`
	// Rate is the share of new lines that would be taken for old ones now.
	Rate float64 `json:"rate"`
}

func (r *dedupeJSON) seen(s *dedupe.Seen, before float64) {
	r.Distinct, r.Filter = uint64(s.Count()), s.Filtered()
	r.Wrong, r.Rate = s.Wrong()-before, s.Rate()
	if r.Filter {
		r.Capacity = uint64(s.Capacity())
	}
}

// tell says what was done. A filter that holds too much is an error, though all
// lines are written.
func (o *dedupeOptions) tell(s *shell, r dedupeJSON) error {
	verb := "dropped"
	if o.invert {
		verb = "written"
	}
	switch {
	case s.quiet:
	case s.asJSON:
		if err := json.NewEncoder(s.errOut).Encode(r); err != nil {
			return err
		}
	case o.exact:
		s.say("%s lines in, %s out, %s dropped; none %s wrongly, %s went through the temporary folder",
			grouped(r.In), grouped(r.Out), grouped(r.Dropped), verb, grouped(r.Spilled))
	default:
		how := "hashes"
		if r.Filter {
			how = "filter"
		}
		s.say("%s lines in, %s out, %s dropped; expected number %s wrongly: %.2g (%s of %s different lines)",
			grouped(r.In), grouped(r.Out), grouped(r.Dropped), verb, r.Wrong, how, grouped(r.Distinct))
	}
	if r.Filter && r.Distinct > r.Capacity {
		return hinted{
			fmt.Errorf("%w: %s different lines, and room for %s at the error rate %s: it is %s by now",
				errLimit, grouped(r.Distinct), grouped(r.Capacity), o.rate.text, rateText(r.Rate)),
			"give more with --max-memory, or take --exact",
		}
	}
	return nil
}
