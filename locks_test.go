package bloomery_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"
)

// parsed calls f for every Go file of server and cmd but tests and examples of
// other modules.
func parsed(t *testing.T, f func(path string, set *token.FileSet, file *ast.File)) {
	t.Helper()
	for _, dir := range []string{"server", "cmd"} {
		for _, path := range sources(t, dir, "*.go") {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			set := token.NewFileSet()
			file, err := parser.ParseFile(set, path, nil, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			f(path, set, file)
		}
	}
}

// TestLocksHaveAPurpose asks that every mutex of server and cmd has a comment
// that says what it guards: its own, or that of its struct if there is nothing
// else to guard.
func TestLocksHaveAPurpose(t *testing.T) {
	locks := 0
	parsed(t, func(path string, set *token.FileSet, file *ast.File) {
		ast.Inspect(file, func(n ast.Node) bool {
			field, ok := n.(*ast.Field)
			if !ok || !isLock(field.Type) {
				return true
			}
			locks++
			if field.Doc.Text() == "" && field.Comment.Text() == "" {
				t.Errorf("%s: the lock does not say what it guards", set.Position(field.Pos()))
			}
			return true
		})
	})
	if locks < 20 {
		t.Errorf("%d locks were found, want at least 20", locks)
	}
}

// isLock reports whether a type is a mutex.
func isLock(e ast.Expr) bool {
	s, ok := e.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	pkg, ok := s.X.(*ast.Ident)
	if !ok {
		return false
	}
	switch pkg.Name + "." + s.Sel.Name {
	case "sync.Mutex", "sync.RWMutex", "order.Catalogue", "order.Shard", "order.Part":
		return true
	}
	return false
}
