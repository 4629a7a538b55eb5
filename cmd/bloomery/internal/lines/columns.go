// Columns, a list such as 1,3 or 2-4, or email,id.

package lines

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Columns is a set of columns, counted from 1 or by their names. The zero value
// is no columns: the whole line.
type Columns struct {
	spans []columnSpan
	names []string // if spans are those that the header of a file has them at
}

// Named reports whether the columns have names, which headers show the places of.
func (c Columns) Named() bool { return len(c.names) > 0 }

func (c Columns) none() bool { return len(c.spans) == 0 && !c.Named() }

// columnSpan is the columns from first to last.
type columnSpan struct{ first, last int }

// ParseColumns reads a list of columns as cut(1) does: "2", "1,3", "2-4", "3-"; or
// of names: "email,id". A name with a comma, or of digits, is in double quotes.
func ParseColumns(s string) (Columns, error) {
	if strings.Trim(s, "0123456789,-") != "" {
		c, err := parseNames(s)
		if err != nil {
			return Columns{}, fmt.Errorf("columns %q: %w", s, err)
		}
		return c, nil
	}
	var c Columns
	for part := range strings.SplitSeq(s, ",") {
		one, err := parseSpan(part)
		if err != nil {
			return Columns{}, fmt.Errorf("columns %q: %w", s, err)
		}
		c.spans = append(c.spans, one)
	}
	slices.SortFunc(c.spans, func(a, b columnSpan) int { return a.first - b.first })
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

func parseSpan(s string) (columnSpan, error) {
	low, high, isRange := strings.Cut(s, "-")
	var one columnSpan
	var err error
	if one.first, err = parseColumn(low); err != nil {
		return columnSpan{}, err
	}
	switch {
	case !isRange:
		one.last = one.first
	case high == "":
		one.last = anyColumn
	default:
		if one.last, err = parseColumn(high); err != nil {
			return columnSpan{}, err
		}
	}
	if one.last < one.first {
		return columnSpan{}, errors.New("the range is descending")
	}
	return one, nil
}

func parseColumn(s string) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 || n >= anyColumn {
		return 0, fmt.Errorf("%q is not a column", s)
	}
	return n, nil
}

// String returns the columns as ParseColumns reads them.
func (c Columns) String() string {
	if !c.Named() {
		return c.Places()
	}
	quoted := make([]string, len(c.names))
	for i, name := range c.names {
		quoted[i] = `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
	}
	return strings.Join(quoted, ",")
}

// Places returns the numbers of the columns; those of names are known to a
// Batch.Located.
func (c Columns) Places() string {
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
