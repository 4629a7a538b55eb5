package main

import (
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"

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
	doc.Add(protocol)
	doc.Section("What we aim at")
	all, missed := d.aims()
	doc.Text(fmt.Sprintf("%d of %d aims are missed (`-only '^$'` prints all):",
		missed.Len(), all.Len()))
	doc.Table(missed)
	doc.Add(notes)
	for _, g := range d.groups() {
		title := report.Title(g[0].family)
		if len(g) == 1 {
			title = fmt.Sprintf("%s, n = %d", title, g[0].keys)
		}
		doc.Section(title)
		doc.Text(g[0].about)
		doc.Table(d.table(g))
	}
	doc.Section("Where the figures come from")
	doc.Add(d.origins())
	return doc
}

// groups returns the experiments that were run, those with the same figures
// together.
func (d document) groups() [][]experiment {
	var groups [][]experiment
	var last []string
	for _, e := range experiments() {
		r, ok := d.records[e.name()]
		if !ok {
			continue
		}
		whats := kinds(r)
		if !slices.Equal(whats, last) {
			groups = append(groups, nil)
		}
		groups[len(groups)-1] = append(groups[len(groups)-1], e)
		last = whats
	}
	return groups
}

// kinds returns what was measured. That no key was lost is no column.
func kinds(r record) []string {
	var whats []string
	for _, f := range r.Figures {
		if !slices.Contains(whats, f.What) && (f.What != keysLost || f.Value != 0) {
			whats = append(whats, f.What)
		}
	}
	return whats
}

// many is from how many contestants on a table has only the span of each figure.
const many = 12

// table has a row for each contestant and a column for each figure, or for that of
// hits and misses together.
func (d document) table(g []experiment) *report.Table {
	columns := pairs(kinds(d.records[g[0].name()]))
	t := &report.Table{Head: []string{"who"}}
	if len(g) > 1 {
		t.Head = []string{"experiment", "who"}
	}
	for _, c := range columns {
		t.Head = append(t.Head, shortened.Replace(strings.Join(c, "/")))
	}
	for _, e := range g {
		r := d.records[e.name()]
		var whos []string
		for _, f := range r.Figures {
			if !slices.Contains(whos, f.Who) {
				whos = append(whos, f.Who)
			}
		}
		row := func(who string, cell func(what string) string) {
			var cells []string
			if len(g) > 1 {
				cells = []string{e.name()}
			}
			cells = append(cells, who)
			for _, c := range columns {
				text := cell(c[0])
				for _, what := range c[1:] {
					text += "/" + cell(what)
				}
				cells = append(cells, strings.ReplaceAll(text, "-/-", "-"))
			}
			t.Row(cells...)
		}
		if len(whos) >= many {
			row(whos[0]+" to "+whos[len(whos)-1], func(what string) string { return span(r, whos, what) })
			continue
		}
		for _, who := range whos {
			row(who, func(what string) string { return cell(r, who, what) })
		}
	}
	return t
}

// pairs puts what hits and misses take into one column.
func pairs(whats []string) [][]string {
	var columns [][]string
	for _, what := range whats {
		if kind, ok := strings.CutSuffix(what, ", misses"); ok && slices.Contains(whats, kind+", hits") {
			i := slices.IndexFunc(columns, func(c []string) bool { return c[0] == kind+", hits" })
			columns[i] = append(columns[i], what)
			continue
		}
		columns = append(columns, []string{what})
	}
	return columns
}

// shortened has the heads of columns: a time is in nanoseconds if it has no unit.
var shortened = strings.NewReplacer(
	batch+", hits/"+batch+", misses", "batch, hits/misses", single+", hits/"+single+", misses", "lookup, hits/misses",
	" while growing", "", "bits per key of the whole file", "bits", "ns per ", "",
)

// span writes the lowest and the highest figure of contestants.
func span(r record, whos []string, what string) string {
	var values []float64
	for _, who := range whos {
		values = append(values, r.find(who, what))
	}
	return report.Span(values, "%.4g")
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

// origins lists the runs by processor, each with its experiments.
func (d document) origins() string {
	names := map[string]map[string][]string{} // by processor and run
	for name, r := range d.records {
		run := fmt.Sprintf("%s, %s, %s, %d rounds", r.Date, r.Commit, r.Go, r.Rounds)
		if r.Quick {
			run += ", **with -quick: worth nothing**"
		}
		if names[r.CPU] == nil {
			names[r.CPU] = map[string][]string{}
		}
		names[r.CPU][run] = append(names[r.CPU][run], name)
	}
	var b strings.Builder
	for _, cpu := range slices.Sorted(maps.Keys(names)) {
		fmt.Fprintf(&b, "- %s\n", cpu)
		for _, run := range slices.Sorted(maps.Keys(names[cpu])) {
			fmt.Fprintf(&b, "  - %s: %s\n", run, strings.Join(slices.Sorted(slices.Values(names[cpu][run])), ", "))
		}
	}
	return b.String()
}
