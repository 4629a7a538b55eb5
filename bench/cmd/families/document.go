package main

import (
	_ "embed"
	"fmt"
	"slices"

	"github.com/bloomery/bloomery/bench/internal/report"
	"github.com/bloomery/bloomery/bench/internal/results"
)

// protocol says how the figures come about.
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

// markdown returns the document.
func (d document) markdown() *report.Document {
	doc := report.New("Benchmarks of the families", "make bench-peers")
	doc.Text("The figures are those of bench/results/families.jsonl.")
	doc.Add(protocol)
	doc.Section("What we aim at")
	doc.Table(d.aims())
	doc.Add(notes)
	for _, e := range experiments() {
		r, ok := d.records[e.name()]
		if !ok {
			continue
		}
		doc.Section(fmt.Sprintf("%s, n = %d", report.Title(e.family), e.keys))
		doc.Text(e.about)
		doc.Table(table(r))
		doc.Add(origin(r))
	}
	if t := d.cppTable(); !t.Empty() {
		doc.Section("Beside C++")
		doc.Text(cppText)
		doc.Table(t)
	}
	doc.Section("Layers of a Scalable")
	doc.Text(layersText)
	doc.Table(layersTable())
	return doc
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

// origin returns where the figures of an experiment come from.
func origin(r record) string {
	s := fmt.Sprintf("%s, %s, %s, %s, %d rounds", r.Date, r.Commit, r.Go, r.CPU, r.Rounds)
	if r.Quick {
		s += ", **with -quick: worth nothing**"
	}
	return s + ".\n"
}
