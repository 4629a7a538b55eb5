// The TOML file of settings, read with the line of every key.

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/BurntSushi/toml"
	"github.com/spf13/pflag"
)

// maxConfig bounds a configuration file: one that is larger is something else.
const maxConfig = 64 << 10

// fileError is what is wrong in a configuration file: in a line, with the value of
// a key, or with all of it (0 and "").
type fileError struct {
	file string
	line int
	key  string
	err  error
}

// Error implements error.
func (e *fileError) Error() string {
	text := e.file
	if e.line > 0 {
		text += ":" + strconv.Itoa(e.line)
	}
	if e.key != "" {
		text += ": " + e.key
	}
	return text + ": " + e.err.Error()
}

// Unwrap returns the cause.
func (e *fileError) Unwrap() error { return e.err }

// assignment is a key of a configuration file, with its value as TOML has it.
type assignment struct {
	line  int
	key   string
	value any
}

// readAssignments reads a configuration file. secret reports which keys have values
// that errors must not show.
func readAssignments(file string, secret func(key string) bool) ([]assignment, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it is only read
	data, err := io.ReadAll(io.LimitReader(f, maxConfig+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxConfig {
		return nil, &fileError{file: file, err: errors.New("not a configuration file: it is longer than 64 KiB")}
	}
	return parseAssignments(file, string(data), secret)
}

// parseAssignments cuts the text of a file into statements, so that each key is
// known with its line: the decoder does not report it.
func parseAssignments(file, text string, secret func(key string) bool) ([]assignment, error) {
	var whole map[string]any
	if err := toml.Unmarshal([]byte(text), &whole); err != nil {
		return nil, syntaxError(file, text, err, secret)
	}
	var all []assignment
	statement, first, n := "", 1, 0
	for line := range strings.Lines(text) {
		n++
		statement += line
		var values map[string]any
		if toml.Unmarshal([]byte(statement), &values) != nil {
			continue // it goes on in the next line
		}
		for _, key := range sortedKeys(values) {
			all = append(all, assignment{first, key, values[key]})
		}
		if strings.HasPrefix(strings.TrimSpace(statement), "[") {
			break // what follows belongs to a table, and settings are not in tables
		}
		statement, first = "", n+1
	}
	return all, nil
}

// keyLine is a line that begins the value of a key.
var keyLine = regexp.MustCompile(`^\s*["']?([A-Za-z0-9_-]+)["']?\s*=`)

// syntaxError is the error for a file that is not TOML. The decoder quotes what it
// did not expect, which may be part of a secret.
func syntaxError(file, text string, err error, secret func(key string) bool) error {
	parse, ok := errors.AsType[toml.ParseError](err)
	if !ok {
		return &fileError{file: file, err: err}
	}
	key, statement, n := "", "", 0
	for line := range strings.Lines(text) {
		if n++; n > parse.Position.Line {
			break
		}
		if statement == "" {
			key = ""
			if m := keyLine.FindStringSubmatch(line); m != nil {
				key = m[1]
			}
		}
		statement += line
		if toml.Unmarshal([]byte(statement), new(map[string]any)) == nil {
			statement = "" // it is whole
		}
	}
	e := &fileError{file: file, line: parse.Position.Line, key: key, err: errors.New(parse.Message)}
	if statement != "" && secret(key) {
		e.err = errors.New("not a value of TOML: text is in quotes")
	}
	return e
}

// loadFile sets the flags that a file has and that were not given.
func loadFile(flags *pflag.FlagSet, file string, given map[string]bool, skip []string) error {
	all, err := readAssignments(file, secretFlag(flags))
	if err != nil {
		return err
	}
	for _, a := range all {
		if given[a.key] && !slices.Contains(skip, a.key) {
			continue
		}
		if err := assign(flags, a, skip); err != nil {
			return &fileError{file, a.line, a.key, err}
		}
	}
	return nil
}

// secretFlag reports of which flags values must not be shown.
func secretFlag(flags *pflag.FlagSet) func(name string) bool {
	return func(name string) bool {
		f := flags.Lookup(name)
		if f == nil {
			return false
		}
		_, hidden := f.Annotations[secret]
		return hidden
	}
}

// assign sets the flag that a key of a file names. Flags in skip have no setting.
func assign(flags *pflag.FlagSet, a assignment, skip []string) error {
	f := flags.Lookup(a.key)
	if f == nil || slices.Contains(skip, a.key) {
		return unknownSetting(flags, a, skip)
	}
	text, err := tomlText(f.Value.Type(), a.value)
	if err != nil {
		return err
	}
	return f.Value.Set(text)
}

// unknownSetting is the error for a key that is not a setting: a typing mistake.
func unknownSetting(flags *pflag.FlagSet, a assignment, skip []string) error {
	if _, table := a.value.(map[string]any); table {
		return errors.New("unknown setting: settings are not in tables")
	}
	if like := nearest(flags, a.key, skip...); like != "" {
		return fmt.Errorf("unknown setting, did you mean %s?", like)
	}
	return errors.New("unknown setting")
}

// nearest returns the flag that may have been meant by a name that is none, "" if there is none like it.
func nearest(flags *pflag.FlagSet, name string, skip ...string) (like string) {
	least := 3
	flags.VisitAll(func(f *pflag.Flag) {
		if d := distance(name, f.Name); d < least && d < len(name) && !f.Hidden && !slices.Contains(skip, f.Name) {
			like, least = f.Name, d
		}
	})
	return like
}

// distance returns how many characters must be inserted, removed or replaced to
// make b of a.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// tomlText returns a value of a file as a flag of some kind takes it: lists with
// commas. A value of another type is an error, which does not show it: 1e5 without
// quotes is not the password that was meant.
func tomlText(kind string, v any) (string, error) {
	switch kind {
	case "bool":
		if b, ok := v.(bool); ok {
			return strconv.FormatBool(b), nil
		}
		return "", wrongType("true or false", v)
	case "int":
		if n, ok := v.(int64); ok {
			return strconv.FormatInt(n, 10), nil
		}
		return "", wrongType("a whole number", v)
	case "float":
		switch x := v.(type) {
		case int64:
			return strconv.FormatInt(x, 10), nil
		case float64:
			return strconv.FormatFloat(x, 'g', -1, 64), nil
		}
		return "", wrongType("a number", v)
	case "list":
		if list, ok := v.([]any); ok {
			return listText(list)
		}
	case "bytes":
		if n, ok := v.(int64); ok {
			return strconv.FormatInt(n, 10), nil
		}
	}
	if s, ok := v.(string); ok {
		return s, nil
	}
	return "", wrongType("text in quotes", v)
}

func listText(list []any) (string, error) {
	words := make([]string, len(list))
	for i, e := range list {
		s, ok := e.(string)
		if !ok {
			return "", wrongType("a list of texts in quotes", e)
		}
		words[i] = s
	}
	return strings.Join(words, ","), nil
}

func wrongType(want string, v any) error {
	got := "a date"
	switch v.(type) {
	case bool:
		got = "true or false"
	case int64, float64:
		got = "a number"
	case string:
		got = "text"
	case []any:
		got = "a list"
	case map[string]any, []map[string]any:
		got = "a table"
	}
	return fmt.Errorf("want %s, not %s", want, got)
}
