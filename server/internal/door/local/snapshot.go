package local

// When and how snapshots are taken.

import (
	"errors"
	"fmt"
	"time"

	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/folder"
	"github.com/bloomery/bloomery/server/internal/snapshot"
	"github.com/bloomery/bloomery/server/internal/status"
)

// errNothingKept is the error of a snapshot without a folder.
var errNothingKept = errors.New("local: snapshot: data is kept in memory only")

// Status implements door.Keeper.
func (d *Door) Status() status.Disk {
	st := status.Disk{Kept: d.log != nil, Mode: d.config.Fsync.String(), Began: time.Unix(0, 0), Saved: time.Unix(0, 0)}
	if d.log == nil {
		return st
	}
	d.save.Status(&st)
	st.Mode = d.log.mode().String()
	st.LogEnd = d.log.position()
	st.LogBytes = int64(st.LogEnd - d.save.Position())
	st.Buffered, st.Syncs = d.log.buffered.Load(), d.log.syncs.Load()
	st.Behind, st.Failures = d.log.age(), d.log.failures.Load()
	if at := d.log.synced.Load(); at != 0 {
		st.Synced = d.config.Clock().Add(-time.Duration(d.log.now() - at))
	}
	return st
}

// saveIfDue begins a snapshot in the background if the log has outgrown the
// data.
func (d *Door) saveIfDue() {
	after := d.config.SnapshotAfter
	if after < 0 || d.save.Running() || int64(d.log.position()-d.save.Position()) < max(after, d.state.Bytes()) {
		return
	}
	// After a failure, most likely a full disk, give people a minute.
	if ago, failing := d.save.Failing(); failing && ago < time.Minute {
		return
	}
	_ = d.StartSnapshot()
}

// StartSnapshot implements door.Keeper.
func (d *Door) StartSnapshot() error {
	if d.log == nil {
		return errNothingKept
	}
	if err := d.save.Claim(); err != nil {
		return err
	}
	d.tasks.Go(func() {
		if err := d.takeSnapshot(); err != nil {
			d.config.Log.Error("snapshot failed", "error", err)
		}
	})
	return nil
}

// Snapshot implements door.Keeper.
func (d *Door) Snapshot() error {
	if d.log == nil {
		return errNothingKept
	}
	if err := d.save.Claim(); err != nil {
		return err
	}
	return d.takeSnapshot()
}

func (d *Door) takeSnapshot() error {
	if err := d.save.Take(source{d}); err != nil {
		return fmt.Errorf("local: %w", err)
	}
	return nil
}

// source is the door as package snapshot sees it: one lane, whose positions are those
// of the log.
type source struct{ *Door }

// Cut implements snapshot.Source.
func (d source) Cut(m *snapshot.Manifest, copy func()) error {
	d.log.io.Lock()
	err := d.log.flush()
	if err == nil {
		err = d.log.rotate() // so that all files before can go
	}
	d.log.io.Unlock()
	if err != nil {
		return err
	}
	d.state.Names.Lock()
	defer d.state.Names.Unlock()
	m.Version, m.Lanes = snapshot.Version1, []snapshot.Lane{{Seq: d.log.position()}}
	copy()
	return nil
}

// Freeze implements snapshot.Source: records of a part are logged under its lock.
func (d source) Freeze(_ *catalog.Entry, _ int, p *contents.Part, fn func(lane int, position uint64)) {
	p.Lock()
	defer p.Unlock()
	fn(0, d.log.position())
}

// Settle implements snapshot.Source.
func (d source) Settle(m *snapshot.Manifest) (err error) {
	// Whoever was removing a name has now logged it.
	d.state.Names.Lock()
	d.state.Names.Unlock() //nolint:staticcheck // waiting is all
	m.Lanes[0].High, err = d.log.barrier()
	return err
}

// Taken implements snapshot.Source.
func (d source) Taken(m *snapshot.Manifest, unneeded []string) {
	names, err := d.config.Files.List()
	if err != nil {
		return
	}
	for _, name := range append(oldLogs(names, m), unneeded...) {
		aside, err := d.setAside(name)
		if !aside {
			err = d.config.Files.Remove(name)
		}
		if err != nil {
			d.config.Log.Warn("cannot remove a file that is not needed", "file", name, "error", err)
		}
	}
}

// removeOld removes what no recovery needs: log files before m, part files that
// m does not name, and what a snapshot that failed has left.
func (d *Door) removeOld(m *snapshot.Manifest) {
	if names, err := d.config.Files.List(); err == nil {
		source{d}.Taken(m, snapshot.Unneeded(names, m))
	}
}

// oldLogs returns which log files no recovery from m needs.
func oldLogs(names []string, m *snapshot.Manifest) []string {
	var old []string
	last := ""
	for _, name := range names {
		start, ok := folder.ParseLogName(name)
		if !ok {
			continue
		}
		if last != "" && start <= m.Position() {
			old = append(old, last)
		}
		last = name
	}
	return old
}
