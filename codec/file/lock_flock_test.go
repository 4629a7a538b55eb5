//go:build unix && !solaris && !aix

package file

import (
	"bytes"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// Writers of one file at once do not remove what others write, and one of them is
// what the file holds.
func TestWritersAtOnce(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "a")
	var writers sync.WaitGroup
	for i := range 4 {
		writers.Go(func() {
			for range 8 {
				if err := WriteFile(name, text(strings.Repeat(string(rune('a'+i)), 1000))); err != nil {
					t.Error(err)
				}
				got, err := os.ReadFile(name)
				if err != nil || len(got) != 1000 || !bytes.Equal(got[1:], got[:999]) {
					t.Errorf("the file holds %d bytes of %q, %v", len(got), got[:1], err)
				}
			}
		})
	}
	writers.Wait()
	if names, _ := os.ReadDir(dir); len(names) != 1 {
		t.Errorf("the folder holds %v", names)
	}
}

// writing is a filter that looks at its temporary file while it is written.
type writing func()

func (f writing) WriteTo(io.Writer) (int64, error) {
	f()
	return 0, nil
}

// A leftover is removed, wherever in the row it is; a file that is being written is
// not, not even between its last byte and its new name.
func TestLeftovers(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "a")
	for _, left := range []string{".0.bloomery.tmp", ".2.bloomery.tmp"} {
		if err := os.WriteFile(name+left, []byte("half"), 0o400); err != nil {
			t.Fatal(err)
		}
	}
	own := name + ".0.bloomery.tmp"
	stays := func() {
		removeLeftover(own)
		if names, _ := os.ReadDir(dir); len(names) != 1 || names[0].Name() != filepath.Base(own) {
			t.Errorf("while it is written the folder holds %v", names)
		}
	}
	d := &faulty{see: func(step string) {
		if step == "rename" {
			stays()
		}
	}}
	if err := writeFile(d, name, writing(stays)); err != nil {
		t.Fatal(err)
	}
	if names, _ := os.ReadDir(dir); len(names) != 1 {
		t.Errorf("the folder holds %v", names)
	}
}

// A file that was removed before it is locked is not written.
func TestClaimOfARemovedFile(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "a"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	removeLeftover(f.Name())
	if _, err := claim(f); err != fs.ErrExist {
		t.Errorf("claim = %v, want ErrExist", err)
	}
}
