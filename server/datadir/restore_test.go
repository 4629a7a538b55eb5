package datadir

import (
	"net"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// TestFoldersThatCannotBe asks for the errors of paths that lead nowhere.
func TestFoldersThatCannotBe(t *testing.T) {
	dir, err := os.MkdirTemp("", "s") // short: the path of a socket is bounded
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	if made, err := makeFolder(filepath.Join(file, "in", "a file")); made || err == nil {
		t.Errorf("a folder in a file: %t, %v", made, err)
	}
	if runtime.GOOS == "windows" {
		return
	}
	l, err := net.Listen("unix", filepath.Join(dir, "socket"))
	if err != nil {
		t.Skip(err)
	}
	defer func() { _ = l.Close() }()
	if _, _, err := openSource(filepath.Join(dir, "socket")); err == nil {
		t.Error("a socket was opened as a backup")
	}
}
