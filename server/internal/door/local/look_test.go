package local_test

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/door/local"
	"github.com/bloomery/bloomery/server/internal/folder"
	"github.com/bloomery/bloomery/server/internal/folder/powercut"
	"github.com/bloomery/bloomery/server/internal/store"
)

// brittleFiles is a folder in which files cannot be made for a while.
type brittleFiles struct {
	*folder.Memory
	broken bool
}

func (f *brittleFiles) Create(name string) (folder.File, error) {
	if f.broken {
		return nil, fs.ErrPermission
	}
	return f.Memory.Create(name)
}

// TestRemovedFiles removes each file of a folder under a door that works on it.
// Writes are refused until a snapshot has everything; then they go on, and a start
// finds all of it.
func TestRemovedFiles(t *testing.T) {
	for _, fsync := range []local.Fsync{local.Always, local.EverySecond} {
		for _, suffix := range []string{".log", ".part", "MANIFEST", ""} {
			for _, closes := range []bool{false, true} {
				t.Run(fmt.Sprint(fsync, suffix, closes), func(t *testing.T) { removedFiles(t, fsync, suffix, closes) })
			}
		}
	}
}

func removedFiles(t *testing.T, fsync local.Fsync, suffix string, closes bool) {
	files := &brittleFiles{Memory: &folder.Memory{}}
	config := local.Config{Files: files, Fsync: fsync, SnapshotAfter: -1, Manual: true}
	state := store.New()
	config.State = state
	d, err := local.Open(config)
	if err != nil {
		t.Fatal(err)
	}
	want := 0
	set := func() error {
		op := door.Op{Record: store.Record{Body: &store.Set{String: store.String{Name: fmt.Appendf(nil, "s%d", want), Value: []byte("v")}}}}
		d.Do([]*door.Op{&op})
		want++
		if op.Err != nil {
			t.Fatal(op.Err)
		}
		return d.Sync()
	}
	for range 10 {
		if err := set(); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.Snapshot(); err != nil {
		t.Fatal(err)
	}
	if err := set(); err != nil || d.Look() || d.Refuses() != nil {
		t.Fatalf("a folder from which nothing was removed: %v", d.Refuses())
	}
	names, _ := files.List()
	removed := ""
	for _, name := range names {
		if strings.HasSuffix(name, suffix) {
			removed = name
			if err := files.Remove(name); err != nil {
				t.Fatal(err)
			}
		}
	}
	if removed == "" {
		t.Fatalf("no %s among %v", suffix, names)
	}
	if !closes {
		files.broken = true
		if !d.Look() {
			t.Fatal("nobody notices")
		}
		if err := d.Refuses(); !errors.Is(err, door.ErrRefused) || suffix != "" && !strings.Contains(err.Error(), removed) {
			t.Errorf("writes are refused with %v, want the name of %s", err, removed)
		}
		if err := set(); !errors.Is(err, door.ErrRefused) {
			t.Errorf("a write that was under way is acknowledged: %v", err)
		}
		if err := d.Step(); err != nil {
			t.Log(err)
		}
		if err := d.Snapshot(); err == nil || !d.Look() || d.Refuses() == nil {
			t.Errorf("a snapshot that cannot be written: %v, and writes are taken: %v", err, d.Refuses())
		}
		files.broken = false
		for range 3 {
			if d.Look() {
				if err := d.Snapshot(); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := d.Refuses(); err != nil {
			t.Fatalf("writes are refused after a snapshot: %v", err)
		}
		if err := set(); err != nil {
			t.Error(err)
		}
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	config.State = store.New()
	if d, err = local.Open(config); err != nil {
		t.Fatal(err)
	}
	if got := config.State.Names.Len(); got != want {
		t.Errorf("%d names after a start, want %d", got, want)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
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
	d, err := local.Open(local.Config{State: store.New(), Files: disk, Fsync: local.Always, SnapshotAfter: -1, Manual: true})
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
