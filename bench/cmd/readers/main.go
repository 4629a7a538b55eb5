// Command readers times the readers of contrib/js and contrib/python.
//
//	go run ./cmd/readers -out ../docs/evidence/benchmarks-readers.md
//
// They take turns in rounds, of which the fastest counts, so that little of what else the machine
// does is in the figures.
package main

import (
	"context"
	"embed"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/bloomery/bloomery/contrib/readers/browser"
)

// The scripts that are timed: speed.js in Node.js and in a browser, speed.py in Python.
//
//go:embed speed.js speed-node.mjs speed.html speed.py
var scripts embed.FS

func main() {
	out := flag.String("out", "", "write the document to this `file` instead of standard output")
	root := flag.String("root", "..", "the `folder` of the project")
	rounds := flag.Int("rounds", 3, "rounds, of which the fastest counts")
	flag.Parse()
	if err := run(context.Background(), *root, *out, *rounds); err != nil {
		fmt.Fprintln(os.Stderr, "readers:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, root, out string, rounds int) error {
	started := time.Now()
	dir, err := os.MkdirTemp("", "readers-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	sizes, err := filters(ctx, dir)
	if err != nil {
		return err
	}
	if err := gather(root, dir); err != nil {
		return err
	}
	var best []speeds
	for range rounds {
		now, err := measure(ctx, dir)
		if err != nil {
			return err
		}
		best = fastest(best, now)
	}
	doc, err := document(ctx, root, sizes, best, rounds, started)
	if err != nil {
		return err
	}
	return doc.Write(out, os.Stdout, "")
}

// gather copies readers and scripts to dir.
func gather(root, dir string) error {
	for _, path := range []string{"contrib/js/bloomery.js", "contrib/python/bloomery.py"} {
		data, err := os.ReadFile(filepath.Join(root, path))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(path)), data, 0o644); err != nil {
			return err
		}
	}
	return os.CopyFS(dir, scripts)
}

// speeds are what a script prints: where it ran, and for each kind of filter how many milliseconds
// opening takes, and lookups of present and of absent keys a second.
type speeds struct {
	Name  string                `json:"name"`
	Kinds map[string][3]float64 `json:"kinds"`
}

// measure runs all readers.
func measure(ctx context.Context, dir string) ([]speeds, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	program := browser.Find()
	if program == "" {
		return nil, fmt.Errorf("there is no browser (%s)", strings.Join(browser.Names, ", "))
	}
	script := func(program string, args ...string) ([]byte, error) {
		cmd := exec.CommandContext(ctx, program, args...)
		cmd.Dir, cmd.Stderr = dir, os.Stderr
		return cmd.Output()
	}
	var all []speeds
	for _, ask := range []func() ([]byte, error){
		func() ([]byte, error) { return script("node", "speed-node.mjs") },
		func() ([]byte, error) { return browser.Ask(ctx, program, dir, "speed.html") },
		func() ([]byte, error) { return script("python3", "-B", "speed.py") },
	} {
		body, err := ask()
		if err != nil {
			return nil, err
		}
		var s speeds
		if err := json.Unmarshal(body, &s); err != nil {
			return nil, fmt.Errorf("%w: %s", err, body)
		}
		all = append(all, s)
	}
	return all, nil
}

// fastest returns the better of two rounds, number by number.
func fastest(best, now []speeds) []speeds {
	for i := range best {
		for kind, b := range best[i].Kinds {
			n := now[i].Kinds[kind]
			now[i].Kinds[kind] = [3]float64{min(b[0], n[0]), max(b[1], n[1]), max(b[2], n[2])}
		}
	}
	return now
}
