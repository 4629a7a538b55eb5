package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// heading is the line of a release in the changelog.
var heading = regexp.MustCompile(`(?m)^## (\S+)(?: \((unreleased|\d{4}-\d\d-\d\d)\))?$`)

// cut returns the changelog with the day of the release in the heading of a version, and what it
// says of the version. The heading of a pre-release is that of the release to come.
func cut(text, version string, day time.Time) (changelog, notes string, err error) {
	release, pre, _ := strings.Cut(version, "-")
	all := heading.FindAllStringSubmatchIndex(text, -1)
	for i, m := range all {
		if text[m[2]:m[3]] != release {
			continue
		}
		end := len(text)
		if i+1 < len(all) {
			end = all[i+1][0]
		}
		notes = strings.TrimSpace(text[m[1]:end]) + "\n"
		if pre != "" {
			return text, notes, nil
		}
		return text[:m[0]] + "## " + release + " (" + day.Format(time.DateOnly) + ")" + text[m[1]:], notes, nil
	}
	return "", "", fmt.Errorf("the changelog has no heading of %s", release)
}

// notes puts the changelog of this release on the stage, and what is new into the result.
func (r *release) notes() error {
	text, err := os.ReadFile(filepath.Join(r.root, "CHANGELOG.md"))
	if err != nil {
		return err
	}
	changelog, notes, err := cut(string(text), r.version, r.when)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(r.stage, "CHANGELOG.md"), []byte(changelog), 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.out, "RELEASE_NOTES.md"), []byte(notes), 0o644)
}
