package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/bloomery/bloomery/bench/internal/report"
)

// row is a line of the results.
type row struct {
	Package, Commit string
	Seed            uint64
	ID              string
	File            string
	Line            int
	Operator        string
	Old, New        string
	Reached         int    // tests that reach it
	KilledBy        string `json:",omitempty"` // the test, "" for a survivor
}

// journal is the file of results.
type journal struct {
	mu   sync.Mutex
	file *os.File
	rows map[string][]row // by ID, the oldest first
}

func openJournal(path string) (*journal, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	j := &journal{file: file, rows: map[string][]row{}}
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var r row
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		j.rows[r.ID] = append(j.rows[r.ID], r)
	}
	return j, nil
}

// known reports whether a mutant needs no further trial.
func (j *journal) known(m *mutant, again bool) bool {
	rows := j.rows[m.ID]
	return len(rows) > 0 && (!again || rows[len(rows)-1].KilledBy != "")
}

func (j *journal) add(r row) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.rows[r.ID] = append(j.rows[r.ID], r)
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	_, err = j.file.Write(append(text, '\n'))
	return err
}

// reason explains a survivor: a class and a word on this one.
type reason struct{ class, words string }

// notes are what the file of explanations has.
type notes struct {
	reasons map[string]reason
	classes [][2]string // name and meaning
	earlier [][3]string // package, mutants, killed: runs that kept no list
}

// read takes lines of ID, class and words, separated by tabs. Lines that start
// with # name a class, those that start with = an earlier run.
func (n *notes) read(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	n.reasons = map[string]reason{}
	for line := range strings.Lines(string(text)) {
		f := strings.Split(strings.TrimSpace(line), "\t")
		switch {
		case f[0] == "":
		case strings.HasPrefix(f[0], "# ") && len(f) == 2:
			n.classes = append(n.classes, [2]string{f[0][2:], f[1]})
		case strings.HasPrefix(f[0], "= ") && len(f) == 3:
			n.earlier = append(n.earlier, [3]string{f[0][2:], f[1], f[2]})
		case len(f) == 3:
			n.reasons[f[0]] = reason{f[1], f[2]}
		default:
			return fmt.Errorf("%s: bad line: %s", path, line)
		}
	}
	return nil
}

// tally is a package's line in the table.
type tally struct {
	tried, first, now, explained int
	survivors                    []row
}

// document writes the report. Rows of functions that changed since are left out.
func document(log *journal, why, path string) error {
	var known notes
	if err := known.read(why); err != nil {
		return err
	}
	explained := known.reasons
	tallies := map[string]*tally{}
	here := map[string]map[string]*mutant{}
	for id, rows := range log.rows {
		pkg, last := rows[0].Package, rows[len(rows)-1]
		if here[pkg] == nil {
			all, err := everywhere("./" + pkg)
			if err != nil {
				return err
			}
			here[pkg], tallies[pkg] = all, &tally{}
		}
		m := here[pkg][id]
		if m == nil {
			continue
		}
		t := tallies[pkg]
		t.tried++
		if rows[0].KilledBy != "" {
			t.first++
		}
		if last.KilledBy != "" {
			t.now++
			continue
		}
		if _, ok := explained[id]; ok {
			t.explained++
		}
		last.Line = m.Line
		t.survivors = append(t.survivors, last)
	}
	doc := report.New("Mutants", "make mutants")
	doc.Add(preface)
	packages := slices.Sorted(maps.Keys(tallies))
	table := &report.Table{Head: []string{"package", "mutants", "killed first", "killed now", "explained", "open"}}
	add := func(name string, t tally) {
		cells := []string{name}
		for _, n := range []int{t.tried, t.first, t.now, t.explained, t.tried - t.now - t.explained} {
			cells = append(cells, strconv.Itoa(n))
		}
		table.Row(cells...)
	}
	var sum tally
	for _, pkg := range packages {
		t := tallies[pkg]
		add(pkg, *t)
		sum.tried, sum.first, sum.now, sum.explained = sum.tried+t.tried, sum.first+t.first, sum.now+t.now, sum.explained+t.explained
	}
	add("**all**", sum)
	for _, e := range known.earlier {
		if tallies[e[0]] == nil {
			table.Row(e[0]+", an earlier run without a list", e[1], e[2], "", "", "")
		}
	}
	doc.Table(table)
	missing, err := untried(tallies)
	if err != nil {
		return err
	}
	doc.Add("Packages without a run: " + missing + ".\n")
	doc.Section("Why the rest survive")
	classes := ""
	for _, c := range known.classes {
		classes += "- **" + c[0] + "**: " + c[1] + "\n"
	}
	doc.Add(classes)
	doc.Section("Survivors by line")
	for _, pkg := range packages {
		if list := tallies[pkg].survivors; len(list) > 0 {
			doc.Subsection(pkg)
			doc.Add(survivors(list, explained))
		}
	}
	return doc.Write(path, io.Discard, "")
}

// untried returns the names of the packages that have no tally.
func untried(tallies map[string]*tally) (string, error) {
	out, err := exec.Command("go", "list", "-f", "{{if .GoFiles}}{{.ImportPath}}{{end}}", "./...").Output()
	if err != nil {
		return "", fmt.Errorf("go list: %w", err)
	}
	var names []string
	for _, path := range strings.Fields(string(out)) {
		if name, ok := strings.CutPrefix(path, module); ok && tallies[name] == nil {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", "), nil
}

// survivors lists the mutants that no test kills, with the reason of each.
func survivors(list []row, explained map[string]reason) string {
	slices.SortFunc(list, func(a, b row) int {
		return cmp.Or(cmp.Compare(a.File, b.File), a.Line-b.Line, cmp.Compare(a.ID, b.ID))
	})
	var b strings.Builder
	for _, r := range list {
		to := "`" + r.New + "`"
		if r.Operator == "delete" {
			to = "nothing"
		}
		e := explained[r.ID]
		if e.class == "" {
			e = reason{"open", "not looked at"}
		}
		note := e.class
		if e.words != "" && e.words != "-" {
			note += ": " + e.words
		}
		fmt.Fprintf(&b, "- %s:%d `%s` to %s (%s)\n", r.File, r.Line, r.Old, to, note)
	}
	return b.String()
}

const preface = `A mutant is the code with one small change. If the tests still pass, nothing tests what was
changed. ` + "`make mutants PKG=./cuckoo`" + ` tries 100 of them, chosen by ` + "`SEED=1`" + `: conditions negated,
comparisons moved by one, arithmetic and logic swapped, integers changed by one, statements
deleted, results replaced (bench/cmd/mutants). Only short tests run, so rates are hardly
measured; tests that compute for seconds were left out of the runs of server packages (-slow), and
tests of other packages count only where a run named them (-tests): those of the commands are
in server/internal/command. This page is written from bench/results/mutants.jsonl, which has
every mutant with the test that killed it, and from bench/results/mutants.tsv, which explains
survivors. A mutant is counted as long as its function stays as it is: packages that have
changed much since have fewer than 100.

"First" is how many the tests killed that were there when a mutant was first tried, "now" how
many they kill with the tests that were written since.
`
