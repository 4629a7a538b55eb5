// The command dedupe: its flags, its memory and its state.

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/cmd/bloomery/internal/dedupe"
	"github.com/bloomery/bloomery/cmd/bloomery/internal/lines"
	"github.com/bloomery/bloomery/internal/memory"
	"github.com/bloomery/bloomery/sizing"
)

// dedupeReserve is what of --max-memory is left to the program itself, its
// buffers and the blocks of lines on their way, and reserveShare is its share of
// a large --max-memory: long lines need more. programBytes of it are for code and
// constants, which Go's memory limit does not count. All of them are fixed, since
// the size of a --state follows from them: it must not depend on the machine.
const (
	dedupeReserve = 40 << 20
	programBytes  = 22 << 20
	reserveShare  = 16
)

// leastDedupe is the least --max-memory: with less, the program itself would
// leave no room for what was seen.
const leastDedupe = 64_000_000

// dedupeOptions are the flags of dedupe.
type dedupeOptions struct {
	inputFlags
	outputFlags
	keys      number[uint64]
	rate      number[float64]
	maxMemory number[int64]
	seenBytes number[int64] // of maxMemory, for what was seen
	state     string
	temp      string
	invert    bool
	exact     bool
	count     bool
	window    time.Duration
}

func newDedupe() *cobra.Command {
	o := &dedupeOptions{keys: countFlag(), rate: rateFlag(""), maxMemory: sizeFlag(""), seenBytes: sizeFlag("")}
	cmd := &cobra.Command{
		Use:     "dedupe [--rate P | --exact] [-k COLUMNS] [-o FILE] [FILE...]",
		Aliases: []string{"uniq"},
		Short:   "Drop duplicate lines, keep their order, lose none",
		Long: `dedupe writes each line of the files, or of standard input, the first time that
it occurs: at once, and in the order of the input, which need not be sorted.
Files may be compressed by gzip, zstd or bzip2. Lines that end with CR LF equal
those that end with LF, and are written as they stand.

It keeps a hash of each different line, in 11 to 13 bytes. When they fill
--max-memory, dedupe says so: duplicates of the lines before are still dropped
at once, all other lines are undecided, go to a temporary folder, and the new
ones among them come at the end, in their order. No line is lost, except by a
collision of hashes, of which 84 bits or more are compared, with a new seed in
each run: its probability is less than 1 in 10^11 for ten million different
lines, and less than 1 in 10^7 for a billion. --exact compares whole lines
instead of hashes, in the same way and in more memory.

--rate P saves memory, and writes every line without delay, but loses some
lines: it is for endless streams. When memory is full a Bloom filter takes over,
with the false positive rate P at its capacity: that share of new lines is
dropped as duplicates. At the end dedupe prints the expected number of unique
lines lost; if there were more lines than the filter holds at P, the exit code
is 3. -n is the number of different lines to expect: if they do not fit at P,
dedupe says so before it reads anything.

--window D, with --rate and -n, is for streams: a line is a duplicate if it
occurred in the last D, and is forgotten after D to 7/6 of D. -n is then the
number of different lines in D, for which the filter is made at once; if there
are more, the exit code is 3.

--max-memory is for the whole program, 64M or more, by default half of what the
machine, the container or ulimit allows; a line longer than that is read all the
same, up to --max-line.

With -k only some columns are compared: 2, or 1,3, or 2-4, or 3-; or email,id by
the names in the header, which must be at the same place in all files. They are
separated by the text after -d, a tab if there is none. With --csv they are
separated by commas, and may be in quotes; then a record may have several lines.

-o may be one of the files that are read: it is replaced at the end.

--state carries what was seen from run to run; it must fit into memory, else the
exit code is 3. Two runs with one state wait for each other. The file is
replaced when all lines were written, with --rate also if the exit code is 3,
and is unchanged after any error.`,
		Example: `  bloomery dedupe access.log > unique.log
  bloomery dedupe --csv -k mail users.csv
  bloomery dedupe --exact --count words.txt
  bloomery dedupe --rate 1e-6 --max-memory 64M access.log
  bloomery dedupe --window 24h -n 1e6 --rate 0.1% access.log
  bloomery dedupe --state seen.state -o new.log access.log
  bloomery dedupe -o access.log access.log`,
		Args: cobra.ArbitraryArgs,
	}
	newShell(cmd, func(ctx context.Context, s *shell, args []string) error { return o.run(ctx, s, args) }).bindSummary(cmd)
	f := cmd.Flags()
	f.Var(&o.maxMemory, "max-memory", "memory for the whole program, 64M or more (default half of the memory)")
	f.Var(&o.seenBytes, "seen-memory", "memory for what was seen, without the program: small ones are for tests")
	_ = f.MarkHidden("seen-memory") // it is defined above
	f.VarP(&o.rate, "rate", "p", "allow lines to be lost: false positive rate of a filter that takes over when memory is full, 1e-6 or more")
	f.VarP(&o.keys, "keys", "n", "with --rate, different lines to expect: if their hashes do not fit, start with the filter; refused if that does not hold them")
	f.BoolVar(&o.exact, "exact", false, "compare whole lines, not hashes")
	f.BoolVarP(&o.count, "count", "c", false, "write how often each line occurs, and a tab, in front of it; needs --exact")
	f.StringVar(&o.temp, "temp", "", "`FOLDER` for temporary files (default that of the system)")
	f.BoolVarP(&o.invert, "invert", "v", false, "write the duplicates instead of the new lines")
	durationVar(f, &o.window, "window", 0, "forget lines that did not occur for the `DURATION`: 90m, 24h, 7d; needs --rate and -n")
	f.StringVar(&o.state, "state", "", "`FILE` that carries what was seen from run to run")
	f.StringVarP(&o.output, "output", "o", "-", "`FILE` to write; - is standard output")
	bindOverwrite(f, &o.overwrite)
	o.bind(f)
	f.Lookup("ignore-case").Usage = "compare in lower case; lines are written as they are read"
	f.Lookup("header").Usage = "the first line of each file is a header: write that of the first file only; -k with names implies it"
	return cmd
}

