package cluster

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/server/internal/door/cluster/memlog"
	"github.com/bloomery/bloomery/server/internal/folder"
	"github.com/bloomery/bloomery/server/internal/store"
)

// TestGoldenFolders opens folders of nodes that earlier releases wrote: contents,
// versions of parts, members and tables of senders come back.
func TestGoldenFolders(t *testing.T) {
	folders, err := filepath.Glob("testdata/folder*")
	if err != nil || len(folders) == 0 {
		t.Fatalf("no folders were kept: %v", err)
	}
	for _, dir := range folders {
		files := &folder.Memory{}
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		want := ""
		for _, e := range entries {
			data, err := os.ReadFile(filepath.Join(dir, e.Name()))
			if err != nil {
				t.Fatal(err)
			}
			if e.Name() == "want" {
				want = strings.TrimSpace(string(data))
			} else {
				files.Put(e.Name(), data)
			}
		}
		d, err := Open(Config{State: store.New(), Log: memlog.New(1, memlog.Faults{}).Node(ErrFull), Files: files})
		if err != nil {
			t.Fatalf("%s: %v", dir, err)
		}
		if err := d.load(d.keep.found); err != nil {
			t.Fatalf("%s: %v", dir, err)
		}
		sum := sha256.Sum256(all(d))
		if got := hex.EncodeToString(sum[:]); got != want || d.number.Load() == 0 || d.state.Names.Len() == 0 {
			t.Errorf("%s: node %d with %d names came back as %s, want %s", dir, d.number.Load(), d.state.Names.Len(), got, want)
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
}

// FuzzPeer reads what another node may answer, and what a folder keeps of the lanes.
func FuzzPeer(f *testing.F) {
	f.Add([]byte("\x01\x08MANIFEST\x40\x150000000000000001.part\x80\x01"))
	f.Add(appendCatalogue(nil, &store.Roster{ID: 5, Lanes: 1, Holders: make([][]uint32, 3)}, senders{}.append(nil)))
	f.Fuzz(func(t *testing.T, b []byte) {
		if _, files, err := parseHold(b); err == nil {
			if files[0].name != folder.Manifest {
				t.Errorf("the first file is %q", files[0].name)
			}
			for _, file := range files[1:] {
				if _, ok := folder.ParsePartName(file.name); !ok {
					t.Errorf("a file is called %q", file.name)
				}
			}
		} else if !errors.Is(err, bloomery.ErrCorrupt) {
			t.Errorf("error %v wraps no cause", err)
		}
		if _, _, _, err := parseCatalogue(b); err != nil && !errors.Is(err, bloomery.ErrCorrupt) && !errors.Is(err, bloomery.ErrVersion) {
			t.Errorf("error %v wraps no cause", err)
		}
	})
}
