package follow_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/bloomery/bloomery/follow"
)

// TestNoCopy follows into pipes, folders and long files that bear the name of the copy, or of the note on it. None is waited
// for, or read.
func TestNoCopy(t *testing.T) {
	for name, put := range map[string]func(path string) error{
		"pipe":   func(path string) error { return unix.Mkfifo(path, 0o600) },
		"folder": func(path string) error { return os.Mkdir(path, 0o700) },
		"long":   func(path string) error { return os.WriteFile(path, bytes.Repeat([]byte(" "), 2<<20), 0o600) },
	} {
		for _, end := range []string{"", ".follow"} {
			file := filepath.Join(t.TempDir(), "copy.bf")
			if err := put(file + end); err != nil {
				t.Fatal(err)
			}
			if f, err := follow.Open(t.Context(), follow.Config{Address: t.TempDir(), File: file}); !errors.Is(err, follow.ErrOther) {
				t.Errorf("%s%s: %v, %v; want ErrOther", name, end, f, err)
			}
		}
	}
}

// TestPipesInFolder follows a folder, and publishes in it, where the index or the filter is a pipe. No pipe is waited for.
func TestPipesInFolder(t *testing.T) {
	for _, name := range []string{"index.json", "*.bft"} {
		dir, data := t.TempDir(), encoded(t, 1000, 10)
		published(t, dir, data, follow.PublishConfig{})
		found, err := filepath.Glob(filepath.Join(dir, name))
		if err != nil || len(found) != 1 {
			t.Fatal(found, err)
		}
		if err := errors.Join(os.Remove(found[0]), unix.Mkfifo(found[0], 0o600)); err != nil {
			t.Fatal(err)
		}
		want := found[0] + ": a named pipe, not a regular file"
		if _, err := follow.Open(t.Context(), follow.Config{Address: dir, File: filepath.Join(t.TempDir(), "copy.bf"), Every: -1}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Open where %s is a pipe: %v, want %q", name, err, want)
		}
		if _, err := follow.Publish(dir, "keys", data, follow.PublishConfig{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Publish where %s is a pipe: %v, want %q", name, err, want)
		}
	}
}
