package file_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/codec/file"
	"github.com/bloomery/bloomery/internal/regular"
)

// mappings returns how many mappings of the named file the process has.
func mappings(t *testing.T, name string) int {
	t.Helper()
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Skip(err)
	}
	return strings.Count(string(maps), name)
}

func TestMapGivesMemoryBack(t *testing.T) {
	name := filepath.Join(t.TempDir(), "a.bloom")
	write(t, name, filled(1000))
	m, err := file.Map(name, codec.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if got := mappings(t, name); got != 1 {
		t.Errorf("Map: the file is mapped %d times, want once", got)
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
	if got := mappings(t, name); got != 0 {
		t.Errorf("Close: the file is still mapped %d times", got)
	}
	if err := os.WriteFile(name, []byte(strings.Repeat("not a filter", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := file.Map(name, codec.Config{}); err == nil {
		t.Error("Map accepts text")
	}
	if got := mappings(t, name); got != 0 {
		t.Errorf("Map failed: the file is still mapped %d times", got)
	}
}

// Nothing that opens or writes files, with success or without, keeps one open.
func TestFilesAreClosed(t *testing.T) {
	open := func() int {
		all, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Skip(err)
		}
		return len(all)
	}
	dir := t.TempDir()
	name := filepath.Join(dir, "a.bloom")
	write(t, name, filled(10))
	bad := filepath.Join(dir, "bad")
	if err := os.WriteFile(bad, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	before := open()
	for range 20 {
		write(t, name, filled(10))
		if err := file.WriteFile(name, failing{os.ErrInvalid}); err == nil {
			t.Error("WriteFile of a filter that fails returns nil")
		}
		if _, err := file.Open(name, codec.Config{}); err != nil {
			t.Error(err)
		}
		if _, err := file.Open(bad, codec.Config{}); err == nil {
			t.Error("Open accepts text")
		}
		m, err := file.Map(name, codec.Config{})
		if err != nil {
			t.Fatal(err)
		}
		if err := m.Close(); err != nil {
			t.Error(err)
		}
		if _, err := file.Map(bad, codec.Config{}); err == nil {
			t.Error("Map accepts text")
		}
	}
	if after := open(); after >= before+20 {
		t.Errorf("%d files are open, before it were %d", after, before)
	}
}

// TestMapPipe maps a pipe, which is refused at once.
func TestMapPipe(t *testing.T) {
	name := filepath.Join(t.TempDir(), "a.bloom")
	if err := unix.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	if m, err := file.Map(name, codec.Config{}); !errors.Is(err, regular.Err) || !strings.Contains(err.Error(), name) {
		t.Errorf("Map of a pipe: %v, %v, want %v and the name", m, err, regular.Err)
	}
}
