// Package export writes the page without a server as static files: the calculator and all lessons,
// answered by the same Go code, compiled for browsers. Any web server can serve the folder.
package export

import (
	"bytes"
	"compress/gzip"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bloomery/bloomery/page"
)

//go:embed files
var files embed.FS

// Write fills a folder, which must be empty or not there. It runs the go command, in the source of
// bloomery or elsewhere, where it takes the released version from the network.
func Write(ctx context.Context, dir, version string) error {
	if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
		return fmt.Errorf("%s is not empty", dir)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	// What may fail comes first, so that a folder without code is left empty.
	if err := writeCode(ctx, dir, version); err != nil {
		return err
	}
	return errors.Join(writeScripts(dir), writePages(dir), writeAnswers(dir))
}

// ofServer are scripts that show a server.
var ofServer = []string{"overview.js", "filters.js", "forms.js", "request.js"}

// writeScripts writes the scripts and styles of the page, and what takes the place of requests.
func writeScripts(dir string) error {
	own, err := fs.Sub(files, "files")
	if err != nil {
		return err
	}
	copyAll := func(from fs.FS, without []string) error {
		return fs.WalkDir(from, ".", func(name string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || slices.Contains(without, name) {
				return err
			}
			data, err := fs.ReadFile(from, name)
			if err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(dir, name), data, 0o644)
		})
	}
	return errors.Join(copyAll(page.Files(), ofServer), copyAll(own, nil))
}

// policy allows what comes from the same origin, and code for the browser that does.
const policy = "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; base-uri 'none'; form-action 'self'; object-src 'none'"

// writePages writes a page for each tab. The lessons are the first.
func writePages(dir string) error {
	for name, tab := range map[string]struct{ tab, title string }{"index.html": {"how", "How it works"}, "calculator.html": {"calculator", "Calculator"}} {
		var b bytes.Buffer
		view := map[string]any{"Tab": tab.tab, "Title": tab.title, "Static": true, "Policy": policy, "Server": false, "Admin": false, "Problem": nil}
		if err := page.Frame().Execute(&b, view); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, name), b.Bytes(), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// writeAnswers writes the answers that the page needs before its code has come: the list of lessons,
// and those with given positions, which are short.
func writeAnswers(dir string) error {
	questions := map[string]page.Question{}
	for _, q := range page.Questions() {
		questions[q.Path] = q
	}
	list, err := questions["teach/lessons"].Answer(nil)
	if err != nil {
		return err
	}
	all := map[string]any{"teach/lessons": list}
	text, err := json.Marshal(list)
	if err != nil {
		return err
	}
	var known struct{ Lessons []struct{ ID, Kind string } }
	if err := json.Unmarshal(text, &known); err != nil {
		return err
	}
	for _, l := range known.Lessons {
		if l.Kind != "" {
			continue
		}
		query := url.Values{"lesson": {l.ID}}
		scene, err := questions["teach"].Answer(query)
		if err != nil {
			return err
		}
		all["teach?"+query.Encode()] = scene
	}
	data, err := json.Marshal(all)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "answers.json"), data, 0o644)
}

// writeCode compiles the code for browsers. It is compressed here, so that it is short with every
// web server; its name has no ending that one would know.
func writeCode(ctx context.Context, dir, version string) error {
	plain, err := filepath.Abs(filepath.Join(dir, "bloomery.wasm"))
	if err != nil {
		return err
	}
	temporary, err := moduleOf(ctx, version)
	if err != nil {
		return err
	}
	defer os.RemoveAll(temporary) //nolint:errcheck // it is a temporary one, or none
	if err := run(ctx, temporary, "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w -buildid=", "-o", plain, code); err != nil {
		return err
	}
	data, err := os.ReadFile(plain)
	if err != nil {
		return err
	}
	var zipped bytes.Buffer
	z, _ := gzip.NewWriterLevel(&zipped, gzip.BestCompression) // a level that there is
	if _, err := z.Write(data); err != nil {
		return err
	}
	if err := errors.Join(z.Close(), os.Remove(plain), os.WriteFile(filepath.Join(dir, "bloomery.bin"), zipped.Bytes(), 0o644)); err != nil {
		return err
	}
	root, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		return fmt.Errorf("go env: %w", err)
	}
	glue, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(root)), "lib", "wasm", "wasm_exec.js"))
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "wasm_exec.js"), glue, 0o644)
}

// module and code are the import paths of bloomery and of what is compiled.
const (
	module = "github.com/bloomery/bloomery"
	code   = module + "/page/browser"
)

// ErrNoGo is returned where there is no go command.
var ErrNoGo = errors.New("the code of the page is compiled by Go, which is not installed")

// moduleOf returns a temporary module with the version of bloomery, or none in its source.
func moduleOf(ctx context.Context, version string) (string, error) {
	if _, err := exec.LookPath("go"); err != nil {
		return "", ErrNoGo
	}
	if exec.CommandContext(ctx, "go", "list", code).Run() == nil {
		return "", nil
	}
	dir, err := os.MkdirTemp("", "bloomery-page-")
	if err != nil {
		return "", err
	}
	if err := errors.Join(run(ctx, dir, "mod", "init", "page"), run(ctx, dir, "get", code+"@"+version)); err != nil {
		return "", errors.Join(err, os.RemoveAll(dir))
	}
	return dir, nil
}

// run runs the go command for browsers in a folder.
func run(ctx context.Context, dir string, args ...string) error {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOOS=js", "GOARCH=wasm", "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go %s: %w: %s", args[0], err, bytes.TrimSpace(out))
	}
	return nil
}
