package main

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// test is one top-level test, example or fuzz target.
type test struct {
	suite   *suite
	name    string
	wall    time.Duration
	cpu     time.Duration
	reaches map[string][]block // by import path and file name
	bad     bool               // it fails without a mutant, too
}

// block is a stretch of code as cover sees it, by line*4096 + column.
type block struct{ from, to int }

func place(line, column int) int { return line<<12 + column }

// suite is the tests of one package.
type suite struct {
	dir, path string
	binary    string // with all mutants, "" before it is built
	tests     []*test
	blocks    map[string][]block // all, reached or not
}

// about returns a suite for one source of those that were learned.
func (u *suite) about(s *source) *suite {
	c := &suite{dir: u.dir, path: u.path, blocks: u.blocks}
	for _, t := range u.tests {
		reaches := u.path == s.ImportPath // a test of constants reaches no line
		for file := range t.reaches {
			reaches = reaches || filepath.Dir(file) == s.ImportPath
		}
		if reaches {
			mine := *t
			mine.suite = c
			c.tests = append(c.tests, &mine)
		}
	}
	return c
}

// learn runs each test of a package alone and notes what it reaches in the
// packages under mutation.
func learn(pattern string, f flags, tmp string) (*suite, error) {
	out, err := exec.Command("go", "list", "-f", "{{.Dir}}\n{{.ImportPath}}", pattern).Output()
	if err != nil {
		return nil, fmt.Errorf("go list %s: %w", pattern, err)
	}
	where := strings.Fields(string(out))
	u := &suite{dir: where[0], path: where[1], blocks: map[string][]block{}}
	binary := filepath.Join(tmp, "cover.test")
	build := exec.Command("go", "test", "-c", "-vet=off", "-cover", "-coverpkg", f.sources, "-o", binary, u.path)
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", u.path, err, out)
	}
	names, err := exec.Command(binary, "-test.list", "^(Test|Example|Fuzz)").Output()
	if err != nil {
		return u, nil // no tests: no binary
	}
	wanted, err := regexp.Compile(f.run)
	if err != nil {
		return nil, err
	}
	for _, name := range strings.Fields(string(names)) {
		if !wanted.MatchString(name) {
			continue
		}
		t := &test{suite: u, name: name, reaches: map[string][]block{}}
		profile := filepath.Join(tmp, "profile")
		start := time.Now()
		r := execute(tmp, u.dir, 0, time.Minute, f.slow, binary, "-test.short", "-test.run", "^"+name+"$", "-test.coverprofile", profile)
		if r.failed {
			fmt.Printf("%s: %s takes long or fails without a mutant and is left out\n", u.path, name)
			continue
		}
		t.wall, t.cpu = time.Since(start), r.cpu
		if err := t.read(profile); err != nil {
			return nil, err
		}
		u.tests = append(u.tests, t)
	}
	slices.SortFunc(u.tests, func(a, b *test) int { return cmp.Compare(a.wall, b.wall) })
	return u, nil
}

// read takes the blocks of a profile: file:line.column,line.column statements count.
func (t *test) read(profile string) error {
	text, err := os.ReadFile(profile)
	if err != nil {
		return err
	}
	first := len(t.suite.blocks) == 0
	for line := range strings.Lines(string(text)) {
		file, rest, ok := strings.Cut(strings.TrimSpace(line), ".go:")
		if !ok {
			continue
		}
		var l1, c1, l2, c2, statements, count int
		if _, err := fmt.Sscanf(rest, "%d.%d,%d.%d %d %d", &l1, &c1, &l2, &c2, &statements, &count); err != nil {
			return fmt.Errorf("%s: %w", line, err)
		}
		name, b := file+".go", block{place(l1, c1), place(l2, c2)}
		if first {
			t.suite.blocks[name] = append(t.suite.blocks[name], b)
		}
		if count > 0 {
			t.reaches[name] = append(t.reaches[name], b)
		}
	}
	return nil
}

// reached reports whether a test reaches a mutant. What lies in no block, the
// conditions of a switch say, is reached with any part of its function, and
// what lies in no function by all tests.
func (t *test) reached(m *mutant) bool {
	at, file := place(m.Line, m.column), module+m.Package+"/"+m.File
	in := func(b block) bool { return b.from <= at && at < b.to }
	if slices.ContainsFunc(t.suite.blocks[file], in) {
		return slices.ContainsFunc(t.reaches[file], in)
	}
	if m.fn == nil {
		return true
	}
	return slices.ContainsFunc(t.reaches[file], func(b block) bool {
		return b.from >= place(m.fnLines[0], 0) && b.to <= place(m.fnLines[1]+1, 0)
	})
}
