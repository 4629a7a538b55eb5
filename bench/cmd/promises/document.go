package main

import (
	"cmp"
	_ "embed"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/bloomery/bloomery/bench/internal/library"
	"github.com/bloomery/bloomery/bench/internal/report"
)

// protocol says what is asked and what counts as kept.
//
//go:embed protocol.md
var protocol string

// document is everything that was found.
type document struct {
	rows    []row
	hazards []hazard
	missing int // rows and bad input that nobody measured yet
}

// gather returns the document of all that is known.
func gather(known records) document {
	var d document
	for _, r := range rows(math.MaxInt) {
		one, ok := known.Get(r.name())
		if !ok {
			d.missing++
			continue
		}
		r.record = one
		d.rows = append(d.rows, r)
	}
	for _, h := range hazards() {
		one, ok := known.Get(h.name())
		if !ok {
			d.missing++
			continue
		}
		h.record, h.outcome = one, *one.Outcome
		d.hazards = append(d.hazards, h)
	}
	return d
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

// markdown returns the document: what is asked, a line for each library, and
// what came of bad input. The rows themselves stay in the results.
func (d document) markdown() *report.Document {
	doc := report.New("Promises", "make promises")
	doc.Text(introText)
	if d.missing > 0 {
		doc.Add(fmt.Sprintf("%d rows and cases are not measured yet.", d.missing))
	}
	doc.Add(protocol)
	doc.Section("In short")
	doc.Table(d.summary())
	doc.Add(sizings())
	doc.Section("Where the figures come from")
	doc.Table(d.origins())
	doc.Section("Bad parameters")
	doc.Text(parametersText)
	doc.Table(d.outcomes(false))
	doc.Section("Damaged files")
	doc.Text(filesText)
	doc.Table(d.outcomes(true))
	return doc
}

// everyRow returns all rows, library by library.
func (d document) everyRow() string {
	doc := report.New("Every row of the promises", "cd bench && go run ./cmd/promises -results results/promises.jsonl -only '^$' -rows")
	for _, lib := range library.All() {
		if t := d.table(lib.Name); !t.Empty() {
			doc.Section(lib.Title())
			doc.Table(t)
		}
	}
	return doc.String()
}

// sizings lists how libraries without an error rate were sized.
func sizings() string {
	var b strings.Builder
	for _, lib := range library.All() {
		if lib.Sizing != "" {
			fmt.Fprintf(&b, "- %s %s.\n", lib.Name, lib.Sizing)
		}
	}
	return b.String()
}

const (
	introText = "Each measurement is a line of bench/results/promises.jsonl, with its commit, date, seed and counts. " +
		"`make promises` measures what is missing; with `-only '^$' -rows` the program only prints every row."
	parametersText = "A filter is asked for with a bad number of keys (at 1%) or a bad rate (for 1,000 keys); where the " +
		"library gives one, 1,000 keys are added and 100,000 others asked for. In bold: what a caller cannot foresee or does not notice."
	filesText = "A filter with 1,000 keys at 1% is written, damaged and read. 64 bits are flipped, one at a time. " +
		"Libraries without a format of their own are missing."
)

// summary has a row for each library.
func (d document) summary() *report.Table {
	t := &report.Table{Head: []string{
		"library", "rows kept", "worst, times the rate asked for", "at rate/keys/n", "absent keys asked, times 1/rate", "bad input handled",
	}}
	for _, lib := range library.All() {
		var worst *row
		rows, kept := 0, 0
		least, most := math.Inf(1), 0.0
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
			if r.Rate != nil {
				least, most = min(least, r.effort()), max(most, r.effort())
			}
		}
		ratio, where := "-", "-"
		if worst != nil {
			ratio = round(worst.ratio())
			where = fmt.Sprintf("%g/%s/%d", worst.asked, worst.keys.Name, worst.n)
		}
		good, all := d.refused(lib.Name)
		t.Row(lib.Title(), fmt.Sprintf("%d/%d", kept, rows), ratio, where, span(least, most), fmt.Sprintf("%d/%d", good, all))
	}
	return t
}

// span writes an interval of efforts.
func span(least, most float64) string {
	switch {
	case most == 0:
		return "-"
	case round(least) == round(most):
		return round(most)
	}
	return round(least) + "–" + round(most)
}

// origins has a row for each commit and day.
func (d document) origins() *report.Table {
	type origin struct{ commit, date, version string }
	rows, cases := map[origin]int{}, map[origin]int{}
	for _, r := range d.rows {
		rows[origin{r.Commit, r.Date, r.Go}]++
	}
	for _, h := range d.hazards {
		cases[origin{h.record.Commit, h.record.Date, h.record.Go}]++
	}
	all := maps.Clone(rows)
	maps.Copy(all, cases)
	t := &report.Table{Head: []string{"date", "commit", "Go", "rows", "cases of bad input"}}
	for _, o := range slices.SortedFunc(maps.Keys(all), func(a, b origin) int {
		return cmp.Or(cmp.Compare(a.date, b.date), cmp.Compare(a.commit, b.commit), cmp.Compare(a.version, b.version))
	}) {
		t.Row(o.date, o.commit, o.version, strconv.Itoa(rows[o]), strconv.Itoa(cases[o]))
	}
	return t
}

// refused counts the bad input that a library handled.
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

// outcomes has a column for each input and a row for each library, or for several
// with the same outcomes.
func (d document) outcomes(file bool) *report.Table {
	t := &report.Table{Head: []string{"library"}}
	for _, in := range inputs() {
		if in.file == file {
			t.Head = append(t.Head, in.name)
		}
	}
	var rows [][]string
	for _, lib := range library.All() {
		row, found := []string{lib.Name}, false
		for _, in := range inputs() {
			if in.file != file {
				continue
			}
			cell := "-"
			for _, h := range d.hazards {
				if h.lib.Name == lib.Name && h.input.name == in.name {
					cell, found = h.outcome.brief(), true
				}
			}
			row = append(row, cell)
		}
		same := slices.IndexFunc(rows, func(r []string) bool { return slices.Equal(r[1:], row[1:]) })
		switch {
		case !found:
		case same >= 0:
			rows[same][0] += "; " + lib.Name
		default:
			rows = append(rows, row)
		}
	}
	for _, row := range rows {
		t.Row(row...)
	}
	return t
}

// table has all rows of one library.
func (d document) table(lib string) *report.Table {
	t := &report.Table{Head: []string{"asked", "keys", "n", "absent keys asked", "got", "ratio", "bits per key", "verdict"}}
	for _, r := range d.rows {
		if r.lib.Name != lib {
			continue
		}
		asked, got := "-", "-"
		if r.Rate != nil {
			asked, got = fmt.Sprintf("%.3g", float64(r.queries())), fmt.Sprintf("%.4g ± %.1g", r.Rate.Mean, r.Rate.Sigma)
		}
		t.Row(fmt.Sprintf("%g", r.asked), r.keys.Name, strconv.Itoa(r.n), asked, got,
			fmt.Sprintf("%.3f", r.ratio()), fmt.Sprintf("%.2f", r.BitsPerKey), r.verdict())
	}
	return t
}
