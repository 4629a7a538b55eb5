package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// most is how many mistakes of a platform are printed.
const most = 20

// check type-checks the module in dir for a platform, and returns how many packages
// that were. Of packages of other modules it reads the declarations alone.
func check(files *sources, dir, platform string) (int, error) {
	system, arch, err := split(platform)
	if err != nil {
		return 0, err
	}
	sizes := types.SizesFor("gc", arch)
	if sizes == nil {
		return 0, fmt.Errorf("platforms: %s: no such architecture", platform)
	}
	packages, err := list(dir, system, arch)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", platform, err)
	}
	done := map[string]*types.Package{"unsafe": types.Unsafe}
	tested := withTests(packages)
	var errs []error
	for _, p := range packages {
		if p.ImportPath == "unsafe" {
			continue
		}
		report := func(err error) {
			if len(errs) < most {
				errs = append(errs, fmt.Errorf("%s: %w", platform, err))
			}
		}
		done[p.ImportPath] = checkPackage(files, &p, p.own() && !tested[p.ImportPath], done, sizes, report)
	}
	return len(packages), errors.Join(errs...)
}

// withTests returns the packages whose files are also in another one of the list: a package
// without its tests where it is listed with them, and one that was only made again because
// what it imports has tests. The bodies of their functions need not be read there.
func withTests(packages []listed) map[string]bool {
	elsewhere := make(map[string]bool)
	for _, p := range packages {
		path, variant, _ := strings.Cut(p.ImportPath, " ")
		switch {
		case variant == "":
		case path == p.ForTest:
			elsewhere[path] = true
		case path != p.ForTest+"_test":
			elsewhere[p.ImportPath] = true
		}
	}
	return elsewhere
}

// checkPackage type-checks one package whose imports are done, with the bodies of its
// functions or without.
func checkPackage(files *sources, p *listed, bodies bool, done map[string]*types.Package, sizes types.Sizes, report func(error)) *types.Package {
	var parsed []*ast.File
	for _, name := range p.GoFiles {
		file, err := files.parse(filepath.Join(p.Dir, name), p.own())
		if err != nil {
			report(err)
			continue
		}
		parsed = append(parsed, file)
	}
	config := types.Config{
		Importer:         imports{p.ImportMap, done},
		Sizes:            sizes,
		IgnoreFuncBodies: !bodies,
		Error:            report,
	}
	if p.Module != nil && p.Module.GoVersion != "" {
		config.GoVersion = "go" + p.Module.GoVersion
	}
	path, _, _ := strings.Cut(p.ImportPath, " ") // without [the test it is for]
	checked, _ := config.Check(path, files.set, parsed, nil)
	if bodies {
		if err := checkAssembly(files, p, parsed); err != nil {
			report(err)
		}
	}
	return checked
}

// checkAssembly asks that functions without a body are in a file of assembly.
func checkAssembly(files *sources, p *listed, parsed []*ast.File) error {
	var assembly strings.Builder
	for _, name := range p.SFiles {
		text, err := os.ReadFile(filepath.Join(p.Dir, name))
		if err != nil {
			return fmt.Errorf("platforms: %w", err)
		}
		assembly.Write(text)
	}
	for _, file := range parsed {
		for _, decl := range file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Body == nil && !strings.Contains(assembly.String(), "TEXT ·"+f.Name.Name+"(SB)") {
				return fmt.Errorf("%s: %s has no body, and no assembly", files.set.Position(f.Pos()), f.Name.Name)
			}
		}
	}
	return nil
}

// imports finds the packages that one package imports.
type imports struct {
	as   map[string]string
	done map[string]*types.Package
}

// Import returns the package of a path as it stands in an import declaration.
func (i imports) Import(path string) (*types.Package, error) {
	if as, ok := i.as[path]; ok {
		path = as
	}
	if p := i.done[path]; p != nil {
		return p, nil
	}
	return nil, fmt.Errorf("platforms: %s is not there", path)
}

// sources parses every file once for all platforms.
// Safe for concurrent use.
type sources struct {
	set   *token.FileSet
	mu    sync.Mutex
	files map[string]func() (*ast.File, error)
}

func newSources() *sources {
	return &sources{set: token.NewFileSet(), files: make(map[string]func() (*ast.File, error))}
}

// parse returns a file, with the bodies of its functions or without.
func (s *sources) parse(name string, bodies bool) (*ast.File, error) {
	s.mu.Lock()
	once := s.files[name]
	if once == nil {
		once = sync.OnceValues(func() (*ast.File, error) { return s.read(name, bodies) })
		s.files[name] = once
	}
	s.mu.Unlock()
	return once()
}

func (s *sources) read(name string, bodies bool) (*ast.File, error) {
	file, err := parser.ParseFile(s.set, name, nil, parser.SkipObjectResolution)
	if err != nil || bodies {
		return file, err
	}
	for _, decl := range file.Decls {
		if f, ok := decl.(*ast.FuncDecl); ok {
			f.Body = new(ast.BlockStmt) // frees what nobody reads
		}
	}
	return file, nil
}
