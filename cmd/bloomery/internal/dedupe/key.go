package dedupe

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/bloomery/bloomery"
)

// Columns is a set of columns, counted from 1. The zero value is no columns:
// the whole line.
type Columns struct{ spans []span }

// span is the columns from first to last.
type span struct{ first, last int }

// ParseColumns reads a list of columns as cut(1) does: "2", "1,3", "2-4", "3-".
// Errors wrap ErrParameter.
func ParseColumns(s string) (Columns, error) {
	var c Columns
	for part := range strings.SplitSeq(s, ",") {
		one, err := parseSpan(part)
		if err != nil {
			return Columns{}, fmt.Errorf("dedupe: columns: %w: %q: %w", bloomery.ErrParameter, s, err)
		}
		c.spans = append(c.spans, one)
	}
	slices.SortFunc(c.spans, func(a, b span) int { return a.first - b.first })
	joined := c.spans[:1]
	for _, s := range c.spans[1:] {
		last := &joined[len(joined)-1]
		if s.first-1 > last.last {
			joined = append(joined, s)
			continue
		}
		last.last = max(last.last, s.last)
	}
	c.spans = joined
	return c, nil
}

// anyColumn is the last column of a span that is open.
const anyColumn = math.MaxInt32

func parseSpan(s string) (span, error) {
	low, high, isRange := strings.Cut(s, "-")
	var one span
	var err error
	if one.first, err = parseColumn(low); err != nil {
		return span{}, err
	}
	switch {
	case !isRange:
		one.last = one.first
	case high == "":
		one.last = anyColumn
	default:
		if one.last, err = parseColumn(high); err != nil {
			return span{}, err
		}
	}
	if one.last < one.first {
		return span{}, errors.New("the range goes down")
	}
	return one, nil
}

func parseColumn(s string) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 || n >= anyColumn {
		return 0, fmt.Errorf("%q is no column", s)
	}
	return n, nil
}

// String returns the columns as ParseColumns reads them.
func (c Columns) String() string {
	parts := make([]string, len(c.spans))
	for i, s := range c.spans {
		switch parts[i] = strconv.Itoa(s.first); s.last {
		case s.first:
		case anyColumn:
			parts[i] += "-"
		default:
			parts[i] += "-" + strconv.Itoa(s.last)
		}
	}
	return strings.Join(parts, ",")
}

// Key says what of a line is compared. The zero value is the whole line.
type Key struct {
	// Delimiter stands between columns. It is taken as it is: quotes mean
	// nothing.
	Delimiter string
	// Columns are the columns that are compared. A line that has fewer is
	// compared by those that it has.
	Columns Columns
}

// whole reports whether all of a line is compared.
func (k *Key) whole() bool { return len(k.Columns.spans) == 0 }

// of returns the key of a line: a part of the line, or, if its columns are not
// neighbours, the columns in buf, each with a delimiter behind it.
func (k *Key) of(text, buf []byte) (key, grown []byte) {
	switch len(k.Columns.spans) {
	case 0:
		return text, buf
	case 1:
		key, _ := k.cut(text, 1, k.Columns.spans[0])
		return key, buf
	}
	buf = buf[:0]
	column := 1
	for _, s := range k.Columns.spans {
		var part []byte
		part, text = k.cut(text, column, s)
		column = s.last + 1
		buf = append(append(buf, part...), k.Delimiter...)
	}
	return buf, buf
}

// cut returns the columns of a span and the text behind them; text begins at
// the given column. Columns that are missing are empty.
func (k *Key) cut(text []byte, column int, s span) (part, rest []byte) {
	for ; column < s.first; column++ {
		i := bytes.Index(text, []byte(k.Delimiter))
		if i < 0 {
			return nil, nil
		}
		text = text[i+len(k.Delimiter):]
	}
	if s.last == anyColumn {
		return text, nil
	}
	end := 0
	for ; column <= s.last; column++ {
		i := bytes.Index(text[end:], []byte(k.Delimiter))
		if i < 0 {
			return text, nil
		}
		end += i
		if column == s.last {
			break
		}
		end += len(k.Delimiter)
	}
	return text[:end], text[end+len(k.Delimiter):]
}
