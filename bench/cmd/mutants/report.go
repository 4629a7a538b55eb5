package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
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
	// commits has the commit of each package's last result.
	commits map[string]string
}

func openJournal(path string) (*journal, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	j := &journal{file: file, rows: map[string][]row{}, commits: map[string]string{}}
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var r row
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		j.keep(r)
	}
	return j, nil
}

// known reports whether a mutant needs no further trial.
func (j *journal) known(m *mutant, again bool) bool {
	rows := j.rows[m.ID]
	return len(rows) > 0 && (!again || rows[len(rows)-1].KilledBy != "")
}

func (j *journal) keep(r row) {
	j.rows[r.ID] = append(j.rows[r.ID], r)
	j.commits[r.Package] = r.Commit
}

func (j *journal) add(r row) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.keep(r)
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	_, err = j.file.Write(append(text, '\n'))
	return err
}

// reason explains a survivor: a class and a word on this one.
type reason struct{ class, words string }

// reasons reads the file of explanations: lines of ID, class and words, separated
// by tabs. Lines that start with # explain a class.
func reasons(path string) (map[string]bool, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	explained := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		f := strings.Split(strings.TrimSpace(line), "\t")
		switch {
		case f[0] == "" || strings.HasPrefix(f[0], "# "):
		case len(f) == 3:
			explained[f[0]] = true
		default:
			return nil, fmt.Errorf("%s: bad line: %s", path, line)
		}
	}
	return explained, nil
}

// tally is a package's line in the table.
type tally struct{ tried, killed, explained int }

// document writes the report: packages with results get a new row, the rows of
// the others stay. Mutants of functions that have changed since do not count.
func document(log *journal, why, path string) error {
	explained, err := reasons(why)
	if err != nil {
		return err
	}
	rows := tableOf(path)
	tallies := map[string]*tally{}
	here := map[string]map[string]*mutant{}
	for id, results := range log.rows {
		pkg, last := results[0].Package, results[len(results)-1]
		if here[pkg] == nil {
			if here[pkg], err = everywhere("./" + pkg); err != nil {
				return err
			}
			tallies[pkg] = &tally{}
		}
		if here[pkg][id] == nil {
			continue
		}
		t := tallies[pkg]
		t.tried++
		switch {
		case last.KilledBy != "":
			t.killed++
		case explained[id]:
			t.explained++
		default:
			fmt.Printf("OPEN %s %s/%s:%d: %s -> %s\n", id, pkg, last.File, here[pkg][id].Line, last.Old, last.New)
		}
	}
	for pkg, t := range tallies {
		rows[pkg] = []string{pkg}
		for _, n := range []int{t.tried, t.killed, t.explained, t.tried - t.killed - t.explained} {
			rows[pkg] = append(rows[pkg], strconv.Itoa(n))
		}
		rows[pkg] = append(rows[pkg], log.commits[pkg])
	}
	doc := report.New("Mutants", "make mutants")
	doc.Add(preface)
	table := &report.Table{Head: []string{"package", "mutants", "killed", "explained", "open", "last run at"}}
	for _, pkg := range slices.Sorted(maps.Keys(rows)) {
		table.Row(rows[pkg]...)
	}
	doc.Table(table)
	return doc.Write(path, io.Discard, "")
}

// tableOf returns the rows of a report that was written before, by package.
func tableOf(path string) map[string][]string {
	rows := map[string][]string{}
	text, _ := os.ReadFile(path) // there is none at first
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.Trim(line, "| \n"), " | ")
		if _, err := os.Stat(cells[0]); err == nil && len(cells) == 6 {
			rows[cells[0]] = cells
		}
	}
	return rows
}

const preface = `A mutant is the code with one small change: if tests still pass, nothing tests it.
` + "`make mutants PKG=./cuckoo`" + ` tries 100 of them, chosen by ` + "`SEED=1`" + `, with the short tests, and renews the row of the
package. Explained survivors are those that bench/results/mutants.tsv has a reason for: nothing that can be observed changes,
or only speed, a message, an unneeded lock, a check of what cannot happen. Open ones are printed.
`
