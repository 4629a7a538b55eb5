package main

import (
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// TestCheck checks a module that is sound for linux/amd64 alone.
func TestCheck(t *testing.T) {
	broken, err := txtar.ParseFile("testdata/broken.txtar")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := txtar.Write(broken, dir); err != nil {
		t.Fatal(err)
	}
	files := newSources()
	for _, c := range []struct {
		platform string
		want     []string
	}{
		{"linux/amd64", nil},
		{"linux/386", []string{"overflow.go:5:26: ", "cannot use 1 << 32", "Nothing has no body, and no assembly"}},
		{"windows/amd64", []string{"missing.go:7:35: undefined: syscall.Getpgrp", "missing_test.go:9:24: undefined: syscall.Getpgrp"}},
		{"darwin/arm64", []string{"bodyless.go:5:1: Nothing has no body, and no assembly"}},
		{"linux/none", []string{"linux/none: no such architecture"}},
		{"linux", []string{"want GOOS/GOARCH"}},
	} {
		t.Run(c.platform, func(t *testing.T) {
			t.Parallel()
			packages, err := check(files, dir, c.platform)
			if c.want == nil {
				// Three packages, one of them once more with its tests, and what they import.
				if err != nil || packages < 10 {
					t.Errorf("check() = %d, %v, want at least 10 packages and no error", packages, err)
				}
				return
			}
			if err == nil {
				t.Fatalf("check() has no error, want %q", c.want)
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("check() = %v, want %q in it", err, want)
				}
			}
			if len(c.want) == 1 && strings.Contains(err.Error(), "\n") {
				t.Errorf("check() = %v, want %q alone", err, c.want)
			}
		})
	}
}

// TestRun asks for the errors of all platforms, and for a platform.
func TestRun(t *testing.T) {
	if err := run(".", nil); err == nil || !strings.Contains(err.Error(), "usage") {
		t.Errorf("run() = %v, want usage", err)
	}
	err := run(".", []string{"linux", "amd64/"})
	if err == nil || !strings.Contains(err.Error(), `"linux"`) || !strings.Contains(err.Error(), `"amd64/"`) {
		t.Errorf("run() = %v, want the errors of both", err)
	}
}
