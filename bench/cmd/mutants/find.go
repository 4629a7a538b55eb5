package main

import (
	"crypto/sha256"
	"fmt"
	"go/ast"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// mutant is one change: the bytes from from to to of a file become text.
type mutant struct {
	ID        string
	Package   string
	File      string // without its folder
	Line      int
	Operator  string
	Old, New  string
	path      string
	column    int
	from, to  int
	fn        *ast.FuncDecl // nil outside of functions
	fnLines   [2]int
	node      ast.Node   // what is replaced: an expression or a statement
	ancestors []ast.Node // of node, the outermost first
	number    int        // in the binary of all mutants, 0 if it is not there
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
	pkg     string
	name    string
	src     []byte
	stack   []ast.Node
	fn      *ast.FuncDecl
	mutants []*mutant
}

func (f *finder) offset(p token.Pos) int { return f.set.Position(p).Offset }

func (f *finder) text(n ast.Node) string { return string(f.src[f.offset(n.Pos()):f.offset(n.End())]) }

func (f *finder) add(operator string, n ast.Node, text string) {
	at := f.set.Position(n.Pos())
	m := &mutant{
		Package: f.pkg, File: filepath.Base(f.name), Line: at.Line, Operator: operator, Old: f.text(n), New: text,
		path: f.name, column: at.Column, from: at.Offset, to: f.offset(n.End()),
		fn: f.fn, node: n, ancestors: slices.Clone(f.stack),
	}
	around, start := string(f.src), 0
	if f.fn != nil {
		around, start = f.text(f.fn), f.offset(f.fn.Pos())
		m.fnLines = [2]int{f.set.Position(f.fn.Pos()).Line, f.set.Position(f.fn.End()).Line}
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s/%s %d %d %s\n%s", f.pkg, m.File, m.from-start, m.to-start, text, around))
	m.ID = fmt.Sprintf("%x", sum[:6])
	f.mutants = append(f.mutants, m)
}

// Visit makes the mutants of a node; nil ends the node before.
func (f *finder) Visit(n ast.Node) ast.Visitor {
	if n == nil {
		if f.stack[len(f.stack)-1] == ast.Node(f.fn) {
			f.fn = nil
		}
		f.stack = f.stack[:len(f.stack)-1]
		return nil
	}
	switch n := n.(type) {
	case *ast.ImportSpec, *ast.ArrayType:
		return nil
	case *ast.FuncDecl:
		f.fn = n
	case *ast.CallExpr:
		if isMessage(n) {
			return nil
		}
	case *ast.CaseClause:
		for _, x := range n.List {
			if _, binary := x.(*ast.BinaryExpr); binary {
				f.add("negate", x, "!("+f.text(x)+")")
			}
		}
	case *ast.IfStmt:
		f.add("negate", n.Cond, "!("+f.text(n.Cond)+")")
	case *ast.BinaryExpr:
		for _, op := range swaps[n.Op] {
			f.add("swap", n, f.text(n.X)+" "+op+" "+f.text(n.Y))
		}
	case *ast.BasicLit:
		if v, err := strconv.ParseUint(n.Value, 0, 64); n.Kind == token.INT && err == nil {
			f.add("number", n, fmt.Sprint(v+1))
			if v > 0 {
				f.add("number", n, fmt.Sprint(v-1))
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
	f.stack = append(f.stack, n)
	return f
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
		var uses []string
		for _, x := range slices.Concat(s.Lhs, s.Rhs) {
			if id, ok := x.(*ast.Ident); ok && id.Name != "_" && id.Name != "nil" {
				uses = append(uses, "_ = "+id.Name)
			}
		}
		f.add("delete", s, strings.Join(uses, "; "))
	case *ast.ExprStmt, *ast.IncDecStmt, *ast.DeferStmt, *ast.SendStmt, *ast.GoStmt:
		f.add("delete", s, "")
	case *ast.BranchStmt:
		if s.Tok == token.CONTINUE || s.Tok == token.BREAK {
			f.add("delete", s, "")
		}
	}
}

// result makes mutants of a result. Those of another type do not compile and
// are passed over.
func (f *finder) result(r ast.Expr) {
	switch text := f.text(r); text {
	case "true":
		f.add("result", r, "false")
	case "false":
		f.add("result", r, "true")
	case "nil":
	case "err":
		f.add("result", r, "nil")
	default:
		f.add("result", r, "!("+text+")")
		f.add("result", r, "("+text+") + 1")
	}
}
