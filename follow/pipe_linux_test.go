package follow_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
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
