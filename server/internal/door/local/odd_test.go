package local_test

// Folders and archives that are not whole, and what waits to be written.

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/server/internal/door/local"
	"github.com/bloomery/bloomery/server/internal/folder"
	"github.com/bloomery/bloomery/server/internal/folder/powercut"
	saved "github.com/bloomery/bloomery/server/internal/snapshot"
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

// TestInspectComparesLog asks that a log which does not go on as the manifest says is
// damage, and that an empty log file among others is not needed.
func TestInspectComparesLog(t *testing.T) {
	files := smallFolder(t)
	m, err := saved.Read(files)
	if err != nil {
		t.Fatal(err)
	}
	logs := named(files, ".log")
	start, _ := folder.ParseLogName(logs[len(logs)-1])
	begun := files.Copy()
	begun.Put(folder.LogName(start+1), nil)
	report, err := local.Inspect(begun)
	if err != nil || report.Damaged() || !report.Repairable() {
		t.Fatalf("a log file that was begun and not needed: %+v, %v", report, err)
	}
	for _, f := range report.Files {
		if f.Orphan != (f.Name == folder.LogName(start+1)) {
			t.Errorf("%s is not needed: %v", f.Name, f.Orphan)
		}
	}
	if err := local.Repair(begun, report); err != nil || begun.Bytes(folder.LogName(start+1)) != nil || len(named(begun, ".log")) != len(logs) {
		t.Errorf("repaired to %v, %v", named(begun, ".log"), err)
	}
	m.Items[0].Gone = true // removed while it was saved, and the log does not have that
	if err := m.Install(files); err != nil {
		t.Fatal(err)
	}
	if report, err = local.Inspect(files); err != nil || !report.Damaged() {
		t.Errorf("a log that does not belong to the snapshot: %+v, %v", report, err)
	}
	if _, err := local.Open(local.Config{State: store.New(), Files: files}); !errors.Is(err, bloomery.ErrCorrupt) {
		t.Errorf("a start with it: %v", err)
	}
}

// TestLooksAfterAFailure asks that a folder is not looked at any more once a sync has
// failed: a snapshot would not help.
func TestLooksAfterAFailure(t *testing.T) {
	disk := powercut.New(1)
	var fail atomic.Bool
	disk.Fail = func(op, _ string) error {
		if op == "sync" && fail.Load() {
			return syscall.EIO
		}
		return nil
	}
	d, err := local.Open(local.Config{State: store.New(), Files: disk, Fsync: local.Always, SnapshotAfter: -1}.Manual())
	if err != nil {
		t.Fatal(err)
	}
	do(t, d, newBloom("k", 100))
	if d.Look() {
		t.Error("a whole folder needs a snapshot")
	}
	fail.Store(true)
	if err := d.Sync(); !errors.Is(err, syscall.EIO) {
		t.Fatalf("Sync() = %v", err)
	}
	if d.Look() {
		t.Error("a snapshot is wanted after a failed sync")
	}
	_ = d.Close()
}

// TestLongIsCounted asks that a long string counts from when it is put in order until it
// is written, in one frame.
func TestLongIsCounted(t *testing.T) {
	files := &folder.Memory{}
	d, err := local.Open(local.Config{State: store.New(), Files: files, Fsync: local.Never, SnapshotAfter: -1}.Manual())
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Repeat("s", store.Long)
	if err := d.Step(); err != nil || d.Long() != 0 {
		t.Errorf("%d bytes of nothing, %v", d.Long(), err)
	}
	size := func() int { return len(files.Bytes(folder.LogName(0))) - int(d.Position()) } // of all that is no record
	before := size()
	do(t, d, store.Record{Op: store.OpSet, Name: []byte("k"), Value: []byte(text), Made: text})
	if n := d.Long(); n < store.Long || n > store.Long+200 {
		t.Errorf("a string of %d bytes counts as %d", store.Long, n)
	}
	if err := d.Step(); err != nil || d.Long() != 0 {
		t.Errorf("%d bytes when it is written, %v", d.Long(), err)
	}
	if got := size() - before; got != folder.FrameHeader {
		t.Errorf("%d bytes more than those of the record, want %d: one frame", got, folder.FrameHeader)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}
