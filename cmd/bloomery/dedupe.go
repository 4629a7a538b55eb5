package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/cmd/bloomery/internal/dedupe"
	"github.com/bloomery/bloomery/sizing"
)

// dedupeReserve is what of --max-memory is left to the program itself, its
// buffers and the blocks of lines on their way.
const dedupeReserve = 20 << 20

// leastDedupe is the least --max-memory: with less, the program itself would
// leave no room for what was seen.
const leastDedupe = 48_000_000

// dedupeOptions are the flags of dedupe.
type dedupeOptions struct {
	inputFlags
	keys      number[uint64]
	rate      number[float64]
	maxMemory number[int64]
	seenBytes number[int64] // of maxMemory, for what was seen
	delimiter string
	columns   string
	state     string
	temp      string
	header    bool
	invert    bool
	exact     bool
	count     bool
	given     func(flag string) bool
}

func newDedupe() *cobra.Command {
	o := &dedupeOptions{keys: countFlag(), rate: rateFlag("1e-6"), maxMemory: sizeFlag("64M"), seenBytes: sizeFlag("")}
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

--max-memory is for the whole program, 48M or more; a line longer than that is read all
the same, up to --max-line. -n says how many different lines to expect: if they do not
fit at -p, dedupe says so before it reads anything.

With -k only some columns are compared: 2, or 1,3, or 2-4, or 3-. They are parted by the
text after -d, a tab if there is none; quotes have no meaning.
--state carries what was seen from run to run. The file is replaced when all lines were
written, also with the exit code 3, and is as it was after any other error.`,
		Example: `  bloomery dedupe access.log > unique.log
  bloomery dedupe -d , -k 2 --header users.csv
  bloomery dedupe --exact --count words.txt
  bloomery dedupe --state seen.state access.log > new.log`,
		Args: cobra.ArbitraryArgs,
	}
	newShell(cmd, func(ctx context.Context, s *shell, args []string) error { return o.run(ctx, s, args) })
	f := cmd.Flags()
	f.Var(&o.maxMemory, "max-memory", "memory for the whole program, 48M or more")
	f.Var(&o.seenBytes, "seen-memory", "memory for what was seen, without the program: small ones are for tests")
	_ = f.MarkHidden("seen-memory") // it is defined above
	f.VarP(&o.rate, "rate", "p", "error rate of the filter, 1e-6 or more")
	f.VarP(&o.keys, "keys", "n", "different lines to expect: if hashes of so many do not fit, begin with the filter; refused if that does not hold them")
	f.BoolVar(&o.exact, "exact", false, "compare lines, not hashes: no line is dropped wrongly")
	f.BoolVarP(&o.count, "count", "c", false, "write how often each line came, and a tab, in front of it; needs --exact")
	f.StringVar(&o.temp, "temp", "", "where --exact makes its temporary folder (default that of the system)")
	f.StringVarP(&o.delimiter, "delimiter", "d", "", `what parts columns, \t and \x00 are known (default a tab)`)
	f.StringVarP(&o.columns, "columns", "k", "", "columns to compare: 2, 1,3, 2-4, 3-")
	f.BoolVar(&o.header, "header", false, "the first line of each file is a header: write that of the first file only")
	f.BoolVarP(&o.invert, "invert", "v", false, "write the lines that came before instead of the new ones")
	f.StringVar(&o.state, "state", "", "file that carries what was seen from run to run")
	o.bind(f)
	o.given = f.Changed
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
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(o.maxMemory.value))
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
		err = writeFile(o.state, &stateWriter{ctx, job.Seen, job.Key})
	}
	if err != nil {
		return about("", err)
	}
	stop()
	r := dedupeJSON{In: sum.In, Out: sum.Out, Dropped: sum.Dropped, Bytes: sum.Bytes, Exact: o.exact}
	if job.Exact != nil {
		r.Spilled = job.Exact.Spilled()
	} else {
		old := sum.Dropped
		if o.invert {
			old = sum.Out
		}
		r.seen(job.Seen, before, old)
	}
	return o.tell(s, r)
}

// job returns the job that the flags ask for, without input and memory.
func (o *dedupeOptions) job() (*dedupe.Job, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	j := &dedupe.Job{Header: o.header, Duplicates: o.invert}
	if o.columns != "" {
		columns, err := dedupe.ParseColumns(o.columns)
		if err != nil {
			return nil, about("", err)
		}
		j.Key = dedupe.Key{Columns: columns, Delimiter: "\t"}
		if o.given("delimiter") {
			if j.Key.Delimiter, err = unescape(o.delimiter); err != nil {
				return nil, fmt.Errorf("-d %s: %w", o.delimiter, err)
			}
		}
	}
	if o.exact {
		j.Exact = &dedupe.Exact{Memory: o.memory(), Temp: o.temp, Count: o.count}
	}
	return j, nil
}

// check refuses flags that make no sense, alone or together.
func (o *dedupeOptions) check() error {
	switch {
	case o.maxMemory.value < leastDedupe:
		return hinted{fmt.Errorf("--max-memory %s is below 48M", o.maxMemory.text), "it is for the whole program, which needs 20M for itself"}
	case o.count && !o.exact:
		return hinted{errors.New("--count needs --exact"), "hashes and filters tell that a line came before, not how often"}
	case o.count && o.invert:
		return errors.New("--count and --invert exclude each other")
	case o.exact && o.state != "":
		return errors.New("--state keeps hashes, so --exact and --state exclude each other")
	case o.exact && (o.given("rate") || o.given("keys")):
		return errors.New("-p and -n are for a filter, and --exact has none: they exclude each other")
	case o.given("temp") && !o.exact:
		return errors.New("--temp needs --exact")
	case o.given("columns") && o.columns == "":
		return errors.New("-k: which columns?")
	case o.given("delimiter") && o.delimiter == "":
		return errors.New("-d: an empty text parts nothing")
	case o.given("delimiter") && o.columns == "":
		return hinted{errors.New("-d without -k"), "say which columns to compare: -k 2"}
	case o.state == "-" || o.state == "" && o.given("state"):
		return errors.New("--state needs a file")
	case !o.exact && o.rate.value < sizing.MinBlockedRate:
		return hinted{fmt.Errorf("-p %s is below 1e-6", o.rate.text), "--exact never drops a line wrongly"}
	}
	return o.checkState()
}

// checkState looks for the folder of the state: an hour later is too late.
func (o *dedupeOptions) checkState() error {
	if o.state == "" {
		return nil
	}
	folder := filepath.Dir(followed(o.state))
	info, err := os.Stat(folder)
	switch {
	case err != nil:
		return about("--state "+o.state, fmt.Errorf("%s: %w", folder, cause(err)))
	case !info.IsDir():
		return fmt.Errorf("--state %s: %s is no folder", o.state, folder)
	}
	return nil
}

// memory is what may be used for what was seen.
func (o *dedupeOptions) memory() int {
	if o.seenBytes.value > 0 {
		return int(min(o.seenBytes.value, math.MaxInt))
	}
	return int(min(o.maxMemory.value-dedupeReserve, math.MaxInt))
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
	c := dedupe.Config{
		Memory: o.memory(), ErrorRate: o.rate.value, Expected: int(min(o.keys.value, math.MaxInt)),
	}
	if err := o.holds(c); err != nil {
		return nil, err
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

// holds says no if more lines are expected than the filter holds at the rate
// asked.
func (o *dedupeOptions) holds(c dedupe.Config) error {
	if c.Expected == 0 {
		return nil
	}
	most := c.Capacity()
	if most == 0 || c.Expected <= most {
		return nil // 0 is an error that New tells
	}
	hint := "take --exact"
	if shape, err := sizing.Blocked.Size(uint64(c.Expected), c.ErrorRate); err == nil {
		const slack = 64 << 10 // of the array
		hint = fmt.Sprintf("give --max-memory %dM, a higher -p, or take --exact", (shape.Bits/8+slack+dedupeReserve)/1_000_000+1)
	}
	return hinted{
		fmt.Errorf("-n %s: --max-memory has room for %s different lines at the error rate %s", o.keys.text, grouped(uint64(most)), o.rate.text),
		hint,
	}
}
