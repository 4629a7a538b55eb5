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

// ofTheProcess are names that change the whole process: signals, its end, the defaults
// that all of its packages share, and limits of the Go runtime. A nil list means all
// names of a package.
var ofTheProcess = map[string][]string{
	"os/signal":     nil,
	"expvar":        nil,
	"os":            {"Exit", "Chdir", "Setenv", "Unsetenv", "Clearenv"},
	"log":           {"Fatal", "Fatalf", "Fatalln", "SetOutput", "SetFlags", "SetPrefix"},
	"log/slog":      {"SetDefault", "SetLogLoggerLevel"},
	"net/http":      {"Handle", "HandleFunc", "DefaultServeMux"},
	"runtime":       {"Goexit"},
	"runtime/debug": {"SetMemoryLimit", "SetGCPercent", "SetMaxThreads", "SetMaxStack", "SetPanicOnFault"},
	"github.com/prometheus/client_golang/prometheus": {
		"MustRegister", "Register", "Unregister", "DefaultRegisterer", "DefaultGatherer",
	},
	"github.com/prometheus/client_golang/prometheus/promauto": nil,
}

// TestServerLeavesTheProcessAlone asks that no package of the server uses what belongs
// to the whole process: a program that carries a server keeps its signals, its end,
// its registries and its memory limit.
func TestServerLeavesTheProcessAlone(t *testing.T) {
	seen := 0
	err := filepath.WalkDir("server", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || d.Name() == "clienttest" || d.Name() == "uitest"):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil || file.Name.Name == "main" {
			return err
		}
		seen++
		for _, name := range processNames(file) {
			t.Errorf("%s uses %s, which is the program's", path, name)
		}
		return nil
	})
	if err != nil || seen < 100 {
		t.Errorf("%d files, %v", seen, err)
	}
}

// processNames lists what a file uses of ofTheProcess.
func processNames(file *ast.File) []string {
	var found []string
	own := map[string]map[string]bool{} // by the name of the import
	for _, i := range file.Imports {
		path, err := strconv.Unquote(i.Path.Value)
		names, listed := ofTheProcess[path]
		if err != nil || !listed {
			continue
		}
		if names == nil {
			found = append(found, path)
		}
		as := path[strings.LastIndexByte(path, '/')+1:]
		if i.Name != nil {
			as = i.Name.Name
		}
		own[as] = map[string]bool{}
		for _, name := range names {
			own[as][name] = true
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if from, ok := s.X.(*ast.Ident); ok && own[from.Name][s.Sel.Name] {
				found = append(found, from.Name+"."+s.Sel.Name)
			}
		}
		return true
	})
	return found
}
