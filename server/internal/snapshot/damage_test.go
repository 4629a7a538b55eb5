package snapshot_test

import (
	"bytes"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/server/internal/folder"
	"github.com/bloomery/bloomery/server/internal/snapshot"
	"github.com/bloomery/bloomery/server/internal/store"
)

// taken returns a folder with a snapshot of a filter of four parts and a string.
func taken(t *testing.T) (*folder.Memory, *snapshot.Manifest, uint64) {
	t.Helper()
	files := &folder.Memory{}
	l, id := filled(t, files)
	s := saver(files, l.state)
	if err := errors.Join(s.Claim(), s.Take(l)); err != nil {
		t.Fatal(err)
	}
	m, err := snapshot.Read(files)
	if err != nil {
		t.Fatal(err)
	}
	return files, m, id
}

// TestDamagedPartFiles removes, cuts and changes a part file: a check names it, and a
// load loses what was in it and keeps the rest.
func TestDamagedPartFiles(t *testing.T) {
	whole, m, id := taken(t)
	if err := snapshot.Check(whole, m); err != nil {
		t.Fatalf("a whole snapshot: %v", err)
	}
	number, text := m.Find(id).File, m.Items[len(m.Items)-1].ID
	name := folder.PartName(number)
	for what, change := range map[string]func(*folder.Memory, []byte){
		"missing": func(f *folder.Memory, _ []byte) { _ = f.Remove(name) },
		"cut":     func(f *folder.Memory, data []byte) { f.Put(name, data[:len(data)-1]) },
		"cut to a frame": func(f *folder.Memory, data []byte) {
			f.Put(name, data[:folder.FindFrame(data[1:], folder.PartFrame)+1])
		},
		"changed": func(f *folder.Memory, data []byte) { data[folder.FrameHeader+10] ^= 1; f.Put(name, data) },
		"longer":  func(f *folder.Memory, data []byte) { f.Put(name, append(data, 0)) },
	} {
		files := whole.Copy()
		change(files, files.Bytes(name))
		var damage *folder.Damage
		if err := snapshot.Check(files, m); !errors.As(err, &damage) || damage.File != name || !errors.Is(err, bloomery.ErrCorrupt) {
			t.Errorf("%s: Check = %v, want damage of %s", what, err, name)
		}
		state := store.New()
		l := snapshot.Load(files, m, state)
		if err := l.First(); !errors.As(err, &damage) || damage.File != name || len(l.Damaged) != 1 || l.Failed != nil {
			t.Errorf("%s: First = %v, %d damaged, %v", what, err, len(l.Damaged), l.Failed)
		}
		lost, err := l.Fill(m, state)
		if err != nil || state.Names.Get([]byte("f")) == nil || state.Names.Get([]byte("s")) == nil {
			t.Errorf("%s: Fill: %v, names %d", what, err, state.Names.Len())
		}
		// The last frame is that of the string.
		if isWhole := what == "longer" || what == "cut"; lost[id] == isWhole || lost[text] != (what != "longer" && what != "changed") {
			t.Errorf("%s: %v are lost of %d and %d", what, lost, id, text)
		}
	}
	l := snapshot.Load(whole, m, store.New())
	if l.First() != nil {
		t.Error(l.First())
	}
	l.Discard()
}

// TestSalvage changes one frame of a part file that several parts share: only what the
// frame held is lost.
func TestSalvage(t *testing.T) {
	files, m, id := taken(t)
	number := m.Find(id).File
	if m.Find(id+1).File != number {
		t.Skip("parts have files of their own")
	}
	data := files.Bytes(folder.PartName(number))
	data[folder.FrameHeader+10] ^= 1
	files.Put(folder.PartName(number), data)
	state := store.New()
	lost, err := snapshot.Load(files, m, state).Fill(m, state)
	if err != nil || len(lost) != 1 {
		t.Fatalf("%v are lost: %v", lost, err)
	}
	if e := state.Names.Get([]byte("s")); e == nil || store.Text(e) != "text" {
		t.Error("the string of another frame is lost, too")
	}
}

// TestInstall puts a manifest into place, where Read finds it, and reads from a folder
// without one.
func TestInstall(t *testing.T) {
	files := &folder.Memory{}
	if m, err := snapshot.Read(files); m != nil || err != nil {
		t.Errorf("the manifest of nothing is %v, %v", m, err)
	}
	want := clustered()
	if err := want.Install(files); err != nil {
		t.Fatal(err)
	}
	if names, _ := files.List(); !slices.Equal(names, []string{folder.Manifest}) {
		t.Errorf("files %q", names)
	}
	if got, err := snapshot.Read(files); err != nil || !bytes.Equal(encode(t, got), encode(t, want)) {
		t.Errorf("another manifest came back: %v", err)
	}
	var damage *folder.Damage
	files.Put(folder.Manifest, []byte("no manifest"))
	if _, err := snapshot.Read(files); !errors.As(err, &damage) || damage.File != folder.Manifest {
		t.Errorf("a damaged manifest: %v", err)
	}
}

// TestHoldMore holds files that a caller names, and gives up on those that are missing.
func TestHoldMore(t *testing.T) {
	files, m, _ := taken(t)
	files.Put("x", []byte("log"))
	h, err := snapshot.Hold(files, func(got *snapshot.Manifest) ([]string, error) {
		if got.Number != m.Number {
			t.Errorf("manifest %d, want %d", got.Number, m.Number)
		}
		return []string{"x"}, nil
	})
	if err != nil || h.Names[0] != folder.Manifest || h.Names[len(h.Names)-1] != "x" || len(h.Names) != 2+len(m.Files()) || len(h.Readers) != len(h.Names) {
		t.Fatalf("Hold: %v, %q", err, h.Names)
	}
	tries := 0
	for what, c := range map[string]struct {
		names []string
		err   error
		tries int
	}{
		"missing": {[]string{"y"}, fs.ErrNotExist, 10},
		"refused": {nil, errors.ErrUnsupported, 1},
	} {
		tries = 0
		_, err := snapshot.Hold(files, func(*snapshot.Manifest) ([]string, error) {
			tries++
			if c.names == nil {
				return nil, c.err
			}
			return c.names, nil
		})
		if !errors.Is(err, c.err) || tries != c.tries || (tries > 1) != strings.Contains(err.Error(), "after 10 tries") {
			t.Errorf("%s: %v after %d tries", what, err, tries)
		}
	}
	if h, err := snapshot.Hold(&folder.Memory{}, nil); err != nil || len(h.Names) != 0 || len(h.Manifest.Items) != 0 {
		t.Errorf("an empty folder: %v, %v", h, err)
	}
}
