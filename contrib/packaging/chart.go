package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// chartVersions are the lines of Chart.yaml that follow the release.
var chartVersions = regexp.MustCompile(`(?m)^(version|appVersion): .*$`)

// chart packs the Helm chart with the version of the release.
func (r *release) chart() error {
	from := filepath.Join(r.root, "contrib", "helm", "bloomery")
	staged := filepath.Join(r.stage, "chart")
	if err := os.CopyFS(staged, os.DirFS(from)); err != nil {
		return err
	}
	name := filepath.Join(staged, "Chart.yaml")
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	if n := len(chartVersions.FindAll(text, -1)); n != 2 {
		return fmt.Errorf("chart: Chart.yaml has %d lines of versions, want 2", n)
	}
	text = chartVersions.ReplaceAll(text, []byte("$1: "+r.version))
	if err := os.WriteFile(name, bytes.TrimLeft(text, "\n"), 0o644); err != nil {
		return err
	}
	files, err := filesOf(staged)
	if err != nil {
		return err
	}
	return writeTar(filepath.Join(r.out, "bloomery-chart-"+r.version+".tgz"), "bloomery", files, r.when)
}

// filesOf returns all files of a folder, sorted by name.
func filesOf(dir string) (files []file, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		files = append(files, file{filepath.ToSlash(name), path, 0o644})
		return err
	})
	slices.SortFunc(files, func(a, b file) int { return strings.Compare(a.name, b.name) })
	return files, err
}
