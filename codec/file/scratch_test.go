package file_test

import (
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/bloomery/bloomery/codec/file"
)

func TestScratch(t *testing.T) {
	dir := t.TempDir()
	s, err := file.NewScratch(dir)
	if err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS != "windows" {
		only(t, dir) // already now
	}
	if n, err := s.WriteAt([]byte("scratch"), 10); n != 7 || err != nil {
		t.Errorf("WriteAt = %d, %v", n, err)
	}
	got := make([]byte, 7)
	if n, err := s.ReadAt(got, 10); n != 7 || err != nil || string(got) != "scratch" {
		t.Errorf("ReadAt = %d, %v, %q", n, err, got)
	}
	if _, err := s.ReadAt(got, 11); !errors.Is(err, io.EOF) {
		t.Errorf("ReadAt behind the end: %v, want io.EOF", err)
	}
	for range 2 {
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
	only(t, dir)
}

func TestScratchFails(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "none")
	if _, err := file.NewScratch(dir); !errors.Is(err, fs.ErrNotExist) || strings.Count(err.Error(), dir) != 1 {
		t.Errorf("no such folder: %v, want an error that names it once", err)
	}
	t.Setenv("TMPDIR", dir)
	t.Setenv("TMP", dir) // on Windows
	if _, err := file.NewScratch(""); !errors.Is(err, fs.ErrNotExist) || strings.Count(err.Error(), dir) != 1 {
		t.Errorf("no such folder of the system: %v, want an error that names it once", err)
	}
	s, err := file.NewScratch(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.WriteAt([]byte("late"), 0); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("WriteAt after Close: %v, want fs.ErrClosed", err)
	}
	if _, err := s.ReadAt(make([]byte, 4), 0); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("ReadAt after Close: %v, want fs.ErrClosed", err)
	}
}
