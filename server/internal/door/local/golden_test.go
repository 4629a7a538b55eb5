package local_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/door/local"
	"github.com/bloomery/bloomery/server/internal/folder"
	"github.com/bloomery/bloomery/server/internal/store"
)

// goldenEntry is what a released server answered about one name.
type goldenEntry struct {
	Name, Type, Text, Dump string
	Deadline               int64
	Items                  uint64
}

// goldenRebuild is what FILTER.REBUILD STATUS of a released server answered.
type goldenRebuild struct {
	Name, Kind         string
	Fed, Added, Missed uint64
	Items              uint64
}

// TestGoldenFolders opens data folders that earlier releases wrote: all of it
// comes back, doctor finds them whole, and a snapshot of this release keeps it.
func TestGoldenFolders(t *testing.T) {
	archives, err := filepath.Glob("testdata/folder*/*.tar.gz")
	if err != nil || len(archives) == 0 {
		t.Fatalf("no folders were kept: %v", err)
	}
	for _, archive := range archives {
		t.Run(archive, func(t *testing.T) {
			var want []goldenEntry
			text, err := os.ReadFile(filepath.Join(filepath.Dir(archive), "want.json"))
			if err == nil {
				err = json.Unmarshal(text, &want)
			}
			if err != nil {
				t.Fatal(err)
			}
			var rebuilds []goldenRebuild
			if text, err := os.ReadFile(filepath.Join(filepath.Dir(archive), "rebuilds.json")); err == nil {
				if err := json.Unmarshal(text, &rebuilds); err != nil || len(rebuilds) == 0 {
					t.Fatalf("rebuilds.json has %d rebuilds: %v", len(rebuilds), err)
				}
			}
			files := folder.Disk(unpack(t, archive))
			report, err := local.Inspect(files)
			if err != nil {
				t.Fatal(err)
			}
			if report.Damaged() || report.Repairable() {
				t.Errorf("doctor finds something: %+v", report)
			}
			state, d := open(t, files, local.EverySecond)
			checkGolden(t, state, want)
			checkRebuilds(t, state, rebuilds)
			if err := d.Snapshot(); err != nil {
				t.Fatal(err)
			}
			state, d = same(t, files, state, d)
			checkGolden(t, state, want)
			checkRebuilds(t, state, rebuilds)
			if err := d.Close(); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// items returns the items that the bits of a part show: the tests of this package wrote
// that down.
func items(p *contents.Part) uint64 {
	if f := p.Filter(); f != nil {
		return f.Stats().Items
	}
	return p.Contents().Stats().Items
}

func checkGolden(t *testing.T, state *store.State, want []goldenEntry) {
	t.Helper()
	if got := state.Names.Len(); got != len(want) {
		t.Errorf("%d names, want %d", got, len(want))
	}
	for _, w := range want {
		e, deadline := state.Names.Deadline([]byte(w.Name), 0)
		if e == nil {
			t.Errorf("%s is missing", w.Name)
			continue
		}
		got := goldenEntry{Name: w.Name, Type: contents.TypeName(e.Kind), Deadline: deadline}
		if e.Kind == catalog.String {
			got.Text = store.Text(e)
		} else {
			sum := sha256.New()
			for _, p := range contents.Parts(e) {
				c := p.Contents()
				got.Items += items(p)
				sum.Write(c.AppendHeader(nil))
				for iter := int64(1); iter != 0; {
					var chunk []byte
					iter, chunk = c.ScanDump(iter)
					sum.Write(chunk)
				}
			}
			got.Dump = hex.EncodeToString(sum.Sum(nil))
		}
		if got != w {
			t.Errorf("came back as %+v\nwant %+v", got, w)
		}
	}
}

// checkRebuilds asks for the rebuilds that were open.
func checkRebuilds(t *testing.T, state *store.State, want []goldenRebuild) {
	t.Helper()
	for _, w := range want {
		sh := state.ShadowNamed([]byte(w.Name))
		if e := state.Names.Lookup([]byte(w.Name), 0); e != nil {
			sh = state.ShadowOf(e.ID)
		}
		if sh == nil {
			t.Errorf("the rebuild of %s is missing", w.Name)
			continue
		}
		p, ok := sh.Progress()
		got := goldenRebuild{w.Name, sh.Row().Name, p.Fed, p.Added, p.Missed, p.Items}
		if got.Items == w.Items+1 {
			got.Items = w.Items // it was an estimate when it was written down
		}
		if !ok || got != w {
			t.Errorf("came back as %+v\nwant %+v", got, w)
		}
	}
}

// unpack unpacks an archive into a folder of its own.
func unpack(t *testing.T, archive string) string {
	t.Helper()
	data, err := os.ReadFile(archive)
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			return dir
		}
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(r)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, filepath.Base(h.Name)), body, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
