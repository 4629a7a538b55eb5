// The flags that say how lines are read and hashed.

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/bloomery/bloomery/cmd/bloomery/internal/lines"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/internal/figures"
)

// inputFlags say how input is cut into records, and what of a record is
// compared.
type inputFlags struct {
	zero      bool
	maxLine   number[int64]
	delimiter string
	columns   string
	csv       bool
	fold      bool
	raw       bool
	header    bool
	given     func(flag string) bool

	compared lines.Key // what of a record, set by input
}

func (o *inputFlags) bind(f *pflag.FlagSet) {
	o.maxLine = sizeFlag("64MiB")
	f.StringVarP(&o.columns, "columns", "k", "", "compare only these `COLUMNS`: 2, 1,3, 2-4, 3-; or by the names in the header: email,id")
	f.StringVarP(&o.delimiter, "delimiter", "d", "", `what separates columns, as in ; or \t or \x00 (default a tab, with --csv a comma)`)
	f.Lookup("delimiter").Usage = strings.Replace(f.Lookup("delimiter").Usage, "what", "`TEXT` that", 1)
	f.BoolVar(&o.csv, "csv", false, "columns may be in double quotes, which may contain commas and newlines")
	f.BoolVar(&o.header, "header", false, "the first line of each file is a header, not a key; -k with names implies it")
	f.BoolVarP(&o.fold, "ignore-case", "i", false, "compare in lower case; a filter must have been built so")
	f.BoolVar(&o.raw, "raw", false, "take bytes as they are: a CR before the newline belongs to the line, and so does a byte order mark")
	f.BoolVarP(&o.zero, "null", "0", false, "records end with NUL, not with a newline; implies --raw")
	f.Var(&o.maxLine, "max-line", "longest line that is read")
	o.given = f.Changed
}

// input returns the input that the files are, for the flags, and sets the key.
func (o *inputFlags) input(s *shell, files []string) (*lines.Input, error) {
	if err := o.parseKey(); err != nil {
		return nil, err
	}
	in := &lines.Input{Files: files, Stdin: s.in, Zero: o.zero, Raw: o.raw, Header: o.header, MaxLine: int(min(o.maxLine.value, math.MaxInt))}
	if o.csv {
		in.Quoted = o.compared.Delimiter
	}
	if o.compared.Columns.Named() {
		in.Named = &o.compared
	}
	return in, nil
}

// second has an input tell a column of its lines beside the key, by its number or its name. It is
// never folded.
func (o *inputFlags) second(in *lines.Input, flag, column string) (err error) {
	k := o.compared
	k.Fold = false
	if k.Columns, err = lines.ParseColumns(column); err != nil {
		return fmt.Errorf("--%s: %w", flag, err)
	}
	if k.Columns.Named() && in.Arguments {
		return fmt.Errorf("--%s %s: values that are arguments have no header: give the number of a column", flag, column)
	}
	in.Second = &k
	in.Header = in.Header || k.Columns.Named()
	return nil
}

// parseKey reads the flags that say what of a line is compared.
func (o *inputFlags) parseKey() (err error) {
	switch {
	case o.given("columns") && o.columns == "":
		return errors.New("-k: which columns?")
	case o.given("delimiter") && o.delimiter == "":
		return errors.New("-d: an empty text separates nothing")
	case o.given("delimiter") && o.columns == "" && !o.csv:
		return hinted{errors.New("-d without -k"), "give the columns to compare: -k 2"}
	case o.csv && o.zero:
		return errors.New("--csv and --null exclude each other: records of CSV end with a newline")
	}
	o.compared = lines.Key{Delimiter: "\t", Quoted: o.csv, Fold: o.fold, Raw: o.raw || o.zero}
	if o.csv {
		o.compared.Delimiter = ","
	}
	if o.columns != "" {
		if o.compared.Columns, err = lines.ParseColumns(o.columns); err != nil {
			return fmt.Errorf("-k: %w", err)
		}
		o.header = o.header || o.compared.Columns.Named()
	}
	if o.given("delimiter") {
		if o.compared.Delimiter, err = unescape(o.delimiter); err != nil {
			return fmt.Errorf("-d %s: %w", o.delimiter, err)
		}
	}
	if o.csv && strings.ContainsAny(o.compared.Delimiter, "\"\r\n") {
		return fmt.Errorf("-d %s: a quote or the end of a line cannot separate columns of CSV", o.delimiter)
	}
	return nil
}

// unescape reads a delimiter with the escapes of Go.
func unescape(s string) (string, error) {
	if !strings.Contains(s, `\`) || s == `\` {
		return s, nil
	}
	return strconv.Unquote(`"` + strings.ReplaceAll(s, `"`, `\"`) + `"`)
}

// warnUnseparated warns if none of the lines has the delimiter: then the columns
// of all of them are the whole line, or nothing.
func (o *inputFlags) warnUnseparated(s *shell, lines uint64, separated bool) {
	if lines > 0 && !separated {
		s.warn("no line has the separator %q: is it another one? -d sets it", o.compared.Delimiter)
	}
}

// separator is what stands behind a record of the output.
func (o *inputFlags) separator() byte {
	if o.zero {
		return 0
	}
	return '\n'
}

// keyFlags say how keys are hashed.
type keyFlags struct {
	file string
}

func (o *keyFlags) bind(f *pflag.FlagSet) {
	f.StringVar(&o.file, "key-file", "", "`FILE` with the 16 secret bytes of a keyed hash, or with 32 hexadecimal digits")
}

// keySize is the length of a key of SipHash.
const keySize = 16

// hasher returns the hasher with the key, or the usual one.
func (o *keyFlags) hasher() (hashing.Hasher, error) {
	key, err := o.key()
	if err != nil || key == nil {
		return hashing.Hasher{}, err
	}
	return hashing.Keyed(*key), nil
}

// key returns the key, nil if there is none. It is in a file, since arguments and the
// environment can be seen by others.
func (o *keyFlags) key() (*[keySize]byte, error) {
	if o.file == "" {
		return nil, nil
	}
	data, err := keyIn(o.file, keySize)
	if err != nil {
		return nil, keyError("key-file", keySize, err)
	}
	return (*[keySize]byte)(data), nil
}

// keyIn reads a key from a file.
func keyIn(name string, size int) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // it was only read
	return figures.ReadKey(name, f, size)
}

// keyError is for a file without a key. A new key opens nothing that has one.
func keyError(flag string, size int, err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("--%s: %w", flag, err)
	}
	return hinted{fmt.Errorf("--%s: %w", flag, err), fmt.Sprintf("give the key that the file was made with; for a new file: openssl rand -hex %d > new.key", size)}
}
