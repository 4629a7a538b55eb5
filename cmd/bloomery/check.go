// The command check: the lines that are in a filter, like grep.

package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/bloomery/bloomery/cmd/bloomery/internal/lines"
	"github.com/bloomery/bloomery/hashing"
)

// checkOptions are the flags of check.
type checkOptions struct {
	inputFlags
	keyFlags
	formatFlag
	digestFlags
	invert    bool
	count     bool
	numbers   bool
	wholeLine bool // as of grep: a filter has nothing else
	noVerify  bool
	verify    bool          // what is far away
	timeout   time.Duration // for a request
	group     string        // the column of groups
	files     []string
}

func newCheck() *cobra.Command {
	o := &checkOptions{}
	cmd := &cobra.Command{
		Use:     "check F [VALUE...]",
		Aliases: []string{"contains"},
		Short:   "Print the values that are in a filter, like grep",
		Long: `check looks the values, or the lines of standard input, up in the filter in the
file F, and prints those that are (probably) in it; with -v those that certainly
are not. -f reads the lines of a file. A filter has whole lines only, so a part
of one is not found; with -k a line is printed if its columns are in the filter.
With --header, or -k and names of columns, the header of the first file comes
first, except with -n and --json.

-i compares in lower case: build the filter with the same flag. -n and -x are
those of grep.

The exit code is 0 if a value was printed, or would have been with -q or -c,
else 1. Lines come out in their order. With -q the rest of the input is not read
once the answer is known. The filter is mapped and its checksums are verified
first; --no-verify skips that, which is faster if the file is large and the
values are few.

Filters of other systems are recognised by their content: those of Guava,
Parquet, DCSO, bits-and-blooms, RocksDB and Bitcoin. Files of LevelDB and
Cassandra do not show what they are: name the format with --format. See
docs/formats.md.

F may be the address of a file on a web server, as in https://HOST/words.bf.
Only the parts that the values need are read, by range requests: 64 bytes for
each value in a bloom or split filter. Checksums are verified only with
--verify, which reads the MiB around each part. This works for the kinds bloom,
standard, partitioned, split, fuse, ribbon and map.`,
		Example: `  bloomery check words.bf alice bob
  bloomery check -v words.bf < words2.txt
  bloomery check -n -f words2.txt words.bf
  bloomery check --csv -k name -v words.bf < users.csv
  if bloomery check -q words.bf alice; then echo perhaps; fi`,
		Args: between(1, -1, "the filter to ask"),
	}
	newShell(cmd, func(ctx context.Context, s *shell, args []string) error { return o.run(ctx, s, args[0], args[1:]) })
	f := cmd.Flags()
	f.BoolVarP(&o.invert, "invert", "v", false, "print the values that are certainly absent")
	f.BoolVarP(&o.count, "count", "c", false, "print only their number")
	f.BoolVarP(&o.numbers, "line-number", "n", false, "print the number of each line and a colon in front of it, and the name of its file if there are several")
	f.BoolVarP(&o.wholeLine, "line-regexp", "x", false, "match whole lines only, as grep -x; this is always on")
	f.StringArrayVarP(&o.files, "file", "f", nil, "read the values from the lines of `FILE`, - is standard input; may be repeated")
	f.StringVar(&o.group, "group", "", "for a filter that was built with --group: the same `COLUMN`")
	f.BoolVar(&o.noVerify, "no-verify", false, "do not verify the checksums of the filter")
	f.BoolVar(&o.verify, "verify", false, "if F is an address: verify the MiB around each value")
	durationVar(f, &o.timeout, "timeout", 30*time.Second, "if F is an address: how long a request may take")
	o.inputFlags.bind(f)
	o.keyFlags.bind(f)
	o.bindFormat(cmd)
	o.digestFlags.bind(cmd)
	cmd.ValidArgsFunction = firstIsFile
	cmd.Flags().Lookup("quiet").Usage = "print nothing: only the exit code"
	return cmd
}

func (o *checkOptions) run(ctx context.Context, s *shell, name string, values []string) error {
	h, err := o.hasher()
	if err != nil {
		return err
	}
	if isAddress(name) {
		if o.group != "" {
			return errors.New("--group: exact filters are asked in files only")
		}
		return o.runFar(ctx, s, name, h, values)
	}
	name, err = s.located(ctx, name)
	if err != nil {
		return err
	}
	in, err := o.values(s, values)
	if err == nil && o.group != "" {
		err = o.second(in, "group", o.group)
	}
	if err != nil {
		return err
	}
	ask, done, err := o.open(ctx, s, name, h)
	if err != nil {
		return err
	}
	defer done()
	return o.check(ctx, s, in, ask)
}

