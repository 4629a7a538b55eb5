package datadir_test

import (
	"errors"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/server"
	"github.com/bloomery/bloomery/server/datadir"
)

// TestReportOfAFolder asks that a report has what was found, and that Repair takes
// no other report.
func TestReportOfAFolder(t *testing.T) {
	dir := t.TempDir()
	s, err := server.New(t.Context(), server.Config{Addr: []string{"127.0.0.1:0"}, Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
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
