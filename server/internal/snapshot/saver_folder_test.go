package snapshot_test

import (
	"bytes"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/folder"
	"github.com/bloomery/bloomery/server/internal/snapshot"
	"github.com/bloomery/bloomery/server/internal/status"
	"github.com/bloomery/bloomery/server/internal/store"
)

// TestFilesOfParts checks where parts go: small ones share a file, large ones and long
// strings have one each; and that files that nothing needs any more are named.
func TestFilesOfParts(t *testing.T) {
	long := bytes.Repeat([]byte("a long string "), 200_000)
	for _, c := range []struct {
		small int64
		files int
	}{{0, 2}, {1, 6}} {
		files := &folder.Memory{}
		l, id := filled(t, files)
		l.do(t, store.Record{Body: &store.Set{String: store.String{Name: []byte("long"), Value: long}}})
		now := time.Unix(1_700_000_000, 0)
		s := snapshot.NewSaver(snapshot.Config{
			Files: files, State: l.state, Small: c.small, Clock: func() time.Time { return now }, Tick: func() time.Duration { return 0 },
			Log: slog.New(slog.DiscardHandler),
		})
		if err := errors.Join(s.Claim(), s.Take(l)); err != nil {
			t.Fatal(err)
		}
		m, state := load(t, files)
		if len(m.Files()) != c.files || !bytes.Equal(appendSnapshot(state), appendSnapshot(l.state)) {
			t.Errorf("parts are large from %d bytes on: %d files, want %d, or another state", c.small, len(m.Files()), c.files)
		}
		var st status.Disk
		if s.Status(&st); !st.Saved.Equal(now) || st.Snapshots != 1 || st.Failed != 0 {
			t.Errorf("status %+v, want one snapshot at %v", st, now)
		}
		for i := range uint32(4) {
			l.do(t, store.Record{ID: id, Index: i, Body: &store.FilterAdd{Room: store.Unlimited, Hashes: []uint64{1 << 50}}})
			s.Note(contents.PartAt(l.state.Names.ByID(id), i)) // while no snapshot is taken nobody waits
			s.Throttle()
			if s.Crowded() {
				t.Error("writers have to wait though no snapshot is taken")
			}
		}
		l.do(t, store.Record{Body: &store.Remove{Names: [][]byte{[]byte("s"), []byte("long")}}})
		if err := errors.Join(s.Claim(), s.Take(l)); err != nil {
			t.Fatal(err)
		}
		next, _ := load(t, files)
		names, _ := files.List()
		var want []string
		for number := range next.Files() {
			want = append(want, folder.PartName(number))
		}
		if want = append(want, folder.Manifest); !slices.Equal(names, slices.Sorted(slices.Values(want))) {
			t.Errorf("files %q, want %q", names, want)
		}
	}
}

// full is a folder in which files of a name cannot be made.
type full struct {
	folder.Files
	suffix string
}

var errFull = errors.New("no space left")

func (f full) Create(name string) (folder.File, error) {
	if strings.HasSuffix(name, f.suffix) {
		return nil, errFull
	}
	return f.Files.Create(name)
}

// TestFullFolder takes snapshots into a folder without space: they fail, the status has
// it, nothing is left, and the next one succeeds.
func TestFullFolder(t *testing.T) {
	for _, suffix := range []string{".part", folder.ManifestTemp} {
		files := &folder.Memory{}
		l, _ := filled(t, files)
		for _, small := range []int64{0, 1} {
			config := snapshot.Config{
				Files: full{files, suffix}, State: l.state, Small: small, Clock: time.Now, Tick: func() time.Duration { return 0 }, Log: slog.New(slog.DiscardHandler),
			}
			s := snapshot.NewSaver(config)
			err := errors.Join(s.Claim(), s.Take(l))
			var st status.Disk
			if s.Status(&st); !errors.Is(err, errFull) || !errors.Is(st.Err, errFull) || st.Failed != 1 || st.Snapshots != 0 {
				t.Errorf("%s cannot be made: %v, status %+v", suffix, err, st)
			}
			if names, _ := files.List(); len(names) != 0 {
				t.Errorf("%s cannot be made: %q are left", suffix, names)
			}
		}
		s := saver(files, l.state)
		if err := errors.Join(s.Claim(), s.Take(l)); err != nil {
			t.Error(err)
		}
		load(t, files)
	}
}

// TestFilterWithoutSpace fails to take a snapshot of nothing but a filter.
func TestFilterWithoutSpace(t *testing.T) {
	files := &folder.Memory{}
	l, _ := filled(t, files)
	l.do(t, store.Record{Body: &store.Remove{Names: [][]byte{[]byte("s")}}})
	s := saver(full{files, ".part"}, l.state)
	if err := errors.Join(s.Claim(), s.Take(l)); !errors.Is(err, errFull) {
		t.Errorf("without space: %v", err)
	}
}

// syncing counts how often a folder is made durable.
type syncing struct {
	folder.Files
	n *int
}

func (f syncing) Sync() error {
	*f.n++
	return f.Files.Sync()
}

// TestFolderIsSynced checks that names of part files are durable before the manifest is
// renamed, and its name after that: twice, or once if no file was made.
func TestFolderIsSynced(t *testing.T) {
	files := &folder.Memory{}
	l := stringsOnly(t, files, "text")
	n := 0
	s := saver(syncing{files, &n}, l.state)
	for _, want := range []int{2, 3} {
		if err := errors.Join(s.Claim(), s.Take(l)); err != nil || n != want {
			t.Errorf("%d syncs of the folder, %v, want %d", n, err, want)
		}
	}
}

// broken is a folder whose part files cannot be written.
type broken struct{ folder.Files }

func (f broken) Create(name string) (folder.File, error) {
	file, err := f.Files.Create(name)
	if strings.HasSuffix(name, ".part") {
		file = brokenFile{file}
	}
	return file, err
}

type brokenFile struct{ folder.File }

func (brokenFile) Write([]byte) (int, error) { return 0, errFull }

// TestLongStringWithoutSpace fails in the middle of a string that is written piece by
// piece.
func TestLongStringWithoutSpace(t *testing.T) {
	files := &folder.Memory{}
	l := stringsOnly(t, files, strings.Repeat("a long string ", 200_000))
	s := saver(broken{files}, l.state)
	if err := errors.Join(s.Claim(), s.Take(l)); !errors.Is(err, errFull) {
		t.Errorf("without space: %v", err)
	}
}
