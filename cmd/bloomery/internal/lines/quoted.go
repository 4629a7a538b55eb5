// Columns in quotes, as in CSV.

package lines

import (
	"bytes"
	"errors"
	"fmt"
)

// quote is what columns of CSV may stand in.
const quote = '"'

// errOpenQuote means that a file ends within quotes.
var errOpenQuote = errors.New("the file ends within quotes")

// recordEnd returns where the first record of data ends, in front of its
// newline, if delimiter separates columns that may be in quotes. It is -1 if the
// record does not end in data; open reports whether data then ends within
// quotes.
func recordEnd(data []byte, delimiter string) (end int, open bool) {
	at := 0
	for {
		line := data[at:]
		n := bytes.IndexByte(line, '\n')
		if n >= 0 {
			line = line[:n]
		}
		q := bytes.IndexByte(line, quote)
		switch {
		case q < 0 && n < 0:
			return -1, false
		case q < 0:
			return at + n, false
		}
		at += q
		if at > 0 && !bytes.HasSuffix(data[:at], []byte(delimiter)) {
			at++ // a quote inside of a column is one like others
			continue
		}
		length := quotedLength(data[at:])
		if length < 0 {
			return -1, true
		}
		at += length
	}
}

// recordsEnd returns where the last whole record of data ends, behind its
// newline, and whether data ends within quotes; it is 0 if no record is whole.
func recordsEnd(data []byte, delimiter string) (end int, open bool) {
	for {
		n, open := recordEnd(data[end:], delimiter)
		if n < 0 {
			return end, open
		}
		end += n + 1
	}
}

// quotedLength returns how long the part in quotes is that text begins with, -1
// if it does not end.
func quotedLength(text []byte) int {
	for at := 1; ; {
		q := bytes.IndexByte(text[at:], quote)
		if q < 0 {
			return -1
		}
		at += q + 1
		if at == len(text) || text[at] != quote {
			return at
		}
		at++ // two stand for one
	}
}

// quoted returns the columns of a record of CSV that are compared: the one
// without its quotes, or several, each with quotes if it needs them, and with a
// delimiter behind it.
func (k *Key) quoted(record, arena []byte) (key, grown []byte) {
	from := len(arena)
	one := len(k.Columns.spans) == 1 && k.Columns.spans[0].first == k.Columns.spans[0].last
	column := 1
	for _, s := range k.Columns.spans {
		for ; column <= s.last && record != nil; column++ {
			var raw []byte
			raw, record = k.column(record)
			if column < s.first {
				continue
			}
			if one && (len(raw) == 0 || raw[0] != quote) {
				return raw, arena
			}
			if one {
				arena = appendUnquoted(arena, raw)
				return arena[from:], arena
			}
			arena = append(k.appendQuoted(arena, raw), k.Delimiter...)
		}
	}
	return arena[from:], arena
}

// column cuts the first column off a record; the rest is nil behind the last.
func (k *Key) column(record []byte) (column, rest []byte) {
	at := 0
	if len(record) > 0 && record[0] == quote {
		if at = quotedLength(record); at < 0 {
			return record, nil
		}
	}
	n := bytes.Index(record[at:], []byte(k.Delimiter))
	if n < 0 {
		return record, nil
	}
	return record[:at+n], record[at+n+len(k.Delimiter):]
}

// appendUnquoted appends a column without its quotes.
func appendUnquoted(dst, column []byte) []byte {
	if len(column) == 0 || column[0] != quote {
		return append(dst, column...)
	}
	end := quotedLength(column)
	if end < 0 { // the quotes do not end
		return append(dst, column...)
	}
	for inner := column[1 : end-1]; len(inner) > 0; {
		q := bytes.IndexByte(inner, quote)
		if q < 0 {
			dst = append(dst, inner...)
			break
		}
		dst = append(dst, inner[:q+1]...)
		inner = inner[q+2:]
	}
	return append(dst, column[end:]...)
}

// appendQuoted appends a column in the one way in which it is written among
// others.
func (k *Key) appendQuoted(dst, column []byte) []byte {
	from := len(dst)
	dst = appendUnquoted(dst, column)
	value := dst[from:]
	if !bytes.Contains(value, []byte(k.Delimiter)) && bytes.IndexByte(value, quote) < 0 {
		return dst
	}
	copied := bytes.ReplaceAll(value, []byte{quote}, []byte{quote, quote})
	return append(append(append(dst[:from], quote), copied...), quote)
}

// openQuote is the error of a file that ends within quotes.
func openQuote(offset int64) error {
	return fmt.Errorf("%w: in the record at byte %d", errOpenQuote, offset)
}
