// Tests of the version: all that names one has the same.

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestRecorded asks for the version of a build from what Go recorded.
func TestRecorded(t *testing.T) {
	for version, want := range map[string]string{
		"":        "v" + release + "-dev",
		"(devel)": "v" + release + "-dev",
		"v0.0.0-20261117062741-c457dbb4ecf5+dirty": "v" + release + "-dev.20261117062741-c457dbb4ecf5+dirty",
		"v1.2.3": "v1.2.3",
	} {
		if got := recorded(version); got != want {
			t.Errorf("recorded(%q) = %q, want %q", version, got, want)
		}
	}
}

// TestChangelogVersion asks that the changelog begins with the release that this tree
// becomes, and that our own commands are since a release that it lists.
func TestChangelogVersion(t *testing.T) {
	releases := map[string]bool{}
	for i, m := range regexp.MustCompile(`(?m)^## (\S+)( \((unreleased|\d{4}-\d\d-\d\d)\))?$`).FindAllStringSubmatch(readRoot(t, "CHANGELOG.md"), -1) {
		if i == 0 && (m[1] != release || m[3] == "") {
			t.Errorf("the changelog begins with %q, want %s (unreleased) or its day", m[0], release)
		}
		releases[m[1]] = true
	}
	commands := regexp.MustCompile(`(?m)^Arity .* · since (\S+) · .*@filter`).FindAllStringSubmatch(readRoot(t, "docs/commands.md"), -1)
	if len(commands) < 20 {
		t.Errorf("%d commands of ours were found", len(commands))
	}
	for _, m := range commands {
		if !releases[m[1]] {
			t.Errorf("a command is since %s, a release that the changelog does not have", m[1])
		}
	}
}

// TestManualVersion asks for the release in manuals.
func TestManualVersion(t *testing.T) {
	if code, out, _ := call(t, "man", "check"); code != 0 || !strings.Contains(out, `"bloomery `+release+`"`) {
		t.Errorf("man check does not name bloomery %s: %.80s", release, out)
	}
}

// TestNamedVersions asks that documents and scripts which name a version of bloomery name
// the one of this tree.
func TestNamedVersions(t *testing.T) {
	named := regexp.MustCompile(`(?:bloomery[ _-]v?|VERSION=v?|-version |Version: "v|TAG=v?)(\d+\.\d+\.\d+)(?:[-_"\s\x60]|\.tar|$)`)
	var files []string
	for _, pattern := range []string{"*.md", "docs/*.md", "contrib/*/*.md", "contrib/packaging/doc.go", "server/uitest/*.go", "Makefile", "Dockerfile", "compose.yaml", ".github/*/*.yml", "scripts/*"} {
		found, err := filepath.Glob(filepath.Join("../..", pattern))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	n := 0
	for _, name := range files {
		if filepath.Base(name) == "CHANGELOG.md" {
			continue // it has the earlier ones, too
		}
		data, err := os.ReadFile(name)
		if err != nil {
			continue // a folder
		}
		for _, m := range named.FindAllStringSubmatch(string(data), -1) {
			n++
			if m[1] != release && m[1] != "1.2.3" { // an example
				t.Errorf("%s has %q, this tree is %s", name, m[0], release)
			}
		}
	}
	if n < 3 {
		t.Errorf("versions were found in %d places", n)
	}
}