func (o *dedupeOptions) run(ctx context.Context, s *shell, args []string) error {
	addresses := memory.Addresses()
	if o.maxMemory.text == "" {
		o.maxMemory.value = max(leastDedupe, int64(min(memory.Limit()/2, addresses-min(addresses, threadAddresses))))
	}
	if err := o.checkAddresses(addresses); err != nil {
		return err
	}
	job, err := o.job(s)
	if err != nil {
		return err
	}
	files, err := s.files(args)
	if err != nil {
		return err
	}
	if err := errors.Join(o.checkFiles(s, files), o.checkTemp(s)); err != nil {
		return err
	}
	if o.state != "" {
		unlock, err := s.lockFile(ctx, o.state)
		if err != nil {
			return err
		}
		defer unlock()
	}
	// What was seen lies outside of the heap: the collector has the rest.
	limit := o.reserve() - programBytes
	if job.Recent != nil {
		limit = o.maxMemory.value - programBytes // its filter is on the heap
	}
	defer limitHeap(limit)()
	before, err := o.remember(job)
	if err != nil {
		return err
	}
	defer forget(job)
	if job.Input, err = o.input(s, files); err != nil {
		return err
	}
	stop := s.progress("dedupe", job.Input, o.output == "-")
	defer stop()
	sum, err := o.write(ctx, s, job)
	if err == nil && o.state != "" {
		err = writeFile(o.state, &stateWriter{ctx, job})
	}
	if err != nil {
		return o.explain(err)
	}
	stop()
	o.warnUnseparated(s, sum.In, sum.Separated)
	return o.report(s, o.result(job, sum, before))
}

// write runs the job with its output.
func (o *dedupeOptions) write(ctx context.Context, s *shell, job *dedupe.Job) (sum dedupe.Summary, err error) {
	if o.output == "-" {
		job.Out = s.data(ctx)
		return job.Run(ctx)
	}
	var failed error
	err = writeFile(o.output, writerTo(func(w io.Writer) error {
		job.Out = w
		if sum, failed = job.Run(ctx); failed == nil {
			failed = s.checkOutput(o.output, o.overwrite)
		}
		return failed
	}))
	if failed != nil {
		err = failed // which is not about the output
	}
	return sum, err
}

// explain adds what to do about an error of a run.
func (o *dedupeOptions) explain(err error) error {
	if errors.Is(err, bloomery.ErrFull) {
		return hinted{
			fmt.Errorf("%w: --state %s: more different lines than fit into memory; the state is as it was", errLimit, o.state),
			"give more with --max-memory, or lose lines with --rate",
		}
	}
	if dedupe.IsTemporary(err) {
		return hinted{about("", err), "choose another place for the temporary folder with --temp"}
	}
	return about("", err)
}

// forget gives the memory of a job back, and removes its temporary folder.
func forget(job *dedupe.Job) {
	if job.Exact != nil {
		_ = job.Exact.Close() // all lines are written, or an error comes first
	}
	if job.Seen != nil {
		_ = job.Seen.Close()
	}
}

