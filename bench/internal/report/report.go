// Package report writes what was measured as Markdown, with all that a reader
// needs to measure it again.
package report

import (
	"fmt"
	"strings"
)

// Table is a Markdown table.
type Table struct {
	Head []string
	rows [][]string
}

// Row adds a row.
func (t *Table) Row(cells ...string) { t.rows = append(t.rows, cells) }

// Len returns the number of rows.
func (t *Table) Len() int { return len(t.rows) }

// Empty reports whether no row was added.
func (t *Table) Empty() bool { return len(t.rows) == 0 }

// String returns the table, with columns of numbers aligned right.
func (t *Table) String() string {
	var b strings.Builder
	line := func(cells []string) { fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | ")) }
	line(t.Head)
	rule := make([]string, len(t.Head))
	for i := range rule {
		rule[i] = "---"
		if t.numeric(i) {
			rule[i] = "--:"
		}
	}
	line(rule)
	for _, row := range t.rows {
		line(row)
	}
	return b.String()
}

func (t *Table) numeric(column int) bool {
	for _, row := range t.rows {
		if strings.Trim(row[column], "0123456789.+-e%±*/ ") != "" {
			return false
		}
	}
	return true
}

// Paragraph breaks text into lines of at most 100 characters.
func Paragraph(text string) string {
	const width = 100
	var b strings.Builder
	n := 0
	for word := range strings.FieldsSeq(text) {
		switch {
		case n == 0:
		case n+1+len(word) > width:
			b.WriteByte('\n')
			n = 0
		default:
			b.WriteByte(' ')
			n++
		}
		b.WriteString(word)
		n += len(word)
	}
	b.WriteByte('\n')
	return b.String()
}
