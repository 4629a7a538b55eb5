package datadir_test

import (
	"archive/tar"
	"bytes"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/server"
	"github.com/bloomery/bloomery/server/datadir"
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