// job returns the job that the flags ask for, without input and memory.
func (o *dedupeOptions) job(s *shell) (*dedupe.Job, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	if err := o.parseKey(); err != nil {
		return nil, err
	}
	j := &dedupe.Job{Duplicates: o.invert, Key: o.compared}
	if o.window != 0 {
		j.Recent = &dedupe.Recent{
			Span: o.window, Keys: int(min(o.keys.value, math.MaxInt)), ErrorRate: o.rate.value, Memory: o.memory(), Now: time.Now,
		}
		return j, nil
	}
	if !o.given("rate") {
		j.Exact = &dedupe.Exact{
			Memory: o.memory(), Temp: o.temp, Seed: rand.Uint64(), Texts: o.exact, Count: o.count, Key: j.Key, Bounded: o.state != "",
			Spilling: func(distinct uint64) {
				s.say("memory is full with %s: lines that are not among them are undecided, and come at the end", plural(distinct, "different line"))
			},
		}
	}
	return j, nil
}

// check refuses flags that make no sense, alone or together.
func (o *dedupeOptions) check() error {
	switch {
	case o.maxMemory.value < leastDedupe:
		return hinted{fmt.Errorf("--max-memory %s is below 64M", o.maxMemory.text), "it is for the whole program, which needs 40M for itself"}
	case o.count && !o.exact:
		return hinted{errors.New("--count needs --exact"), "hashes show that a line occurred before, not how often"}
	case o.count && o.invert:
		return errors.New("--count and --invert exclude each other")
	case o.exact && o.state != "":
		return errors.New("--state keeps hashes, so --exact and --state exclude each other")
	case o.exact && o.given("rate"):
		return errors.New("--rate loses lines and --exact does not: they exclude each other")
	case o.given("keys") && !o.given("rate"):
		return hinted{errors.New("-n needs --rate"), "without --rate no line is lost, whatever their number"}
	case o.given("temp") && o.given("rate"):
		return errors.New("--rate needs no temporary folder: --temp and --rate exclude each other")
	case o.given("temp") && o.state != "":
		return errors.New("--state needs no temporary folder: --temp and --state exclude each other")
	case o.given("window") && o.window < time.Second:
		return fmt.Errorf("--window %v is below a second", o.window)
	case o.given("window") && (!o.given("rate") || !o.given("keys")):
		return hinted{errors.New("--window needs --rate and -n"), "-n is the number of different lines in that time"}
	case o.given("window") && o.state != "":
		return errors.New("--window forgets and --state keeps: they exclude each other")
	case o.state == "-" || o.state == "" && o.given("state"):
		return errors.New("--state needs a file")
	case o.output == "":
		return errors.New("-o needs a file; - is standard output")
	case o.given("rate") && o.rate.value < sizing.MinBlockedRate:
		return hinted{fmt.Errorf("--rate %s is below 1e-6", o.rate.text), "without --rate no line is lost"}
	}
	return checkFolder("--state", o.state)
}

// threadAddresses is what the threads and the heap of the program may still map beside --max-memory: Go ends
// a process whose heap has no addresses.
const threadAddresses = 192 << 20

// checkAddresses says what is needed if ulimit -v leaves too few addresses.
func (o *dedupeOptions) checkAddresses(left uint64) error {
	need := uint64(o.maxMemory.value) + threadAddresses
	if left >= need {
		return nil
	}
	text := fmt.Sprintf("ulimit -v has to be at least %s higher", bytesText(need-left))
	if o.maxMemory.value > leastDedupe {
		text += ", or --max-memory lower: 64M are the least"
	}
	return hinted{fmt.Errorf("ulimit -v leaves %s of addresses, and %s are needed", bytesText(left), bytesText(need)), text}
}

// checkFiles refuses what would overwrite a file, or lose the output.
func (o *dedupeOptions) checkFiles(s *shell, files []string) error {
	if err := notInput(o.state, files); err != nil {
		return err
	}
	if o.output == "-" {
		return s.checkStdout()
	}
	if err := notInput(o.output, []string{o.state}); err != nil {
		return err
	}
	if notInput(o.output, files) != nil { // in its place: it is read to its end before it is replaced
		if err := checkPlain(o.output); err != nil {
			return err
		}
		o.overwrite = true
	}
	return s.checkOutput(o.output, o.overwrite)
}

// checkPlain refuses to replace a compressed file by what is in it.
func checkPlain(name string) error {
	head, err := headBytes(name)
	if err != nil {
		return err
	}
	if format, command := lines.Compression(head); format != "" {
		return hinted{
			fmt.Errorf("%s is compressed by %s, and would be replaced by plain lines", name, format),
			fmt.Sprintf("write to another file: %s %s | bloomery dedupe -o FILE", command, name),
		}
	}
	return nil
}

