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

// test is one top-level test, example or fuzz target, or a subtest of a slow one.
type test struct {
	suite   *suite
	name    string // of a subtest: with that of its test before a slash
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
	unwanted, err := regexp.Compile(f.skip)
	if err != nil {
		return nil, err
	}
	for _, name := range strings.Fields(string(names)) {
		if !wanted.MatchString(name) || unwanted.MatchString(name) {
			continue
		}
		t, parts, err := u.alone(binary, name, f, tmp)
		if err != nil {
			return nil, err
		}
		if t == nil {
			fmt.Printf("%s: %s takes long or fails without a mutant and is left out\n", u.path, name)
			continue
		}
		tests, err := u.split(t, parts, binary, f, tmp)
		if err != nil {
			return nil, err
		}
		u.tests = append(u.tests, tests...)
	}
	slices.SortFunc(u.tests, func(a, b *test) int { return cmp.Compare(a.wall, b.wall) })
	return u, nil
}

var partLine = regexp.MustCompile(`(?m)^    --- PASS: (\S+/\S+) `)

// alone runs one test and returns what it reaches, in processes that it starts
// too, and the names of its subtests. The test is nil if it fails.
func (u *suite) alone(binary, name string, f flags, tmp string) (*test, []string, error) {
	t := &test{suite: u, name: name, reaches: map[string][]block{}}
	profile, children := filepath.Join(tmp, "profile"), filepath.Join(tmp, "children")
	if err := os.Mkdir(children, 0o700); err != nil {
		return nil, nil, err
	}
	defer os.RemoveAll(children) //nolint:errcheck // a temporary folder
	start := time.Now()
	r := execute(tmp, u.dir, 0, 5*time.Minute, f.slow, "env", "GOCOVERDIR="+children,
		binary, "-test.short", "-test.v", "-test.run="+pattern(name), "-test.coverprofile="+profile)
	if r.failed {
		return nil, nil, nil
	}
	t.wall, t.cpu = time.Since(start), r.cpu
	if err := t.read(profile); err != nil {
		return nil, nil, err
	}
	if written, _ := filepath.Glob(children + "/covcounters.*"); len(written) > 0 {
		out, err := exec.Command("go", "tool", "covdata", "textfmt", "-i", children, "-o", profile).CombinedOutput()
		if err != nil {
			return nil, nil, fmt.Errorf("go tool covdata: %w\n%s", err, out)
		}
		if err := t.read(profile); err != nil {
			return nil, nil, err
		}
	}
	var parts []string
	for _, found := range partLine.FindAllSubmatch(r.output, -1) {
		parts = append(parts, string(found[1]))
	}
	return t, parts, nil
}

// split returns the subtests of a test that takes long, if each of them passes
// alone and takes far less.
func (u *suite) split(t *test, parts []string, binary string, f flags, tmp string) ([]*test, error) {
	if t.wall < 4*time.Second || len(parts) < 2 {
		return []*test{t}, nil
	}
	var tests []*test
	for _, name := range parts {
		part, _, err := u.alone(binary, name, f, tmp)
		if err != nil {
			return nil, err
		}
		if part == nil || part.wall > t.wall/2 {
			return []*test{t}, nil
		}
		tests = append(tests, part)
	}
	return tests, nil
}

// pattern matches the name of a test or subtest.
func pattern(name string) string {
	parts := strings.Split(name, "/")
	for i, p := range parts {
		parts[i] = "^" + regexp.QuoteMeta(p) + "$"
	}
	return strings.Join(parts, "/")
}

// isPart reports whether a test is a subtest.
func (t *test) isPart() bool { return strings.Contains(t.name, "/") }

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
