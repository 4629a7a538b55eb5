//go:build ignore

// Mutants changes a package in small ways, one at a time, and runs its tests:
// a change that no test notices (a survivor) shows what is not tested.
//
//	go run scripts/mutants.go -n 100 -seed 1 ./bloom ./codec
//
// The operators are fixed: conditions are negated, comparisons moved by one,
// arithmetic and logic swapped, integers changed by one, statements deleted,
// results replaced. The seed chooses n of all possible changes that compile.
// The tree stays as it is: a mutant is given to the go command as an overlay.
// Generated files and test files are left alone.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// mutant is one change: the bytes from from to to of a file become text.
type mutant struct {
	file     string
	line     int
	from, to int
	old, new string
}

func (m mutant) String() string {
	short := func(s string) string {
		s = strings.Join(strings.Fields(s), " ")
		if len(s) > 60 {
			s = s[:57] + "..."
		}
		return s
	}
	return fmt.Sprintf("%s:%d: %s -> %s", filepath.Base(m.file), m.line, short(m.old), short(m.new))
}

// swaps are the operators that take another one's place.
var swaps = map[token.Token][]string{
	token.LSS: {"<=", ">"}, token.LEQ: {"<", ">="}, token.GTR: {">=", "<"}, token.GEQ: {">", "<="},
	token.EQL: {"!="}, token.NEQ: {"=="},
	token.ADD: {"-"}, token.SUB: {"+"}, token.MUL: {"+"}, token.QUO: {"*"}, token.REM: {"/"},
	token.AND: {"|"}, token.OR: {"&"}, token.XOR: {"|"}, token.AND_NOT: {"&"},
	token.SHL: {">>"}, token.SHR: {"<<"},
	token.LAND: {"||"}, token.LOR: {"&&"},
}

// finder collects the mutants of one file.
type finder struct {
	set     *token.FileSet
	name    string
	src     []byte
	mutants []mutant
}

func (f *finder) offset(p token.Pos) int { return f.set.Position(p).Offset }

func (f *finder) text(n ast.Node) string { return string(f.src[f.offset(n.Pos()):f.offset(n.End())]) }

func (f *finder) replace(from, to token.Pos, text string) {
	a, b := f.offset(from), f.offset(to)
	f.mutants = append(f.mutants, mutant{f.name, f.set.Position(from).Line, a, b, string(f.src[a:b]), text})
}

// swap makes mutants of a binary operator; the text shows its operands.
func (f *finder) swap(n *ast.BinaryExpr) {
	for _, op := range swaps[n.Op] {
		f.replace(n.Pos(), n.End(), f.text(n.X)+" "+op+" "+f.text(n.Y))
	}
}

func (f *finder) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.ImportSpec, *ast.ArrayType, *ast.CaseClause:
		if c, ok := n.(*ast.CaseClause); ok {
			for _, x := range c.List {
				if _, binary := x.(*ast.BinaryExpr); binary {
					f.replace(x.Pos(), x.End(), "!("+f.text(x)+")")
				}
			}
			return true
		}
		return false
	case *ast.CallExpr:
		return !isMessage(n)
	case *ast.IfStmt:
		f.replace(n.Cond.Pos(), n.Cond.End(), "!("+f.text(n.Cond)+")")
	case *ast.BinaryExpr:
		f.swap(n)
	case *ast.BasicLit:
		if v, err := strconv.ParseUint(n.Value, 0, 64); n.Kind == token.INT && err == nil {
			f.replace(n.Pos(), n.End(), fmt.Sprint(v+1))
			if v > 0 {
				f.replace(n.Pos(), n.End(), fmt.Sprint(v-1))
			}
		}
	case *ast.BlockStmt:
		for _, s := range n.List {
			f.delete(s)
		}
	case *ast.ReturnStmt:
		for _, r := range n.Results {
			f.result(r)
		}
	}
	return true
}

// isMessage reports whether a call only makes the text of an error: what is in
// it is not worth a test.
func isMessage(c *ast.CallExpr) bool {
	s, ok := c.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	p, ok := s.X.(*ast.Ident)
	return ok && (p.Name == "fmt" || p.Name == "errors" && s.Sel.Name == "New")
}

// delete makes a mutant without a statement.
func (f *finder) delete(s ast.Stmt) {
	switch s := s.(type) {
	case *ast.AssignStmt:
		if s.Tok == token.DEFINE {
			return
		}
		uses := make([]string, 0, len(s.Rhs)+len(s.Lhs))
		for _, x := range append(append([]ast.Expr{}, s.Lhs...), s.Rhs...) {
			if id, ok := x.(*ast.Ident); ok && id.Name != "_" && id.Name != "nil" {
				uses = append(uses, "_ = "+id.Name)
			}
		}
		f.replace(s.Pos(), s.End(), strings.Join(uses, "; "))
	case *ast.ExprStmt, *ast.IncDecStmt, *ast.DeferStmt, *ast.SendStmt, *ast.GoStmt:
		f.replace(s.Pos(), s.End(), "")
	case *ast.BranchStmt:
		if s.Tok == token.CONTINUE || s.Tok == token.BREAK {
			f.replace(s.Pos(), s.End(), "")
		}
	}
}

