package local_test

import (
	"errors"
	"testing"

	"github.com/bloomery/bloomery/server/internal/door/local"
	"github.com/bloomery/bloomery/server/internal/folder"
	saved "github.com/bloomery/bloomery/server/internal/snapshot"
	"github.com/bloomery/bloomery/server/internal/store"
)

// TestFolderOfACluster asks that a single server does not start on the folder of a
// cluster's node, whose log is elsewhere, and that doctor finds nothing wrong with it.
func TestFolderOfACluster(t *testing.T) {
	files := smallFolder(t)
	m, err := saved.Read(files)
	if err != nil {
		t.Fatal(err)
	}
	m.Version, m.Cluster, m.Node = saved.Version2, 5, 3
	if err := m.Install(files); err != nil {
		t.Fatal(err)
	}
	names, err := files.List()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if _, ok := folder.ParseLogName(name); ok {
			if err := files.Remove(name); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := local.Open(local.Config{State: store.New(), Files: files}); !errors.Is(err, local.ErrCluster) {
		t.Errorf("Open: %v, want %v", err, local.ErrCluster)
	}
	report, err := local.Inspect(files)
	if err != nil || report.Damaged() || report.Repairable() || report.Names == 0 {
		t.Errorf("doctor finds %+v, %v", report, err)
	}
	if err := local.Check(files); err != nil {
		t.Error(err)
	}
}