// check prints the values that a filter has, or has not.
func (o *checkOptions) check(ctx context.Context, s *shell, in *lines.Input, ask asker) error {
	if o.text == "" { // a digest does not end with CR
		ask = bothWays(ask)
	}
	c := checker{
		ask: ask, key: o.compared, want: !o.invert, out: s.data(ctx), asJSON: s.asJSON,
		numbered: o.numbers, named: len(o.files) > 1, silent: s.quiet || o.count, first: s.quiet && !o.count,
	}
	stop := s.progress("check", in, !c.silent)
	defer stop()
	err := lines.Process(ctx, in, runtime.GOMAXPROCS(0), c.work, c.emit)
	stop()
	o.warnUnseparated(s, c.lines, c.separated)
	if err != nil && !errors.Is(err, errFound) {
		return err
	}
	if o.count && !s.quiet {
		if err := c.counted(s); err != nil {
			return err
		}
	}
	if c.selected == 0 {
		return errNo
	}
	return nil
}

// asker answers for the keys of a batch.
type asker func(k *lines.Key, b *lines.Batch, a *answers) error

// bothWays looks up lines that end with a carriage return also with it: the filter may be of raw lines.
func bothWays(ask asker) asker {
	return func(k *lines.Key, b *lines.Batch, a *answers) error {
		if err := ask(k, b, a); err != nil {
			return err
		}
		with := a.withCR(b)
		if with == nil {
			return nil
		}
		if a.second == nil {
			a.second = &answers{}
		}
		a.second.found = slices.Grow(a.second.found[:0], len(with.Records))[:len(with.Records)]
		err := ask(k, with, a.second)
		for j, i := range a.at {
			a.found[i] = a.found[i] || a.second.found[j]
		}
		return err
	}
}

// again is the memory for the records of a batch that are asked for a second time, with their carriage
// return.
type again struct {
	batch   lines.Batch
	records [][]byte
	at      []int // their places in the batch
}

// withCR returns these records as a batch; nil if there are none.
func (a *again) withCR(b *lines.Batch) *lines.Batch {
	a.batch, a.at = b.WithCR(a.records, a.at)
	a.records = a.batch.Records
	if len(a.at) == 0 {
		return nil
	}
	return &a.batch
}

// open returns the function that looks up keys in a filter file, of whatever system.
func (o *checkOptions) open(ctx context.Context, s *shell, name string, h hashing.Hasher) (ask asker, done func(), err error) {
	theirs, err := o.openForeignToAsk(ctx, name, &o.keyFlags)
	if err != nil {
		return nil, nil, err
	}
	if theirs != nil {
		for flag, text := range map[string]string{"hashed": o.text, "group": o.group} {
			if text != "" {
				return nil, nil, errors.New("--" + flag + ": " + s.given(name) + " is a filter of another system")
			}
		}
		return func(k *lines.Key, b *lines.Batch, a *answers) error {
			a.separated = k.Separates(b.Records)
			theirs.ContainsKeys(a.found, a.keys.Of(k, b))
			return nil
		}, func() {}, nil
	}
	f, err := mapFilter(ctx, name, h, !o.noVerify)
	if err != nil {
		return nil, nil, err
	}
	hashes, err := o.hashesOf(s.given(name), f.Hashed)
	if err != nil {
		f.close()
		return nil, nil, err
	}
	if o.group != "" {
		if ask, err = askGroups(s.given(name), f.Hashed, hashes); err != nil {
			f.close()
		}
		return ask, f.close, err
	}
	if x, ok := f.Hashed.(inGroups); ok && x.Groups() > 1 {
		s.warn("%s has groups: without --group keys that are out may be found", s.given(name))
	}
	return func(k *lines.Key, b *lines.Batch, a *answers) error {
		if err := a.of(b, k, hashes); err != nil {
			return err
		}
		f.ContainsHashes(a.found, a.hashes)
		return nil
	}, f.close, nil
}

// values returns what is asked for as an input: the arguments, or lines.
func (o *checkOptions) values(s *shell, values []string) (*lines.Input, error) {
	if err := o.goesWith(&o.inputFlags); err != nil {
		return nil, err
	}
	if len(values) == 0 {
		files, err := s.files(o.files)
		if err != nil {
			return nil, err
		}
		return o.input(s, files)
	}
	if len(o.files) > 0 {
		return nil, errors.New("give values as arguments or by -f, not both")
	}
	if err := o.parseKey(); err != nil {
		return nil, err
	}
	if o.header {
		return nil, hinted{errors.New("--header, or -k with names: values that are arguments have no header"), "give lines with a header by -f FILE, or the number of a column and no --header: -k 2"}
	}
	separator := string(o.separator())
	for _, v := range values {
		if strings.Contains(v, separator) {
			return nil, hinted{errors.New("a value has a newline in it"), "take -0, or -0 with standard input"}
		}
	}
	in, err := o.input(s, nil)
	if err != nil {
		return nil, err
	}
	s.hintFiles(values)
	in.Stdin, in.Arguments, in.Plain = strings.NewReader(strings.Join(values, separator)+separator), true, true
	return in, nil
}

// hintFiles prints a hint if a value is the name of a file, whose lines were
// perhaps meant.
func (s *shell) hintFiles(values []string) {
	for _, v := range values {
		if info, err := os.Stat(v); err == nil && info.Mode().IsRegular() {
			s.say("hint: %s is a file: to look up its lines, give it as -f %s", v, v)
			return
		}
	}
}

