package local_test

// Folders and archives that are not whole, and what waits to be written.

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/server/internal/door/local"
	"github.com/bloomery/bloomery/server/internal/folder"
	"github.com/bloomery/bloomery/server/internal/store"
)

// archived returns a tar file of a folder.
func archived(t *testing.T, files *folder.Memory) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	names, _ := files.List()
	for _, name := range names {
		data := files.Bytes(name)
		if err := w.WriteHeader(&tar.Header{Name: name, Size: int64(len(data)), Mode: 0o600}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(data); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestCheckArchive asks that an archive is checked like the folder that is in it.
func TestCheckArchive(t *testing.T) {
	files := smallFolder(t)
	check := func(data []byte) error { return local.CheckArchive(bytes.NewReader(data), int64(len(data))) }
	if err := check(archived(t, files)); err != nil {
		t.Errorf("a whole folder: %v", err)
	}
	if err := check([]byte(strings.Repeat("no archive ", 100))); !errors.Is(err, bloomery.ErrCorrupt) {
		t.Errorf("no archive: %v", err)
	}
	damaged := files.Copy()
	data := bytes.Clone(files.Bytes(folder.Manifest))
	data[len(data)/2] ^= 1
	damaged.Put(folder.Manifest, data)
	if err := check(archived(t, damaged)); !errors.Is(err, bloomery.ErrCorrupt) {
		t.Errorf("a damaged folder: %v", err)
	}
}

// TestPartsOfACopy asks that a folder whose manifest and log are missing is damaged for
// everyone who looks at it, and that files of others are no data.
func TestPartsOfACopy(t *testing.T) {
	whole := smallFolder(t)
	part := named(whole, ".part")[0]
	keep := func(string, int64, io.Reader) error { return nil }
	for name, c := range map[string]struct {
		files   map[string][]byte
		damaged string // the file that is named
	}{
		"a part":                         {map[string][]byte{part: whole.Bytes(part)}, part},
		"a part and a file of others":    {map[string][]byte{"a": nil, part: whole.Bytes(part)}, part},
		"an unfinished manifest":         {map[string][]byte{folder.ManifestTemp: nil}, folder.ManifestTemp},
		"a file of others":               {map[string][]byte{"notes": nil}, ""},
		"nothing":                        {nil, ""},
		"unfinished, and one of others":  {map[string][]byte{"a": nil, folder.ManifestTemp: nil, "z": nil}, folder.ManifestTemp},
		"a file that only looks similar": {map[string][]byte{folder.ManifestTemp + ".old": nil}, ""},
	} {
		files := &folder.Memory{}
		for name, data := range c.files {
			files.Put(name, data)
		}
		report, err := local.Inspect(files)
		if err != nil {
			t.Fatal(err)
		}
		if report.Damaged() != (c.damaged != "") || report.Droppable() {
			t.Errorf("%s: damaged %v, droppable %v", name, report.Damaged(), report.Droppable())
		}
		for _, f := range report.Files {
			if (f.Err != nil) != (f.Name == c.damaged) || f.Unchecked {
				t.Errorf("%s: %s has the error %v, unchecked %v", name, f.Name, f.Err, f.Unchecked)
			}
		}
		err = local.Backup(files, keep)
		if errors.Is(err, bloomery.ErrCorrupt) != (c.damaged != "") || errors.Is(err, local.ErrNoData) != (c.damaged == "") {
			t.Errorf("%s: a backup: %v", name, err)
		}
		if err := local.Load(files, store.New(), func() error { return nil }); errors.Is(err, bloomery.ErrCorrupt) != (c.damaged != "") || errors.Is(err, local.ErrNoData) != (c.damaged == "") {
			t.Errorf("%s: a look: %v", name, err)
		}
	}
}
