package datadir_test

import (
	"archive/tar"
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/server"
	"github.com/bloomery/bloomery/server/datadir"
	"github.com/bloomery/bloomery/server/internal/door/cluster/claims"
	"github.com/bloomery/bloomery/server/internal/folder"
)

// served returns a folder that a server has used.
func served(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	s, err := server.New(t.Context(), server.Config{Addr: []string{"127.0.0.1:0"}, Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestReportOfAFolder asks that a report has what was found, and that Repair takes
// no other report.
func TestReportOfAFolder(t *testing.T) {
	dir := served(t)
	r, err := datadir.Inspect(dir)
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[datadir.FileKind]int{}
	for _, f := range r.Files {
		kinds[f.Kind]++
		if f.Err != nil || f.Torn != -1 {
			t.Errorf("%s: %v, torn at %d", f.Name, f.Err, f.Torn)
		}
	}
	if kinds[datadir.Log] == 0 || r.Damaged() || r.Droppable() {
		t.Errorf("files %v, damaged %v, droppable %v", kinds, r.Damaged(), r.Droppable())
	}
	if kinds[datadir.Manifest] > 0 == r.Saved.IsZero() {
		t.Errorf("%d manifests, saved %v", kinds[datadir.Manifest], r.Saved)
	}
	if err := datadir.Repair(dir, r); err != nil {
		t.Errorf("Repair: %v", err)
	}
	for _, made := range []*datadir.Report{nil, {Files: r.Files}} {
		if err := datadir.Repair(dir, made); !errors.Is(err, bloomery.ErrParameter) {
			t.Errorf("Repair of a report that was made: %v, want ErrParameter", err)
		}
	}
}

// TestBackupIsNotOfTheFuture asks that no file of a backup is newer than the backup: tar would warn of each.
func TestBackupIsNotOfTheFuture(t *testing.T) {
	dir := served(t)
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(900 * time.Millisecond) // of a whole second, and of no real time
		var b bytes.Buffer
		if err := datadir.Backup(dir, &b); err != nil {
			t.Fatal(err)
		}
		h, err := tar.NewReader(&b).Next()
		if err != nil {
			t.Fatal(err)
		}
		if h.ModTime.After(time.Now()) {
			t.Errorf("%s is of %v, now it is %v", h.Name, h.ModTime, time.Now())
		}
	})
}

// TestReportOfANode damages what the folder of a node has beside contents: the report has it, with what to do.
func TestReportOfANode(t *testing.T) {
	for name, c := range map[string]struct {
		damage, text string // "" for none
		want         map[datadir.FileKind]string
	}{
		"sound":                {want: map[datadir.FileKind]string{datadir.Sessions: "", datadir.Node: "", datadir.Streams: ""}},
		"SESSION":              {"SESSION", "12345678abcd", map[datadir.FileKind]string{datadir.Sessions: "remove this file"}},
		"log/cluster-log.json": {"log/cluster-log.json", "{", map[datadir.FileKind]string{datadir.Node: "cluster replace-log"}},
		"MANIFEST":             {"MANIFEST", "blmr", map[datadir.FileKind]string{datadir.Manifest: "move the file MANIFEST"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := served(t)
			put := func(name, text string) {
				t.Helper()
				name = filepath.Join(dir, name)
				if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, []byte(text), 0o600)); err != nil {
					t.Fatal(err)
				}
			}
			if err := claims.KeepSessions(folder.Disk(dir), []int64{1, 2}); err != nil {
				t.Fatal(err)
			}
			put("log/cluster-log.json", `{"cluster":"c1","server":"join1-x","store":true}`)
			put("log/jetstream/a/1.blk", "1234")
			if c.damage != "" {
				put(c.damage, c.text)
			}
			r, err := datadir.Inspect(dir)
			if err != nil {
				t.Fatal(err)
			}
			if r.Damaged() != (c.damage != "") || r.Droppable() {
				t.Errorf("damaged %t, droppable %t", r.Damaged(), r.Droppable())
			}
			for _, f := range r.Files {
				want, asked := c.want[f.Kind]
				if (f.Err != nil) != (f.Name == c.damage) || asked && (want == "") != (f.Remedy == "") || !strings.Contains(f.Remedy, want) {
					t.Errorf("%+v, want the remedy %q", f, want)
				}
				delete(c.want, f.Kind)
			}
			if len(c.want) > 0 {
				t.Errorf("the report has none of the kinds %v", c.want)
			}
		})
	}
}
