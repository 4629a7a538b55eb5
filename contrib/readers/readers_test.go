// Package readers tests the readers of contrib/js and contrib/python: they are asked for every
// golden file of the project, for damaged and for hostile files, and have to answer as the Go
// library does.
package readers

import (
	"bytes"
	"compress/gzip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// copied fills a new folder with the manifest, its files, and these files of the project. A reader
// is one file: nothing else of its folder is there.
func copied(t *testing.T, paths ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(path)), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(t, dir)
	return dir
}

// run runs a program in a folder and returns its output.
func run(t *testing.T, dir, program string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Errorf("%s: %v", program, err)
	}
	return string(out)
}

func TestNode(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("there is no node (Debian: nodejs)")
	}
	// Node.js before 20.19 needs package.json to know what bloomery.js is.
	dir := copied(t, "../js/bloomery.js", "../js/package.json", "testdata/check.js", "testdata/check-node.mjs", "testdata/follow.js", "testdata/follow-node.mjs")
	run(t, dir, node, "check-node.mjs")
	followFolders(t, dir, func(url string) { run(t, dir, node, "follow-node.mjs", url) })
	putWords(t, dir)
	put(t, dir, "example.mjs", example(t, "../js/README.md", "js"))
	if got := run(t, dir, node, "example.mjs"); got != "true false\n" {
		t.Errorf("the example of the README prints %q", got)
	}
}

func TestPython(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("there is no python3: make clients installs it")
	}
	dir := copied(t, "../python/bloomery.py", "testdata/check.py", "testdata/follow.py")
	run(t, dir, python, "-B", "check.py")
	followFolders(t, dir, func(url string) { run(t, dir, python, "-B", "follow.py", url) })
	putWords(t, dir)
	put(t, dir, "example.py", example(t, "../python/README.md", "python"))
	if got := run(t, dir, python, "-B", "example.py"); !strings.HasPrefix(got, "True\nFalse\nbloom 100 1e-06 ") {
		t.Errorf("the example of the README prints %q", got)
	}
}

// TestScript holds the reader for JavaScript to its size, and its types to its names.
func TestScript(t *testing.T) {
	script, err := os.ReadFile("../js/bloomery.js")
	if err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(script); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if most := 12_000; packed.Len() > most {
		t.Errorf("bloomery.js has %d bytes by gzip, want at most %d", packed.Len(), most)
	}
	types, err := os.ReadFile("../js/bloomery.d.ts")
	if err != nil {
		t.Fatal(err)
	}
	exported := func(text []byte) (names []string) {
		for _, m := range regexp.MustCompile(`(?m)^export (?:class|function) (\w+)`).FindAllSubmatch(text, -1) {
			names = append(names, string(m[1]))
		}
		slices.Sort(names)
		return names
	}
	if got, want := exported(types), exported(script); !slices.Equal(got, want) || len(got) != 5 {
		t.Errorf("bloomery.d.ts has types of %q, bloomery.js exports %q", got, want)
	}
}
