package main

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"github.com/bloomery/bloomery/bench/internal/report"
	"github.com/bloomery/bloomery/bench/internal/results"
)

// protocol tells how the figures come about.
//
//go:embed protocol.md
var protocol string

// notes are written by hand: what falls short, and why.
//
//go:embed notes.md
var notes string

// document is everything that was measured.
type document struct{ records map[string]record }

// gather returns the document of all that is known.
func gather(known *results.File[record]) document {
	d := document{map[string]record{}}
	for _, e := range experiments() {
		if r, ok := known.Get(e.name()); ok {
			d.records[e.name()] = r
		}
	}
	return d
}

// String returns the document.
func (d document) String() string {
	var b strings.Builder
	b.WriteString("# Benchmarks of the families\n\n")
	b.WriteString(report.Paragraph(`This file is written by a program from bench/results/families.jsonl; "make
		bench-peers" measures again and writes it again.`))
	fmt.Fprintf(&b, "\n%s\n## What we aim at\n\n%s\n%s", protocol, d.aims(), notes)
	for _, e := range experiments() {
		r, ok := d.records[e.name()]
		if !ok {
			continue
		}
		fmt.Fprintf(&b, "\n## %s, n = %d\n\n%s\n%s\n%s", title(e.family), e.keys, report.Paragraph(e.about), table(r), origin(r))
	}
	if t := d.cppTable(); !t.Empty() {
		fmt.Fprintf(&b, "\n## Beside C++\n\n%s\n%s", report.Paragraph(cppText), t)
	}
	fmt.Fprintf(&b, "\n## Layers of a Scalable\n\n%s\n%s", report.Paragraph(layersText), layersTable())
	return b.String()
}

// table has a row for each contestant and a column for each figure.
func table(r record) *report.Table {
	var whos, whats []string
	for _, f := range r.Figures {
		if !slices.Contains(whos, f.Who) {
			whos = append(whos, f.Who)
		}
		if !slices.Contains(whats, f.What) {
			whats = append(whats, f.What)
		}
	}
	t := &report.Table{Head: append([]string{"who"}, whats...)}
	for _, who := range whos {
		row := []string{who}
		for _, what := range whats {
			row = append(row, cell(r, who, what))
		}
		t.Row(row...)
	}
	return t
}

// cell writes a figure with four digits.
func cell(r record, who, what string) string {
	for _, f := range r.Figures {
		if f.Who == who && f.What == what {
			return fmt.Sprintf("%.4g", f.Value)
		}
	}
	return "-"
}

// origin tells where the figures of an experiment come from.
func origin(r record) string {
	s := fmt.Sprintf("%s, %s, %s, %s, %d rounds", r.Date, r.Commit, r.Go, r.CPU, r.Rounds)
	if r.Quick {
		s += ", **with -quick: worth nothing**"
	}
	return s + ".\n"
}

func title(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