// checkTemp makes a temporary folder and removes it: when memory is full, hours
// later, is too late for an error.
func (o *dedupeOptions) checkTemp(s *shell) error {
	if o.given("rate") || o.state != "" {
		return nil
	}
	dir, err := os.MkdirTemp(o.temp, "bloomery-dedupe-*")
	if err == nil {
		err = os.Remove(dir)
	}
	switch {
	case err == nil:
		return nil
	case o.temp != "":
		return fmt.Errorf("--temp %s: %w", o.temp, cause(err))
	}
	s.warn("no temporary folder if memory is full: %v; choose another place with --temp", err)
	return nil
}

// reserve is what of --max-memory is not used for what was seen.
func (o *dedupeOptions) reserve() int64 { return max(dedupeReserve, o.maxMemory.value/reserveShare) }

// memory is what may be used for what was seen.
func (o *dedupeOptions) memory() int {
	if o.seenBytes.value > 0 {
		return int(min(o.seenBytes.value, math.MaxInt))
	}
	return int(min(o.maxMemory.value-o.reserve(), math.MaxInt))
}

// remember gets the memory of a job, with what the state holds, if there is one.
// It returns how many lines were lost before, by the state of a filter.
func (o *dedupeOptions) remember(job *dedupe.Job) (lost float64, err error) {
	if job.Exact != nil {
		if err := job.Exact.Open(); err != nil {
			return 0, o.tooLarge(err)
		}
		err := o.readState(job.Exact.ReadState)
		if err != nil {
			forget(job)
		}
		return 0, err
	}
	if job.Recent != nil {
		err := job.Recent.Open()
		if errors.Is(err, bloomery.ErrTooLarge) {
			return 0, hinted{about("", err), "give more with --max-memory, a higher --rate, or a shorter --window with a lower -n"}
		}
		return 0, about("", err)
	}
	c := dedupe.Config{
		Memory: o.memory(), ErrorRate: o.rate.value, Expected: int(min(o.keys.value, math.MaxInt)),
	}
	if err := o.holds(c); err != nil {
		return 0, err
	}
	err = o.readState(func(r io.Reader) (err error) {
		job.Seen, err = c.ReadState(r, job.Key)
		return err
	})
	if err == nil && job.Seen == nil {
		if job.Seen, err = c.New(); err != nil {
			err = o.tooLarge(err)
		}
	}
	if err != nil {
		return 0, err
	}
	return job.Seen.Wrong(), nil
}

// tooLarge adds what to do if memory cannot be had.
func (o *dedupeOptions) tooLarge(err error) error {
	if errors.Is(err, bloomery.ErrTooLarge) && o.maxMemory.text == "" {
		return hinted{about("", err), "give less with --max-memory"}
	}
	return about("", err)
}

// readState reads the state, unless there is none yet.
func (o *dedupeOptions) readState(read func(io.Reader) error) error {
	if o.state == "" {
		return nil
	}
	f, err := os.Open(o.state)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		if err := checkMagic(o.state, stateMagic, "state of bloomery dedupe"); err != nil {
			_ = f.Close() // it was not read
			return err
		}
	}
	if err != nil {
		return about(o.state, cause(err))
	}
	defer f.Close() //nolint:errcheck // it was only read
	err = read(f)
	switch {
	case errors.Is(err, bloomery.ErrTooLarge):
		return hinted{about(o.state, err), "give it the --max-memory that it was made with"}
	case errors.Is(err, dedupe.ErrOtherState) && o.given("rate"):
		return hinted{about(o.state, err), "leave --rate out: the state has lost no line yet"}
	case errors.Is(err, dedupe.ErrOtherState):
		return hinted{about(o.state, err), "give --rate, as when it was made"}
	}
	return about(o.state, cause(err))
}

// holds says no if more lines are expected than the filter holds at the rate
// asked.
func (o *dedupeOptions) holds(c dedupe.Config) error {
	if c.Expected == 0 {
		return nil
	}
	most := c.Capacity()
	if most == 0 || c.Expected <= most {
		return nil // 0 is an error that New returns
	}
	hint := "leave --rate out: no line is lost then"
	if shape, err := sizing.Blocked.Size(uint64(c.Expected), c.ErrorRate); err == nil {
		const slack = 64 << 10 // of the array
		hint = fmt.Sprintf("give --max-memory %dM, a higher --rate, or none: no line is lost then", (shape.Bits/8+slack+dedupeReserve)/1_000_000+1)
	}
	return hinted{
		fmt.Errorf("-n %s: --max-memory has room for %s different lines at the false positive rate %s", o.keys.text, grouped(uint64(most)), o.rate.text),
		hint,
	}
}
