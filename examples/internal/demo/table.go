package demo

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Table is what a run prints: figures with their names, in Markdown. README.md of an example
// has the same lines.
type Table []row

type row struct {
	name, value string
	varies      bool // from run to run, as times do
}

// Text appends a row.
func (t *Table) Text(name, value string) { *t = append(*t, row{name: name, value: value}) }

// Count appends a number of things.
func (t *Table) Count(name string, n int) { t.Text(name, Count(n)) }

// Number appends a number with some digits behind the point.
func (t *Table) Number(name string, x float64, digits int) {
	t.Text(name, strconv.FormatFloat(x, 'f', digits, 64))
}

// Percent appends a share of all, of 0 to 1.
func (t *Table) Percent(name string, share float64) { t.Text(name, Percent(share)) }

// Bytes appends a size.
func (t *Table) Bytes(name string, n int) { t.Text(name, Bytes(n)) }

// Time appends how long something took.
func (t *Table) Time(name string, d time.Duration) { t.Varying(name, rounded(d).String()) }

// Varying appends a figure that differs from run to run, so that README.md has another one.
func (t *Table) Varying(name, value string) {
	*t = append(*t, row{name: name, value: value, varies: true})
}

// rounded returns d with three digits.
func rounded(d time.Duration) time.Duration {
	unit := time.Duration(1)
	for d/unit >= 1000 {
		unit *= 10
	}
	return d.Round(unit)
}

// String returns the table as Markdown, in columns.
func (t Table) String() string {
	const head = "figure"
	width, wide := len(head), len("value")
	for _, r := range t {
		width = max(width, utf8.RuneCountInString(r.name))
		wide = max(wide, utf8.RuneCountInString(r.value))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "| %-*s | %-*s |\n|%s|%s:|\n", width, head, wide, "value", strings.Repeat("-", width+2), strings.Repeat("-", wide+1))
	for _, r := range t {
		fmt.Fprintf(&b, "| %-*s | %*s |\n", width, r.name, wide, r.value)
	}
	return b.String()
}

// Documented reports an error for each figure of a run on the sample that README.md in the
// working directory does not have, in the first column of figures of a table.
func (t Table) Documented(test interface {
	Helper()
	Errorf(format string, args ...any)
},
) {
	test.Helper()
	text, err := os.ReadFile("README.md")
	if err != nil {
		test.Errorf("%v", err)
		return
	}
	lines := map[string]bool{} // | name | value |
	for line := range strings.Lines(string(text)) {
		if cells := strings.SplitN(line, "|", 4); len(cells) == 4 {
			lines[strings.TrimSpace(cells[1])+"|"+strings.TrimSpace(cells[2])] = true
		}
	}
	for _, r := range t {
		if !r.varies && !lines[r.name+"|"+r.value] {
			test.Errorf("README.md has no row | %s | %s |", r.name, r.value)
		}
	}
}

// Count writes a number with commas.
func Count(n int) string {
	s := strconv.Itoa(n)
	start := 0
	if n < 0 {
		start = 1
	}
	for i := len(s) - 3; i > start; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Percent writes a share of 0 to 1 as a percentage with three digits, or as many as it takes to
// show that it is not all.
func Percent(share float64) string {
	digits := 1
	for x := 100 * share; x > 0 && x < 10 && digits < 8; x *= 10 {
		digits++
	}
	for x := 100 - 100*share; x > 1e-6 && x < 0.05; x *= 10 {
		digits++
	}
	return strconv.FormatFloat(100*share, 'f', digits, 64) + "%"
}

// Bytes writes a size in B, KiB, MiB or GiB.
func Bytes(n int) string {
	if n < 1024 {
		return strconv.Itoa(n) + " B"
	}
	x := float64(n)
	for _, unit := range []string{"KiB", "MiB", "GiB"} {
		if x /= 1024; x < 1024 || unit == "GiB" {
			return strconv.FormatFloat(x, 'f', 1, 64) + " " + unit
		}
	}
	panic("not reached")
}
