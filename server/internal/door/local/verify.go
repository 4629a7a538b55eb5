package local

// Reading a snapshot back.

import (
	"fmt"

	"github.com/bloomery/bloomery/server/internal/folder"
	"github.com/bloomery/bloomery/server/internal/snapshot"
)

// Verify implements door.Keeper: it reads the snapshot back.
func (d *Door) Verify() error {
	if d.log == nil {
		return nil
	}
	if err := d.save.Verify(); err != nil {
		return fmt.Errorf("local: verify: %w", err)
	}
	return nil
}

// Check reads every frame of a folder: that the manifest is whole, that all part
// files are there and whole, and that the log reaches as far as the snapshot
// needs it. It puts no contents together and needs little memory. A torn end of
// the log, which a start cuts off, is not an error.
func Check(files folder.Folder) error {
	names, err := files.List()
	if err == nil {
		err = cutOff(names)
	}
	var m *snapshot.Manifest
	if err == nil {
		m, err = snapshot.Read(files)
	}
	if err == nil && m == nil {
		m = snapshot.Empty()
	}
	if err == nil {
		err = snapshot.Check(files, m)
	}
	if err == nil && m.Cluster == 0 { // that of a cluster is elsewhere
		_, err = scanLog(files, names, m, func(uint64, []byte) error { return nil })
	}
	if err != nil {
		return fmt.Errorf("local: check: %w", err)
	}
	return nil
}
