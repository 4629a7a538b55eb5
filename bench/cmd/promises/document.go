package main

import (
	"context"
	_ "embed"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/bloomery/bloomery/bench/internal/library"
	"github.com/bloomery/bloomery/bench/internal/report"
)

// protocol tells what is asked and what counts as kept.
//
//go:embed protocol.md
var protocol string

// document is everything that was found.
type document struct {
	args    []string
	started time.Time
	rows    []row
	hazards []hazard
}

// broken returns the names of all rows of ours that do not hold.
func (d document) broken() []string {
	var names []string
	for _, r := range d.rows {
		if r.lib.Ours && !r.kept() {
			names = append(names, r.name()+": "+r.verdict())
		}
	}
	for _, h := range d.hazards {
		if h.lib.Ours && !h.outcome.Good {
			names = append(names, h.name()+": "+h.outcome.String())
		}
	}
	return names
}

// String returns the document.
func (d document) String(ctx context.Context) string {
	var b strings.Builder
	b.WriteString("# Promises\n\n")
	b.WriteString("This file is written by a program; `make promises` writes it again.\n\n")
	command := strings.TrimSpace("cd bench && go run ./cmd/promises " + strings.Join(d.args, " "))
	b.WriteString(report.Origin(ctx, command, d.started))
	fmt.Fprintf(&b, "\n%s\n## In short\n\n%s\n", protocol, d.summary())
	fmt.Fprintf(&b, "## Bad parameters\n\n%s\n%s\n", parametersText, d.outcomes(false))
	fmt.Fprintf(&b, "## Damaged files\n\n%s\n%s\n", filesText, d.outcomes(true))
	b.WriteString("## Every row\n")
	for _, lib := range library.All() {
		if t := d.table(lib.Name); !t.Empty() {
			fmt.Fprintf(&b, "\n### %s\n\n%s", lib.Title(), t)
			if lib.Sizing != "" {
				fmt.Fprintf(&b, "\n%s %s.\n", lib.Name, lib.Sizing)
			}
		}
	}
	return b.String()
}

var (
	parametersText = report.Paragraph(`A filter is asked for with a bad number of keys (at 1%) or a bad rate (for
		1,000 keys); where the library gives one, 1,000 keys are added and 100,000 others asked for. In bold: what a
		caller cannot foresee or does not notice.`)
	filesText = report.Paragraph(`A filter with 1,000 keys at 1% is written, damaged and read. Of flipped bits there
		are 64, one at a time, in the second half of the file. Libraries without a format of their own are missing;
		that of parquet-go is the bare array.`)
)

// summary has a row for each library.
func (d document) summary() *report.Table {
	t := &report.Table{Head: []string{"library", "rows", "kept", "worst, times the rate asked for", "where", "bad input refused"}}
	for _, lib := range library.All() {
		var worst *row
		rows, kept := 0, 0
		for i, r := range d.rows {
			if r.lib.Name != lib.Name {
				continue
			}
			rows++
			if r.kept() {
				kept++
			}
			if worst == nil || r.ratio() > worst.ratio() {
				worst = &d.rows[i]
			}
		}
		ratio, where := "-", "-"
		if worst != nil {
			ratio = round(worst.ratio())
			where = fmt.Sprintf("%g, %s keys, n = %d", worst.asked, worst.keys.Name, worst.n)
		}
		good, all := d.refused(lib.Name)
		t.Row(lib.Title(), strconv.Itoa(rows), strconv.Itoa(kept), ratio, where, fmt.Sprintf("%d of %d", good, all))
	}
	return t
}

// refused counts the bad input that a library met well.
func (d document) refused(lib string) (good, all int) {
	for _, h := range d.hazards {
		if h.lib.Name != lib {
			continue
		}
		all++
		if h.outcome.Good {
			good++
		}
	}
	return good, all
}

// outcomes has a row for each library and a column for each input.
func (d document) outcomes(file bool) *report.Table {
	t := &report.Table{Head: []string{"library"}}
	for _, in := range inputs() {
		if in.file == file {
			t.Head = append(t.Head, in.name)
		}
	}
	for _, lib := range library.All() {
		row, found := []string{lib.Name}, false
		for _, in := range inputs() {
			if in.file != file {
				continue
			}
			cell := "-"
			for _, h := range d.hazards {
				if h.lib.Name == lib.Name && h.input.name == in.name {
					cell, found = h.outcome.String(), true
				}
			}
			row = append(row, cell)
		}
		if found {
			t.Row(row...)
		}
	}
	return t
}

// table has all rows of one library.
func (d document) table(lib string) *report.Table {
	t := &report.Table{Head: []string{"asked", "keys", "n", "got", "ratio", "bits per key", "verdict"}}
	for _, r := range d.rows {
		if r.lib.Name == lib {
			t.Row(fmt.Sprintf("%g", r.asked), r.keys.Name, strconv.Itoa(r.n),
				fmt.Sprintf("%.4g ± %.1g", r.got.Mean, r.got.Sigma), fmt.Sprintf("%.3f", r.ratio()),
				fmt.Sprintf("%.2f", r.bitsPerKey), r.verdict())
		}
	}
	return t
}
