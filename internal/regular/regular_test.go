//go:build unix

package regular_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/bloomery/bloomery/internal/regular"
)

// TestReadFile reads a file, and what is none: at once, and with an error that says what it is.
func TestReadFile(t *testing.T) {
	name := func(name string) string { return filepath.Join(t.TempDir(), name) }
	file, pipe, folder := name("file"), name("pipe"), t.TempDir()
	if err := errors.Join(os.WriteFile(file, []byte("text"), 0o600), unix.Mkfifo(pipe, 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, text string // of the error, behind the name
		most       uint64
		want       error
	}{
		{file, "", 4, nil},
		{file, "too long: it has 4 bytes, and 3 are the most", 3, regular.ErrLong},
		{pipe, "a named pipe, not a regular file", 4, regular.Err},
		{folder, "a folder, not a regular file", 4, regular.Err},
		{os.DevNull, "a device, not a regular file", 4, regular.Err},
		{filepath.Join(folder, "none"), "no such file or directory", 4, fs.ErrNotExist},
	} {
		data, err := regular.ReadFile(c.name, c.most)
		if !errors.Is(err, c.want) || err == nil && string(data) != "text" {
			t.Errorf("%s: %q, %v, want %v", c.name, data, err, c.want)
		}
		if e, ok := errors.AsType[*fs.PathError](err); err != nil && (!ok || e.Path != c.name || e.Err.Error() != c.text) {
			t.Errorf("%s: %v, want %q", c.name, err, c.text)
		}
	}
}
