// Columns, a list such as 1,3 or 2-4.

package lines

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Columns is a set of columns, counted from 1. The zero value is no columns:
// the whole line.
type Columns struct{ spans []columnSpan }

// columnSpan is the columns from first to last.
type columnSpan struct{ first, last int }

// ParseColumns reads a list of columns as cut(1) does: "2", "1,3", "2-4", "3-".
func ParseColumns(s string) (Columns, error) {
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
