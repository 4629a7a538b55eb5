package bloomery_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestPublicTypesAreTheirOwn asks that no public package exports a type of an internal
// one by another name: its fields would be in no documentation, and a change of the
// internal package would change the API.
func TestPublicTypesAreTheirOwn(t *testing.T) {
	seen := 0
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "internal" || d.Name() == "testdata" || path == "bench" || path == "cmd" || path == "examples" || path == ".git"):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		seen++
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, name := range aliases(file) {
			t.Errorf("%s: %s is a type of an internal package", path, name)
		}
		return nil
	})
	if err != nil || seen < 100 {
		t.Errorf("%d files, %v", seen, err)
	}
}

// aliases lists the exported types of a file that are types of internal packages, or
// are defined as such.
func aliases(file *ast.File) []string {
	inside := map[string]bool{}
	for _, i := range file.Imports {
		path, err := strconv.Unquote(i.Path.Value)
		if err != nil || !strings.Contains(path, "/internal/") {
			continue
		}
		name := path[strings.LastIndexByte(path, '/')+1:]
		if i.Name != nil {
			name = i.Name.Name
		}
		inside[name] = true
	}
	var found []string
	for _, d := range file.Decls {
		general, ok := d.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, s := range general.Specs {
			spec, ok := s.(*ast.TypeSpec)
			if !ok || !spec.Name.IsExported() {
				continue
			}
			if of, ok := spec.Type.(*ast.SelectorExpr); ok {
				if from, ok := of.X.(*ast.Ident); ok && inside[from.Name] {
					found = append(found, spec.Name.Name)
				}
			}
		}
	}
	return found
}
