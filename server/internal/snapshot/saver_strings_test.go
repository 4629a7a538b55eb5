package snapshot_test

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/bloomery/bloomery/server/internal/folder"
	"github.com/bloomery/bloomery/server/internal/snapshot"
	"github.com/bloomery/bloomery/server/internal/status"
	"github.com/bloomery/bloomery/server/internal/store"
)

// TestStringsOfAllLengths takes a snapshot of strings, an empty one among them, fails
// to take one, and loses one of two to damage.
func TestStringsOfAllLengths(t *testing.T) {
	files := &folder.Memory{}
	l := stringsOnly(t, files, "", "text")
	s := saver(full{files, ".part"}, l.state)
	if err := errors.Join(s.Claim(), s.Take(l)); !errors.Is(err, errFull) {
		t.Errorf("without space: %v", err)
	}
	s = saver(files, l.state)
	if err := errors.Join(s.Claim(), s.Take(l)); err != nil {
		t.Fatal(err)
	}
	m, state := load(t, files)
	if !bytes.Equal(appendSnapshot(state), appendSnapshot(l.state)) || len(m.Files()) != 1 {
		t.Fatalf("another state came back, from %d files", len(m.Files()))
	}
	name := folder.PartName(m.Items[0].File)
	data := files.Bytes(name)
	data[folder.FrameHeader] ^= 1 // of the first string
	files.Put(name, data)
	state = store.New()
	if lost, err := snapshot.Load(files, m, state).Fill(m, state); err != nil || len(lost) != 1 || lost[m.Items[1].ID] {
		t.Errorf("%v are lost of %d and %d: %v", lost, m.Items[0].ID, m.Items[1].ID, err)
	}
	saved := time.Unix(1_600_000_000, 0)
	m.Saved = saved.UnixMilli()
	s = saver(files, state)
	s.Adopt(m, map[uint64]uint64{m.Items[0].File: uint64(len(data))})
	var st status.Disk
	if s.Status(&st); !st.Saved.Equal(saved) {
		t.Errorf("the adopted snapshot was taken at %v, want %v", st.Saved, saved)
	}
	if err := m.Install(full{files, folder.ManifestTemp}); !errors.Is(err, errFull) {
		t.Errorf("Install without space: %v", err)
	}
}

// stringsOnly returns a door whose state has strings only.
func stringsOnly(t *testing.T, files folder.Files, texts ...string) *lanes {
	t.Helper()
	l := &lanes{state: store.New(), files: files}
	for i, text := range texts {
		l.do(t, store.Record{Body: &store.Set{String: store.String{Name: []byte{'a' + byte(i)}, Value: []byte(text)}}})
	}
	return l
}