// errFound ends the reading as soon as the answer is known.
var errFound = errors.New("found")

// checker asks a filter for batches of lines.
type checker struct {
	ask    asker
	key    lines.Key
	want   bool // print what is there, not what is absent
	asJSON bool
	silent bool // count only
	first  bool // one is enough
	out    io.Writer

	numbered bool // print numbers of lines
	named    bool // print names of files, too

	headed    bool   // a file was begun
	line      uint64 // of the file, behind the last batch
	lines     uint64
	selected  uint64
	separated bool // a line has the delimiter of the key
}

// answers are those for one batch.
type answers struct {
	hashed
	again
	second *answers // for the records that are asked for again
	groups lines.Keys
	found  []bool
	count  int
	text   []byte // to be written
	buffer []byte // for text that is not in one piece
}

// work answers a batch and collects what is to be written.
func (c *checker) work(b *lines.Batch, a *answers) error {
	n := len(b.Records)
	a.found = slices.Grow(a.found[:0], n)[:n]
	if err := c.ask(&c.key, b, a); err != nil {
		return err
	}
	a.count, a.text, a.buffer = 0, nil, a.buffer[:0]
	for i := 0; i < n; {
		if a.found[i] != c.want {
			i++
			continue
		}
		from := i
		for i < n && a.found[i] == c.want {
			i++
		}
		a.count += i - from
		switch {
		case c.silent || c.numbered: // numbers are known when batches are in order
		case c.asJSON:
			for _, r := range b.Records[from:i] {
				a.buffer = appendAnswer(a.buffer, r, answerJSON{Present: c.want})
			}
		case i-from == n:
			a.text = b.Span(from, i)
			return nil
		default:
			a.buffer = append(a.buffer, b.Span(from, i)...)
		}
	}
	a.text = a.buffer
	return nil
}

// emit writes what was selected of a batch.
func (c *checker) emit(b *lines.Batch, a *answers) error {
	c.separated = c.separated || a.separated
	if b.First {
		c.line = b.Headers()
		if err := c.head(b.Header); err != nil {
			return err
		}
	}
	if c.numbered && !c.silent {
		a.text = c.appendNumbered(a.buffer[:0], b, a.found)
		a.buffer = a.text
	}
	c.line += uint64(len(b.Records))
	c.lines += uint64(len(b.Records))
	c.selected += uint64(a.count)
	if len(a.text) > 0 {
		if _, err := c.out.Write(a.text); err != nil {
			return err
		}
	}
	if c.first && c.selected > 0 {
		return errFound
	}
	return nil
}

// head writes the header of the first file, so that what comes out is a table
// again; numbers and objects are not.
func (c *checker) head(header []byte) error {
	if c.headed || c.silent || c.numbered || c.asJSON {
		return nil
	}
	c.headed = true
	_, err := c.out.Write(header)
	return err
}

// appendNumbered appends the selected lines with their numbers.
func (c *checker) appendNumbered(dst []byte, b *lines.Batch, found []bool) []byte {
	name := ""
	if c.named {
		name = b.Name
	}
	for i, r := range b.Records {
		line := c.line + uint64(i) + 1
		switch {
		case found[i] != c.want:
		case c.asJSON:
			dst = appendAnswer(dst, r, answerJSON{File: name, Line: line, Present: c.want})
		default:
			if c.named {
				dst = append(append(dst, name...), ':')
			}
			dst = append(strconv.AppendUint(dst, line, 10), ':')
			dst = append(dst, b.Span(i, i+1)...)
		}
	}
	return dst
}

// counted prints the number of selected lines.
func (c *checker) counted(s *shell) error {
	if s.asJSON {
		return s.print(countedJSON{c.lines, c.selected})
	}
	_, err := io.WriteString(s.out, strconv.FormatUint(c.selected, 10)+"\n")
	return err
}

// countedJSON is the answer with --count and --json.
type countedJSON struct {
	Lines    uint64 `json:"lines"`
	Selected uint64 `json:"selected"`
}

// answerJSON is a selected line with --json. Bytes that are not text come as
// base64.
type answerJSON struct {
	File    string  `json:"file,omitempty"`
	Line    uint64  `json:"line,omitempty"`
	Value   *string `json:"value,omitempty"`
	Base64  []byte  `json:"base64,omitempty"`
	Present bool    `json:"present"`
}

// textOrBytes returns a line as JSON has it: a text if it is one, else bytes.
func textOrBytes(record []byte) (text *string, bytes []byte) {
	if !utf8.Valid(record) {
		return nil, record
	}
	return new(string(record)), nil
}

// appendAnswer appends the object of a line.
func appendAnswer(dst, record []byte, a answerJSON) []byte {
	a.Value, a.Base64 = textOrBytes(record)
	line, err := json.Marshal(a)
	if err != nil {
		panic("bloomery: " + err.Error()) // strings, bytes, numbers and booleans
	}
	return append(append(dst, line...), '\n')
}
