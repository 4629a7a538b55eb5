package main

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// source is a package under mutation.
type source struct {
	Dir, ImportPath string
	GoFiles         []string
	name            string // ImportPath without the module
	set             *token.FileSet
	text            map[string][]byte // by path
	trees           map[string]*ast.File
	info            *types.Info
	imports         types.Importer
	mutants         []*mutant
}

// load reads a package and finds its mutants.
func load(pattern string) (*source, error) {
	s := &source{set: token.NewFileSet(), text: map[string][]byte{}, trees: map[string]*ast.File{}}
	out, err := exec.Command("go", "list", "-json=Dir,ImportPath,GoFiles", pattern).Output()
	if err == nil {
		err = json.Unmarshal(out, s)
	}
	if err != nil {
		return nil, fmt.Errorf("go list %s: %w", pattern, err)
	}
	s.name = strings.TrimPrefix(s.ImportPath, module)
	for _, name := range s.GoFiles {
		path := filepath.Join(s.Dir, name)
		if s.text[path], err = os.ReadFile(path); err != nil {
			return nil, err
		}
		if s.trees[path], err = parser.ParseFile(s.set, path, s.text[path], parser.ParseComments); err != nil {
			return nil, err
		}
		if ast.IsGenerated(s.trees[path]) {
			continue
		}
		f := finder{set: s.set, pkg: s.name, name: path, src: s.text[path]}
		ast.Walk(&f, s.trees[path])
		s.mutants = append(s.mutants, f.mutants...)
	}
	return s, nil
}

// everywhere returns the mutants of a package by their IDs, those in files for
// other systems and build tags too.
func everywhere(pattern string) (map[string]*mutant, error) {
	out, err := exec.Command("go", "list", "-f", "{{.Dir}}\n{{range .GoFiles}}{{.}}\n{{end}}{{range .IgnoredGoFiles}}{{.}}\n{{end}}", pattern).Output()
	if err != nil {
		return nil, fmt.Errorf("go list %s: %w", pattern, err)
	}
	names := strings.Fields(string(out))
	all := map[string]*mutant{}
	for _, name := range names[1:] {
		path := filepath.Join(names[0], name)
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		f := finder{set: token.NewFileSet(), pkg: strings.TrimPrefix(pattern, "./"), name: path, src: text}
		tree, err := parser.ParseFile(f.set, path, text, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		ast.Walk(&f, tree)
		for _, m := range f.mutants {
			all[m.ID] = m
		}
	}
	return all, nil
}

// choose returns n mutants that compile: those with the smallest hashes of seed
// and ID, so that a change in one function leaves the choice in others alone.
func (s *source) choose(n int, seed uint64) ([]*mutant, error) {
	if err := s.resolve(); err != nil {
		return nil, err
	}
	rank := func(m *mutant) string {
		sum := sha256.Sum256(fmt.Appendf(nil, "%d %s", seed, m.ID))
		return string(sum[:])
	}
	all := slices.SortedFunc(slices.Values(s.mutants), func(a, b *mutant) int { return cmp.Compare(rank(a), rank(b)) })
	var chosen []*mutant
	for _, m := range all {
		if len(chosen) == n {
			break
		}
		m.number = len(chosen) + 1
		if s.check(m.path, s.render(m.path, []*mutant{m}), nil) != nil {
			m.number = 0
			if s.check(m.path, s.alone(m), nil) != nil {
				continue
			}
		}
		chosen = append(chosen, m)
	}
	return chosen, nil
}

// resolve finds the types of all expressions.
func (s *source) resolve() error {
	out, err := exec.Command("go", "list", "-export", "-deps", "-f", "{{.ImportPath}}\t{{.Export}}", s.ImportPath, "os", "strconv").Output()
	if err != nil {
		return fmt.Errorf("go list -export: %w", err)
	}
	exports := map[string]string{}
	for line := range strings.Lines(string(out)) {
		path, file, _ := strings.Cut(strings.TrimSpace(line), "\t")
		exports[path] = file
	}
	s.imports = importer.ForCompiler(s.set, "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(cmp.Or(exports[path], exports["vendor/"+path]))
	})
	s.info = &types.Info{Types: map[ast.Expr]types.TypeAndValue{}}
	return s.check("", nil, s.info)
}

