package bloomery_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// dialect are words that earlier texts used for terms of the field: false
// positive, reports, deleted, start, handled.
var dialect = regexp.MustCompile(`(?i)wrong ` + `yes|\btells?\b|taken ` + `out|the ` + `begin\b|who (reads|takes)|met ` + `well`)

// TestWords looks for them in documents, code, comments and scripts.
func TestWords(t *testing.T) {
	for _, file := range sources(t, ".", "*.md", "*.go", "*.js", "*.html", "*.css", "*.sh", "Makefile", "*.toml", "*.yml", "*.yaml", "*.tsv") {
		if file == "words_test.go" {
			continue
		}
		text := readText(t, file)
		if !mayHold(text) {
			continue
		}
		n := 0
		for line := range strings.Lines(text) {
			n++
			if word := dialect.FindString(line); word != "" {
				t.Errorf("%s:%d: %q in: %s", file, n, word, strings.TrimSpace(line))
			}
		}
	}
}

// mayHold reports whether a text has a piece that is in all the words of dialect:
// looking for pieces is fast, and few files have one.
func mayHold(text string) bool {
	text = strings.ToLower(text)
	return slices.ContainsFunc([]string{"wrong " + "yes", "tell", "taken " + "out", "the " + "begin", "who " + "reads", "who " + "takes", "met " + "well"},
		func(piece string) bool { return strings.Contains(text, piece) })
}

// TestMayHold asks that each word of dialect passes the fast look.
func TestMayHold(t *testing.T) {
	for _, word := range []string{"Wrong " + "yes", "te" + "lls", "taken " + "out", "the " + "begin", "who " + "reads", "Who " + "takes", "met " + "well"} {
		if dialect.FindString(word) != word || !mayHold("x "+word+" y") {
			t.Errorf("%q is not found", word)
		}
	}
}

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

// TestFilesHaveAPurpose asks that every file of server and cmd starts with what
// it is for: a comment above the package clause, or right below it.
func TestFilesHaveAPurpose(t *testing.T) {
	parsed(t, func(path string, _ *token.FileSet, file *ast.File) {
		first := file.End()
		if len(file.Decls) > 0 {
			first = file.Decls[0].Pos()
			switch d := file.Decls[0].(type) {
			case *ast.GenDecl:
				first = start(first, d.Doc)
			case *ast.FuncDecl:
				first = start(first, d.Doc)
			}
		}
		for _, c := range file.Comments {
			if c.Pos() < first && c.Text() != "" { // directives such as go:build have no text
				return
			}
		}
		t.Errorf("%s does not start with what it is for", path)
	})
}

// start returns where a declaration begins, its comment included.
func start(at token.Pos, doc *ast.CommentGroup) token.Pos {
	if doc != nil {
		return doc.Pos()
	}
	return at
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
