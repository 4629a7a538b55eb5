package cluster

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/server/internal/door/cluster/memlog"
	"github.com/bloomery/bloomery/server/internal/door/cluster/messages"
	"github.com/bloomery/bloomery/server/internal/folder"
	"github.com/bloomery/bloomery/server/internal/roster"
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
		files, want, _ := goldenFolder(t, dir)
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

// goldenFolder reads a folder that was kept, what comes of it, and the log that belongs
// to it, if there is one.
func goldenFolder(t *testing.T, dir string) (files *folder.Memory, want string, log []byte) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	files = &folder.Memory{}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		switch e.Name() {
		case "want":
			want = strings.TrimSpace(string(data))
		case "tail":
			log = data
		default:
			files.Put(e.Name(), data)
		}
	}
	return files, want, log
}

// TestGoldenTails starts nodes from folders and logs that earlier releases wrote: the
// node goes on behind its snapshot, and serves.
func TestGoldenTails(t *testing.T) {
	dirs, err := filepath.Glob("testdata/tail*")
	if err != nil || len(dirs) == 0 {
		t.Fatalf("no folders were kept: %v", err)
	}
	for _, dir := range dirs {
		bubble(t, func(t *testing.T) {
			files, want, text := goldenFolder(t, dir)
			log := memlog.New(1, memlog.Faults{})
			first := log.Node(ErrFull)
			for lanes := false; len(text) > 0; {
				lane, n := binary.Uvarint(text)
				length, m := binary.Uvarint(text[n:])
				if lane > 0 && !lanes { // the catalogue comes first, and says how many there are
					lanes = true
					if err := first.Lanes(3, true); err != nil {
						t.Fatal(err)
					}
				}
				text = text[n+m:]
				log.Append(int(lane), text[:length])
				text = text[length:]
			}
			m := &machine{t: t, log: log, peers: &memlog.Peers{}, files: files, away: new(atomic.Int64)}
			m.start()
			defer m.kill()
			if got := m.contents(); got != want || m.number.Load() != 1 {
				t.Errorf("%s: node %d came back as %s, want %s", dir, m.number.Load(), got, want)
			}
			if m.stats.applied.Load() < 15 {
				t.Errorf("%s: %d messages were applied behind the snapshot", dir, m.stats.applied.Load())
			}
			m.fill(9) // and it takes writes
		})
	}
}

// contents returns a digest of all names, texts and parts, whatever the sessions of the
// nodes were.
func (m *machine) contents() string {
	m.t.Helper()
	m.save()
	var names []string
	for _, e := range m.state.Names.All() { // their order is that of a seed
		names = append(names, fmt.Sprintf("%q %d %q", e.Name(), e.ID, store.Text(e)))
	}
	slices.Sort(names)
	h := sha256.New()
	_, _ = fmt.Fprintln(h, names)
	for _, s := range m.compared.Some() {
		if s.Version > 0 { // texts have none, and are there already
			_, _ = fmt.Fprintln(h, s)
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// FuzzPeer reads what another node may answer, and what a folder keeps of the lanes.
func FuzzPeer(f *testing.F) {
	f.Add([]byte("\x01\x08MANIFEST\x40\x150000000000000001.part\x80\x01"))
	f.Add(appendCatalogue(nil, &roster.Roster{ID: 5, Lanes: 1, Holders: make([][]uint32, 3)}, messages.Senders{}.Append(nil)))
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
