// Headers, the first records of files, and columns by their names.

package lines

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// ErrHeader means that the header of a file does not have a column, or has it
// twice.
var ErrHeader = errors.New("header")

// mostNames is how many names of a header an error lists.
const mostNames = 100

// takeHeader cuts the header off data, which begins a file and holds at least
// one record, and returns what it is long with its separator.
func (s *source) takeHeader(data []byte) (int, error) {
	end := bytes.IndexByte(data, s.in.separator())
	if s.in.Quoted != "" {
		end, _ = recordEnd(data, s.in.Quoted)
	}
	if len(s.in.line(data[:end])) > s.in.maxLine() {
		return 0, tooLong(s.name, 0, s.in.maxLine())
	}
	s.header = bytes.Clone(data[:end+1])
	names := s.in.line(data[:end])
	if s.in.Named != nil {
		located, err := s.in.Named.locate(names)
		if err != nil {
			return 0, s.failed(err)
		}
		s.located = &located
	}
	if s.in.Second != nil && s.in.Second.Columns.Named() {
		located, err := s.in.Second.locate(names)
		if err != nil {
			return 0, s.failed(err)
		}
		located.Columns.names = nil // it needs no header any more
		s.second = &located
	}
	return end + 1, nil
}

// locate returns the key with the columns that a header has the names of.
func (k *Key) locate(header []byte) (Key, error) {
	have := k.namesOf(header)
	located := *k
	located.Columns.spans = make([]columnSpan, len(k.Columns.names))
	for i, name := range k.Columns.names {
		at := slices.Index(have, name)
		switch {
		case at < 0:
			return Key{}, k.noColumn(name, have)
		case slices.Contains(have[at+1:], name):
			return Key{}, fmt.Errorf("%w: two columns have the name %q: give the number of one", ErrHeader, name)
		}
		located.Columns.spans[i] = columnSpan{at + 1, at + 1}
	}
	return located, nil
}

// namesOf returns the names of the columns of a header.
func (k *Key) namesOf(header []byte) []string {
	var names []string
	for header != nil {
		var column []byte
		if k.Quoted {
			column, header = k.column(header)
			column = appendUnquoted(nil, column)
		} else {
			var more bool
			if column, header, more = bytes.Cut(header, []byte(k.Delimiter)); !more {
				header = nil
			}
		}
		names = append(names, string(column))
	}
	return names
}

// noColumn is the error of a name that a header does not have.
func (k *Key) noColumn(name string, have []string) error {
	list := make([]string, min(len(have), mostNames))
	for i := range list {
		list[i] = strconv.Quote(have[i])
	}
	text := strings.Join(list, ", ")
	if more := len(have) - len(list); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	if len(have) == 1 {
		return fmt.Errorf("%w: no column %q: it has one column, %s; is the separator another one than %q?", ErrHeader, name, text, k.Delimiter)
	}
	return fmt.Errorf("%w: no column %q: it has %s", ErrHeader, name, text)
}

// byName returns the columns of a record by several names: in the order of the
// names and each with a delimiter behind it, so that files with the same columns
// at other places have the same keys.
func (k *Key) byName(record, arena []byte) (key, grown []byte) {
	from := len(arena)
	for _, s := range k.Columns.spans {
		if k.Quoted {
			arena = k.appendQuoted(arena, k.nth(record, s.first))
		} else {
			part, _ := k.cut(record, 1, s)
			arena = append(arena, part...)
		}
		arena = append(arena, k.Delimiter...)
	}
	return arena[from:], arena
}

// nth returns a column of a record of CSV, with its quotes; nil if it is missing.
func (k *Key) nth(record []byte, n int) []byte {
	var column []byte
	for range n {
		if record == nil {
			return nil
		}
		column, record = k.column(record)
	}
	return column
}

// parseNames reads a list of names, separated by commas; a name with a comma, or
// one that is a number, is in double quotes.
func parseNames(s string) (Columns, error) {
	list := Key{Delimiter: ",", Quoted: true}
	if _, open := recordEnd([]byte(s), list.Delimiter); open {
		return Columns{}, errOpenName
	}
	var c Columns
	for _, name := range list.namesOf([]byte(s)) {
		if name == "" {
			return Columns{}, errEmptyName
		}
		if !slices.Contains(c.names, name) {
			c.names = append(c.names, name)
		}
	}
	return c, nil
}

var (
	errOpenName  = errors.New("the quotes of a name do not end")
	errEmptyName = errors.New("the name of a column is empty")
)