// selector is what the binary of all mutants has besides.
const selector = `package %s

import (
	"os"
	"strconv"
)

var mutant_ = func() int { n, _ := strconv.Atoi(os.Getenv("MUTANT")); return n }()
`

// check compiles the package as far as its types, with one file changed.
func (s *source) check(changed string, text []byte, info *types.Info) error {
	set := s.set
	files := make([]*ast.File, 0, len(s.trees)+1)
	var name string
	for path, tree := range s.trees {
		name = tree.Name.Name
		if path == changed {
			var err error
			if tree, err = parser.ParseFile(set, path, text, parser.SkipObjectResolution); err != nil {
				return err
			}
		}
		files = append(files, tree)
	}
	if changed != "" {
		tree, err := parser.ParseFile(set, "mutant_.go", fmt.Sprintf(selector, name), 0)
		if err != nil {
			return err
		}
		files = append(files, tree)
	}
	c := types.Config{Importer: s.imports}
	_, err := c.Check(s.ImportPath, set, files, info)
	return err
}

// alone is the file of a mutant with its change and nothing else.
func (s *source) alone(m *mutant) []byte {
	src := s.text[m.path]
	return slices.Concat(src[:m.from], []byte(m.New), src[m.to:])
}

// render is a file with mutants of which MUTANT chooses one. Each is wrapped
// around the original text, so that they may lie in each other.
func (s *source) render(path string, mutants []*mutant) []byte {
	type wrap struct {
		from, to      int
		before, after string
	}
	src := s.text[path]
	var wraps []wrap
	for _, m := range mutants {
		if m.path != path || m.number == 0 {
			continue
		}
		if _, ok := m.node.(ast.Stmt); ok {
			wraps = append(wraps, wrap{m.from, m.to, fmt.Sprintf("if mutant_ != %d { ", m.number), " }"})
			continue
		}
		// What is around a constant must stay one: the largest constant changes.
		x := m.node.(ast.Expr)
		for i := len(m.ancestors) - 1; i >= 0; i-- {
			outer, ok := m.ancestors[i].(ast.Expr)
			if !ok || s.info.Types[outer].Value == nil {
				break
			}
			x = outer
		}
		from, to := s.set.Position(x.Pos()).Offset, s.set.Position(x.End()).Offset
		changed := string(src[from:m.from]) + m.New + string(src[m.to:to])
		t := types.Default(s.info.Types[x].Type)
		if t == types.Typ[types.Bool] {
			wraps = append(wraps, wrap{from, to, fmt.Sprintf("(mutant_ == %[1]d && (%[2]s) || mutant_ != %[1]d && (", m.number, changed), "))"})
			continue
		}
		name := types.TypeString(t, func(p *types.Package) string {
			if p.Path() == s.ImportPath {
				return ""
			}
			return p.Name()
		})
		wraps = append(wraps, wrap{from, to, fmt.Sprintf("func() %s { if mutant_ == %d { return %s }; return (", name, m.number, changed), ") }()"})
	}
	slices.SortStableFunc(wraps, func(a, b wrap) int { return cmp.Or(a.from-b.from, b.to-a.to) })
	var out []byte
	var open []wrap
	next := 0
	shut := func(upTo int) {
		for len(open) > 0 && open[len(open)-1].to <= upTo {
			w := open[len(open)-1]
			open = open[:len(open)-1]
			out = append(append(out, src[next:w.to]...), w.after...)
			next = w.to
		}
	}
	for _, w := range wraps {
		shut(w.from)
		out = append(append(out, src[next:w.from]...), w.before...)
		next = w.from
		open = append(open, w)
	}
	shut(len(src))
	return append(out, src[next:]...)
}
