package bloomery_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestRaceTests holds scripts/race-tests to the code: a test that starts goroutines
// runs under the race detector, and what is named there exists.
func TestRaceTests(t *testing.T) {
	text, err := os.ReadFile("scripts/race-tests")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		folder, names, ok := strings.Cut(strings.TrimSpace(line), " ")
		if !ok || folder == "#" {
			continue
		}
		names = strings.TrimSpace(names)
		run := regexp.MustCompile(strings.Replace(names, "-", "^$", 1))
		tests := testsOf(t, folder)
		for name, goes := range tests {
			if goes && !run.MatchString(name) {
				t.Errorf("%s.%s starts goroutines and is not in scripts/race-tests", folder, name)
			}
		}
		if names == "-" {
			continue
		}
		for part := range strings.SplitSeq(names, "|") {
			run, found := regexp.MustCompile(part), false
			for name := range tests {
				found = found || run.MatchString(name)
			}
			if !found {
				t.Errorf("scripts/race-tests: no test of %s is %s", folder, part)
			}
		}
	}
}

// testsOf returns the tests and examples of a folder, and of each whether it starts
// goroutines itself.
func testsOf(t *testing.T, folder string) map[string]bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s has no tests: %v", folder, err)
	}
	tests := map[string]bool{}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Recv != nil || !strings.HasPrefix(f.Name.Name, "Test") && !strings.HasPrefix(f.Name.Name, "Example") {
				continue
			}
			tests[f.Name.Name] = false
			ast.Inspect(f, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.GoStmt:
					tests[f.Name.Name] = true
				case *ast.SelectorExpr:
					tests[f.Name.Name] = tests[f.Name.Name] || n.Sel.Name == "Go" // of a sync.WaitGroup
				}
				return true
			})
		}
	}
	return tests
}
