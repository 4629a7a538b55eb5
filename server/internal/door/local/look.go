package local

// Whether the folder still has the files that a start would need.

import (
	"fmt"
	"slices"

	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/folder"
)

// look looks whether the folder still has all that a start would need. If somebody
// has removed a file, what was in it is in memory only: writes are refused until a
// snapshot has all of it, which the caller takes while look reports true. In a file
// that has no name any more, records would be lost with the process.
func (d *Door) look() bool {
	l := d.log
	l.io.Lock()
	defer l.io.Unlock()
	e := l.err.Load()
	if e != nil && e.final {
		return false
	}
	missing, current := d.missing()
	lost := e != nil && e.lost
	switch {
	case missing == nil && !lost:
		return false
	case missing == nil && d.save.Position() >= d.lostAt:
		l.err.Store(nil)
		d.config.Log.Info("writes are taken again: a snapshot has everything")
		return false
	case missing != nil && (!lost || current):
		d.lostAt = l.position()
		l.err.Store(&logError{err: fmt.Errorf("%w: %w; a snapshot is taken first", door.ErrRefused, missing), lost: true})
		l.failures.Add(1)
		d.config.Log.Error("a file of the data folder is missing: writes are refused until a snapshot has everything", "error", missing)
		if err := l.renew(); err != nil {
			d.config.Log.Warn("cannot begin a new log file", "error", err)
		}
	}
	return true
}

// missing returns which file that a start would need is not there, nil if all are,
// and whether it is the one that is being written to. The caller holds the log's io.
func (d *Door) missing() (missing error, current bool) {
	names, err := d.config.Files.List()
	if err != nil {
		return err, true
	}
	has := func(name string) bool {
		_, found := slices.BinarySearch(names, name)
		return found
	}
	l, from := d.log, d.save.Position()
	for len(l.started) > 1 && l.started[1] <= from {
		l.started = l.started[1:]
	}
	for _, start := range slices.Backward(l.started) {
		if !has(folder.LogName(start)) {
			return fmt.Errorf("%s was removed", folder.LogName(start)), start == l.started[len(l.started)-1]
		}
	}
	return d.save.Missing(names), false
}

// renew begins a new file, since the one that is written to may be removed. The
// caller holds io.
func (l *log) renew() error {
	old := l.file
	if err := l.create(); err != nil {
		return err
	}
	_ = old.Close() // what was in it is in memory
	return nil
}
