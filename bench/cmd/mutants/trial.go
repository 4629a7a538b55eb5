package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// trial is a run over one package.
type trial struct {
	source *source
	suites []*suite
	tmp    string
	log    *journal
	seed   uint64
}

// overlay builds the tests of a suite with changed files.
func (r *trial) overlay(u *suite, files map[string][]byte, dir string) (string, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	replace := map[string]string{}
	for path, text := range files {
		changed := filepath.Join(dir, filepath.Base(path))
		if err := os.WriteFile(changed, text, 0o600); err != nil {
			return "", err
		}
		replace[path] = changed
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	list, binary := filepath.Join(dir, "overlay.json"), filepath.Join(dir, "mutant.test")
	if err := os.WriteFile(list, text, 0o600); err != nil {
		return "", err
	}
	out, err := exec.Command("go", "test", "-c", "-vet=off", "-overlay", list, "-o", binary, u.path).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s: %w\n%s", u.path, err, out)
	}
	return binary, nil
}

// prepare builds the binary of all mutants for a suite and leaves out the tests
// that fail in it without a mutant, as those do that count allocations.
func (r *trial) prepare(u *suite, mutants []*mutant) error {
	files := map[string][]byte{}
	var pkg string
	for path, tree := range r.source.trees {
		files[path] = r.source.render(path, mutants)
		pkg = tree.Name.Name
	}
	files[filepath.Join(r.source.Dir, "mutant_.go")] = fmt.Appendf(nil, selector, pkg)
	dir := filepath.Join(r.tmp, strings.ReplaceAll(u.path, "/", "_"))
	var err error
	if u.binary, err = r.overlay(u, files, dir); err != nil {
		return err
	}
	for {
		failing := r.first(u.binary, 0, u.tests)
		if failing == nil {
			return nil
		}
		failing.bad = true
		fmt.Printf("%s: %s fails in the binary of all mutants: it runs in builds of their own\n", u.path, failing.name)
	}
}

var (
	failLine = regexp.MustCompile(`(?m)^\s*--- FAIL: (\w+)`)
	runLine  = regexp.MustCompile(`(?m)^=== (?:RUN|CONT)\s+(\w+)`)
)

// first runs tests, the quickest first, and returns the first that fails. Tests
// marked as bad are left out.
func (r *trial) first(binary string, number int, tests []*test) *test {
	good := slices.DeleteFunc(slices.Clone(tests), func(t *test) bool { return t.bad })
	for budget := 500 * time.Millisecond; len(good) > 0; budget *= 4 {
		var group []*test
		var names []string
		var wall, cpu time.Duration
		for len(good) > 0 && (len(group) == 0 || wall < budget && !group[0].isPart() && !good[0].isPart()) {
			group, names = append(group, good[0]), append(names, good[0].name)
			wall, cpu = wall+good[0].wall, cpu+good[0].cpu
			good = good[1:]
		}
		which := "^(" + strings.Join(names, "|") + ")$"
		if group[0].isPart() {
			which = pattern(group[0].name)
		}
		o := execute(r.tmp, group[0].suite.dir, number, 8*time.Second+2*wall, 4*time.Second+4*cpu,
			binary, "-test.short", "-test.failfast", "-test.v", "-test.run="+which)
		if !o.failed {
			continue
		}
		name := ""
		if found := failLine.FindSubmatch(o.output); found != nil {
			name = string(found[1])
		} else if found := runLine.FindAllSubmatch(o.output, -1); found != nil {
			name = string(found[len(found)-1][1])
		}
		if i := slices.Index(names, name); i >= 0 {
			return group[i]
		}
		return group[0]
	}
	return nil
}

// kill returns the test that fails with a mutant, nil if there is none.
func (r *trial) kill(m *mutant) (*test, error) {
	for _, u := range r.suites {
		reaching := slices.DeleteFunc(slices.Clone(u.tests), func(t *test) bool { return !t.reached(m) })
		if len(reaching) == 0 {
			continue
		}
		rest := reaching
		if m.number > 0 {
			if t := r.sure(u, m, reaching); t != nil {
				return t, nil
			}
			rest = slices.DeleteFunc(slices.Clone(reaching), func(t *test) bool { return !t.bad })
			if len(rest) == 0 {
				continue
			}
		}
		dir, err := os.MkdirTemp(r.tmp, "alone-")
		if err != nil {
			return nil, err
		}
		binary, err := r.overlay(u, map[string][]byte{m.path: r.source.alone(m)}, dir)
		if err != nil { // the package compiles with it, its tests do not
			return &test{suite: u, name: "build"}, os.RemoveAll(dir)
		}
		copies := make([]*test, len(rest))
		for i, t := range rest {
			c := *t
			c.bad = false
			copies[i] = &c
		}
		t := r.first(binary, 0, copies)
		if err := os.RemoveAll(dir); err != nil {
			return nil, err
		}
		if t != nil {
			return t, nil
		}
	}
	return nil, nil
}

// sure returns the test that fails with a mutant and passes without.
func (r *trial) sure(u *suite, m *mutant, reaching []*test) *test {
	for {
		t := r.first(u.binary, m.number, reaching)
		if t == nil || t.wall < 200*time.Millisecond || r.first(u.binary, 0, []*test{t}) == nil {
			return t
		}
		fmt.Printf("%s: %s fails now and then and is left out of the next mutant\n", u.path, t.name)
		reaching = slices.DeleteFunc(slices.Clone(reaching), func(other *test) bool { return other == t })
	}
}