// result makes mutants of a result. Those of another type do not compile and
// are passed over.
func (f *finder) result(r ast.Expr) {
	text := f.text(r)
	switch text {
	case "true":
		f.replace(r.Pos(), r.End(), "false")
	case "false":
		f.replace(r.Pos(), r.End(), "true")
	case "nil":
	case "err":
		f.replace(r.Pos(), r.End(), "nil")
	default:
		f.replace(r.Pos(), r.End(), "!("+text+")")
		f.replace(r.Pos(), r.End(), "("+text+") + 1")
	}
}

// find returns all mutants of a package's files.
func find(files []string) ([]mutant, error) {
	var all []mutant
	for _, name := range files {
		src, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		set := token.NewFileSet()
		tree, err := parser.ParseFile(set, name, src, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		if ast.IsGenerated(tree) {
			continue
		}
		f := finder{set: set, name: name, src: src}
		ast.Inspect(tree, f.visit)
		all = append(all, f.mutants...)
	}
	return all, nil
}

// listed is what `go list` says about a package.
type listed struct {
	Dir, ImportPath string
	GoFiles         []string
}

func list(patterns []string) ([]listed, error) {
	out, err := exec.Command("go", append([]string{"list", "-json=Dir,ImportPath,GoFiles"}, patterns...)...).Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	var all []listed
	for d := json.NewDecoder(strings.NewReader(string(out))); d.More(); {
		var p listed
		if err := d.Decode(&p); err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}

// bench is where the mutants of one package are tried.
type bench struct {
	pkg     listed
	tmp     string
	tests   []string // packages whose tests count
	timeout time.Duration
}

// run runs the tests of the package with an overlay, "" for none.
func (b *bench) run(overlay string) error {
	ctx, cancel := context.WithTimeout(context.Background(), b.timeout)
	defer cancel()
	args := []string{"test", "-short", "-count=1", "-failfast", "-vet=off", "-timeout", b.timeout.String()}
	if overlay != "" {
		args = append(args, "-overlay", overlay)
	}
	c := exec.CommandContext(ctx, "go", append(args, b.tests...)...)
	c.WaitDelay = 5 * time.Second
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) }
	out, err := c.CombinedOutput()
	if err != nil && bytes.Contains(out, []byte("[build failed]")) {
		return errNoBuild
	}
	return err
}

// errNoBuild is the result of a mutant that does not compile.
var errNoBuild = errors.New("it does not compile")

// try reports whether the mutant compiles and whether a test fails with it.
func (b *bench) try(m mutant) (compiles, killed bool, err error) {
	src, err := os.ReadFile(m.file)
	if err != nil {
		return false, false, err
	}
	changed := filepath.Join(b.tmp, "mutant.go")
	if err := os.WriteFile(changed, []byte(string(src[:m.from])+m.new+string(src[m.to:])), 0o600); err != nil {
		return false, false, err
	}
	text, err := json.Marshal(map[string]map[string]string{"Replace": {m.file: changed}})
	if err != nil {
		return false, false, err
	}
	overlay := filepath.Join(b.tmp, "overlay.json")
	if err := os.WriteFile(overlay, text, 0o600); err != nil {
		return false, false, err
	}
	err = b.run(overlay)
	return !errors.Is(err, errNoBuild), err != nil, nil
}

// report tries n mutants of a package and prints those that survive.
func report(p listed, n int, seed uint64, tmp string, also []string) error {
	files := make([]string, len(p.GoFiles))
	for i, f := range p.GoFiles {
		files[i] = filepath.Join(p.Dir, f)
	}
	all, err := find(files)
	if err != nil {
		return err
	}
	b := bench{pkg: p, tmp: tmp, tests: append([]string{p.ImportPath}, also...), timeout: 10 * time.Minute}
	start := time.Now()
	if err := b.run(""); err != nil {
		return fmt.Errorf("%s: the tests fail without a mutant: %w", p.ImportPath, err)
	}
	b.timeout = 30*time.Second + 4*time.Since(start)
	rng := rand.New(rand.NewPCG(seed, 0))
	rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	tried, killed := 0, 0
	for _, m := range all {
		if tried == n {
			break
		}
		compiles, dead, err := b.try(m)
		switch {
		case err != nil:
			return err
		case !compiles:
			continue
		case dead:
			killed++
		default:
			fmt.Printf("SURVIVES %s %s\n", p.ImportPath, m)
		}
		tried++
	}
	fmt.Printf("%s: %d mutants of %d places, %d killed, %d survive\n", p.ImportPath, tried, len(all), killed, tried-killed)
	return nil
}

func run() error {
	n := flag.Int("n", 100, "mutants per package")
	seed := flag.Uint64("seed", 1, "chooses the mutants")
	with := flag.String("with", "", "packages whose tests count, too, separated by commas")
	flag.Parse()
	if flag.NArg() == 0 {
		return errors.New("usage: go run scripts/mutants.go [-n 100] [-seed 1] package...")
	}
	packages, err := list(flag.Args())
	if err != nil {
		return err
	}
	tmp, err := os.MkdirTemp("", "mutants-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp) //nolint:errcheck // a temporary folder
	var also []string
	if *with != "" {
		also = strings.Split(*with, ",")
	}
	for _, p := range packages {
		if err := report(p, *n, *seed, tmp, also); err != nil {
			return err
		}
	}
	return nil
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}
