package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"debug/buildinfo"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
)

// completions are the shells, and the files that they look for.
var completions = []struct{ shell, file string }{
	{"bash", "bloomery.bash"},
	{"zsh", "_bloomery"},
	{"fish", "bloomery.fish"},
	{"powershell", "bloomery.ps1"},
}

// documents puts manuals, completions and licences on the stage.
func (r *release) documents(ctx context.Context) error {
	host := filepath.Join(r.stage, "host")
	if _, err := r.run(ctx, r.root, []string{"CGO_ENABLED=0", "GOOS=" + runtime.GOOS, "GOARCH=" + runtime.GOARCH}, "go", "build", "-trimpath", "-buildvcs=false", "-o", host, "./cmd/bloomery"); err != nil {
		return err
	}
	if _, err := r.run(ctx, r.stage, nil, host, "man", "--dir", filepath.Join(r.stage, "man")); err != nil {
		return err
	}
	if err := compressAll(filepath.Join(r.stage, "man"), filepath.Join(r.stage, "man.gz")); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(r.stage, "completions"), 0o755); err != nil {
		return err
	}
	for _, c := range completions {
		script, err := r.run(ctx, r.stage, nil, host, "completion", c.shell)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(r.stage, "completions", c.file), script, 0o644); err != nil {
			return err
		}
	}
	licences, err := r.licences(ctx)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(r.stage, "THIRD_PARTY_LICENSES"), licences, 0o644); err != nil {
		return err
	}
	if err := r.notes(); err != nil {
		return err
	}
	return r.timeStage()
}

// timeStage gives all files of the stage the time of the commit: packages keep it.
func (r *release) timeStage() error {
	return filepath.Walk(r.stage, func(path string, _ os.FileInfo, err error) error {
		if err != nil {
			return err
		}
		return os.Chtimes(path, r.when, r.when)
	})
}

// compressAll writes the files of a folder into another, each with gzip.
func compressAll(from, to string) error {
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(from, e.Name()))
		if err != nil {
			return err
		}
		var b bytes.Buffer
		w, _ := gzip.NewWriterLevel(&b, gzip.BestCompression) // a level that there is
		if _, err := w.Write(data); err != nil {
			return err
		}
		if err := w.Close(); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(to, e.Name()+".gz"), b.Bytes(), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// archiveFiles returns what an archive has in it, by name.
func (r *release) archiveFiles(t target) ([]file, error) {
	files := []file{{t.binary(), filepath.Join(r.stage, t.String(), t.binary()), 0o755}}
	for _, name := range []string{"LICENSE", "README.md"} {
		files = append(files, file{name, filepath.Join(r.root, name), 0o644})
	}
	files = append(files, file{"CHANGELOG.md", filepath.Join(r.stage, "CHANGELOG.md"), 0o644})
	files = append(files, file{"THIRD_PARTY_LICENSES", filepath.Join(r.stage, "THIRD_PARTY_LICENSES"), 0o644})
	if t.os == "linux" {
		files = append(files, file{"bloomery.service", filepath.Join(r.root, "contrib", "systemd", "bloomery.service"), 0o644})
	}
	for _, folder := range []string{"completions", "man"} {
		entries, err := os.ReadDir(filepath.Join(r.stage, folder))
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			files = append(files, file{folder + "/" + e.Name(), filepath.Join(r.stage, folder, e.Name()), 0o644})
		}
	}
	slices.SortFunc(files, func(a, b file) int { return strings.Compare(a.name, b.name) })
	return files, nil
}

// licenceFile is how files of a module are called that must go with its code.
var licenceFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice)([.-].*)?$`)

// licences returns the licences of Go and of all modules that are in a binary of
// some target.
func (r *release) licences(ctx context.Context) ([]byte, error) {
	paths := map[string]bool{}
	for _, t := range r.targets {
		info, err := buildinfo.ReadFile(filepath.Join(r.stage, t.String(), t.binary()))
		if err != nil {
			return nil, err
		}
		for _, m := range info.Deps {
			paths[m.Path] = true
		}
	}
	args := []string{"list", "-m", "-f", "{{.Path}} {{.Version}}\t{{.Dir}}"}
	for path := range paths {
		args = append(args, path)
	}
	slices.Sort(args[4:])
	out, err := r.run(ctx, r.root, nil, "go", args...)
	if err != nil {
		return nil, err
	}
	root, err := r.run(ctx, r.root, nil, "go", "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	b.WriteString("The binaries of bloomery contain the standard library of Go and these modules.\n")
	modules := "Go\t" + strings.TrimSpace(string(root)) + "\n" + string(out)
	for line := range strings.Lines(modules) {
		name, dir, _ := strings.Cut(strings.TrimRight(line, "\r\n"), "\t")
		if err := appendLicences(&b, name, dir); err != nil {
			return nil, err
		}
	}
	return b.Bytes(), nil
}

func appendLicences(b *bytes.Buffer, name, dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("the licence of %s: %w", name, err)
	}
	found := false
	for _, e := range entries {
		if e.IsDir() || !licenceFile.MatchString(e.Name()) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return err
		}
		found = true
		fmt.Fprintf(b, "\n%s\n%s: %s\n\n%s\n", strings.Repeat("-", 80), name, e.Name(), bytes.TrimSpace(text))
	}
	if !found {
		return fmt.Errorf("%s has no licence in %s", name, dir)
	}
	return nil
}
