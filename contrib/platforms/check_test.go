package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// asProgram makes the test binary be the program.
const asProgram = "PLATFORMS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// program runs the program and returns what it prints and its exit code.
func program(t *testing.T, args ...string) (out, errOut string, code int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append(os.Environ(), asProgram+"=1")
	var o, e strings.Builder
	cmd.Stdout, cmd.Stderr = &o, &e
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		code = exit.ExitCode()
	} else if err != nil {
		t.Fatal(err)
	}
	return o.String(), e.String(), code
}

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
	t.Run("linux/amd64", func(t *testing.T) {
		t.Parallel()
		out, errOut, code := program(t, "-C", dir, "linux/amd64", "linux")
		if !strings.HasPrefix(errOut, `platforms: "linux": `) || code != 1 {
			t.Errorf("a platform that is none: %q, exit %d", errOut, code)
		}
		// Three packages, one of them twice more with its tests, and what they import.
		packages := 0
		if _, err := fmt.Sscanf(out, "linux/amd64 %d packages,", &packages); err != nil || packages < 10 || strings.Count(out, "\n") != 1 {
			t.Errorf("the program prints %q (%v), want one line of at least 10 packages", out, err)
		}
	})
	files := newSources()
	for _, c := range []struct {
		platform string
		want     []string
	}{
		{"linux/386", []string{"overflow.go:5:26: ", "cannot use 1 << 32", "Nothing has no body, and no assembly"}},
		{"windows/amd64", []string{"missing.go:7:35: undefined: syscall.Getpgrp", "missing_test.go:9:24: undefined: syscall.Getpgrp"}},
		{"darwin/arm64", []string{"bodyless.go:5:1: Nothing has no body, and no assembly"}},
		{"linux/none", []string{"linux/none: no such architecture"}},
		{"linux", []string{"want GOOS/GOARCH"}},
	} {
		t.Run(c.platform, func(t *testing.T) {
			t.Parallel()
			_, err := check(files, dir, c.platform)
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
