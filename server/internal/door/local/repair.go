package local

// Repair and Drop: what is safe, and what loses names.

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"slices"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/folder"
	"github.com/bloomery/bloomery/server/internal/snapshot"
	"github.com/bloomery/bloomery/server/internal/store"
)

// asideSuffix ends the name of a damaged file whose names were dropped.
const asideSuffix = ".damaged"

// Repair does what is safe: it cuts off a torn end of the log, as a start would,
// and removes files that nobody needs. It does nothing to a damaged folder. The
// caller holds the lock of the folder.
func Repair(files folder.Files, r *Report) error {
	if r.Damaged() {
		return fmt.Errorf("local: repair: %w: restore a backup", bloomery.ErrCorrupt)
	}
	for i := range r.Files {
		f := &r.Files[i]
		var err error
		switch {
		case f.Orphan:
			err = files.Remove(f.Name)
		case f.Torn >= 0:
			err = cutFile(files, f.Name, f.Torn)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("local: repair: %w", err)
		}
	}
	if err := files.Sync(); err != nil {
		return fmt.Errorf("local: repair: %w", err)
	}
	return nil
}

func cutFile(files folder.Files, name string, at int64) error {
	f, err := files.Append(name)
	if err != nil {
		return err
	}
	err = f.Truncate(at)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// Drop removes the names whose contents are damaged or missing, those that
// Report.Lost lists, and keeps all others. It writes a snapshot without them; a
// damaged file stays in the folder under another name. It returns the names.
func Drop(files folder.Files, log *slog.Logger) ([]string, error) {
	state := store.New()
	d, err := Open(Config{State: state, Files: files, Fsync: Always, SnapshotAfter: -1, Log: log, Manual: true, drop: true})
	if err != nil {
		return nil, fmt.Errorf("local: drop: %w", err)
	}
	if err := errors.Join(d.Snapshot(), d.Close()); err != nil {
		return nil, fmt.Errorf("local: drop: %w", err)
	}
	return d.dropped, nil
}

// dropLost removes what is lost at the end of the log, and sees to it that the
// next snapshot uses no damaged file.
func (d *Door) dropLost(r *replayer, l *snapshot.Loaded) error {
	d.damaged = slices.Collect(maps.Keys(l.Damaged))
	d.save.Forget(d.damaged)
	d.state.Names.Lock()
	var names [][]byte
	for _, e := range r.stillLost() {
		names = append(names, []byte(e.Name()))
		d.dropped = append(d.dropped, e.Name())
	}
	d.state.Names.Unlock()
	if len(names) == 0 {
		return nil
	}
	ops := []*door.Op{{Record: store.Record{Body: &store.Remove{Names: names}}}}
	d.Do(ops)
	d.Wait(ops)
	return ops[0].Err
}

// setAside gives a damaged file a name that nothing reads and nothing removes.
// It reports false if the file is not one.
func (d *Door) setAside(name string) (bool, error) {
	number, ok := folder.ParsePartName(name)
	if !ok || !slices.Contains(d.damaged, number) {
		return false, nil
	}
	return true, d.config.Files.Rename(name, name+asideSuffix)
}
