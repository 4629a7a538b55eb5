// Command mutants changes packages in small ways, one change at a time, and runs their
// tests: a change that no test notices (a survivor) shows what is not tested.
//
//	go run ./cmd/mutants -n 100 -seed 1 ./bloom ./codec
//	go run ./cmd/mutants -tests ./server/internal/command ./server/internal/command/bf
//	go run ./cmd/mutants -again ./bloom     # try the survivors once more
//	go run ./cmd/mutants -again -run 'TestSize|TestGrown' ./sizing # with new tests only
//	GOFLAGS=-tags=bloomerydebug go run ./cmd/mutants ./server/internal/order
//	go run ./cmd/mutants                    # only write docs/evidence/mutants.md
//
// The operators are fixed: conditions are negated, comparisons moved by one,
// arithmetic and logic swapped, integers changed by one, statements deleted,
// results replaced. The seed chooses n of all changes that compile. Generated
// files and test files are left alone, and so is the text of errors.
//
// A run of a package has four steps.
//
//  1. Every test runs once, with -short and alone, to learn how long it takes
//     and which lines it reaches, in processes that it starts too. A slow test
//     is taken apart into its subtests.
//  2. All chosen mutants are built into one binary, in which the environment
//     variable MUTANT says which of them is there; a change that does not fit
//     in (a constant of a type, say) gets a build of its own. The tree stays as
//     it is: the go command gets the changed files as an overlay.
//  3. Of each mutant only the tests run that reach its line, the quickest
//     first, with a limit of time and memory. What no test reaches survives.
//     A slow test that fails must pass without the mutant before it counts.
//  4. Each result becomes a line of bench/results/mutants.jsonl at once, so
//     that a run that was interrupted goes on; that file and bench/results/mutants.tsv,
//     which explains survivors, give the rows of docs/evidence/mutants.md.
//
// Packages and files are named from the root of the module, the folder above
// bench. A mutant is known by the text of its function and its place in there, so that
// a result holds until the function changes.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"
)

const module = "github.com/bloomery/bloomery/"

// flags are the settings of a run.
type flags struct {
	n, workers int
	seed       uint64
	again      bool
	slow       time.Duration
	tests      string // packages, separated by commas
	run        string // expression that names of tests match
	skip       string // expression that they do not match
	sources    string // import paths of all packages under mutation
}

// try runs all mutants of a package that the journal does not know.
func try(s *source, f flags, log *journal, learned map[string]*suite, tmp string) error {
	start := time.Now()
	if f.run != "" { // some of the tests say nothing of mutants that were never tried with all
		s.mutants = slices.DeleteFunc(s.mutants, func(m *mutant) bool {
			return len(log.rows[m.ID]) == 0 || log.known(m, f.again)
		})
		f.n = len(s.mutants)
	}
	chosen, err := s.choose(f.n, f.seed)
	if err != nil {
		return err
	}
	mutants := slices.DeleteFunc(chosen, func(m *mutant) bool { return log.known(m, f.again) })
	if len(mutants) == 0 {
		return nil
	}
	r := &trial{source: s, tmp: tmp, log: log, seed: f.seed}
	patterns := []string{s.ImportPath}
	if f.tests != "" {
		patterns = append(patterns, strings.Split(f.tests, ",")...)
	}
	for _, p := range patterns {
		if learned[p] == nil {
			if learned[p], err = learn(p, f, tmp); err != nil {
				return err
			}
		}
		u := learned[p].about(s)
		if len(u.tests) == 0 {
			continue
		}
		if err := r.prepare(u, mutants); err != nil {
			return err
		}
		r.suites = append(r.suites, u)
	}
	fmt.Printf("%s: %d mutants, built and ready after %.0f s\n", s.name, len(mutants), time.Since(start).Seconds())
	commit, err := exec.Command("git", "rev-parse", "--short", "HEAD").Output()
	if err != nil {
		return fmt.Errorf("git rev-parse: %w", err)
	}
	work := make(chan *mutant)
	failures := make(chan error, f.workers)
	var wait sync.WaitGroup
	for range f.workers {
		wait.Go(func() {
			for m := range work {
				if err := r.judge(m, strings.TrimSpace(string(commit))); err != nil {
					failures <- err
					return
				}
			}
		})
	}
	for _, m := range mutants {
		select {
		case work <- m:
		case err = <-failures:
		}
		if err != nil {
			break
		}
	}
	close(work)
	wait.Wait()
	if err == nil && len(failures) > 0 {
		err = <-failures
	}
	fmt.Printf("%s: done after %.0f s\n", s.name, time.Since(start).Seconds())
	return err
}

// judge tries one mutant and writes down what became of it.
func (r *trial) judge(m *mutant, commit string) error {
	t, err := r.kill(m)
	if err != nil {
		return err
	}
	result := row{
		Package: m.Package, Commit: commit, Seed: r.seed, ID: m.ID, File: m.File, Line: m.Line,
		Operator: m.Operator, Old: short(m.Old), New: short(m.New),
	}
	for _, u := range r.suites {
		for _, t := range u.tests {
			if t.reached(m) {
				result.Reached++
			}
		}
	}
	if t != nil {
		result.KilledBy = t.name
		if t.suite.path != r.source.ImportPath {
			result.KilledBy = strings.TrimPrefix(t.suite.path, module) + "." + t.name
		}
	} else {
		fmt.Printf("SURVIVES %s %s/%s:%d: %s -> %s (%d tests)\n", m.ID, m.Package, m.File, m.Line, result.Old, result.New, result.Reached)
	}
	return r.log.add(result)
}

func short(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > 70 {
		s = s[:67] + "..."
	}
	return s
}

func run() error {
	var f flags
	flag.IntVar(&f.n, "n", 100, "mutants per package")
	flag.Uint64Var(&f.seed, "seed", 1, "chooses the mutants")
	flag.IntVar(&f.workers, "j", 2, "mutants tried at a time")
	flag.BoolVar(&f.again, "again", false, "try survivors of earlier runs once more")
	flag.DurationVar(&f.slow, "slow", time.Minute, "leave out tests that compute longer than this")
	flag.StringVar(&f.tests, "tests", "", "packages whose tests count, too, separated by commas")
	flag.StringVar(&f.run, "run", "", "with -again: only tests whose names match this expression, and only mutants of earlier runs")
	flag.StringVar(&f.skip, "skip", "^$", "leave out tests whose names match this expression: -again tries survivors with them")
	results := flag.String("results", "bench/results/mutants.jsonl", "file of results")
	why := flag.String("why", "bench/results/mutants.tsv", "file that explains survivors")
	out := flag.String("out", "docs/evidence/mutants.md", "file of the report, empty for none")
	dir := flag.String("dir", "..", "root of the module")
	flag.Parse()
	if f.run != "" && !f.again {
		return errors.New("-run is for -again")
	}
	if err := os.Chdir(*dir); err != nil {
		return err
	}
	log, err := openJournal(*results)
	if err != nil {
		return err
	}
	var sources []*source
	for _, pattern := range flag.Args() {
		s, err := load(pattern)
		if err != nil {
			return err
		}
		sources = append(sources, s)
		f.sources += "," + s.ImportPath
	}
	f.sources = strings.TrimPrefix(f.sources, ",")
	learned := map[string]*suite{}
	for _, s := range sources {
		tmp, err := os.MkdirTemp("", "mutants-")
		if err != nil {
			return err
		}
		err = try(s, f, log, learned, tmp)
		if err := errors.Join(err, os.RemoveAll(tmp)); err != nil {
			return err
		}
	}
	if *out == "" {
		return nil
	}
	return document(log, *why, *out)
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}
