package local

// Backup: the files that a recovery needs.

import (
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/bloomery/bloomery/server/internal/folder"
	"github.com/bloomery/bloomery/server/internal/snapshot"
)

// ErrNoData means that a folder is not one of a server.
var ErrNoData = errors.New("local: not a data folder: there is no manifest, log or part file in it")

// Backup passes every file that a recovery needs to put, with its size. The
// folder may be in use: what is written meanwhile is in the copy or not, but the
// copy is always one that recovers. It holds all files open, so that a snapshot
// that is taken meanwhile cannot remove them. A folder without a log is an error:
// every server that has started has one.
func Backup(files folder.Folder, put func(name string, size int64, r io.Reader) error) error {
	h, err := snapshot.Hold(files, func(m *snapshot.Manifest) ([]string, error) { return neededLogs(files, m) })
	if err != nil {
		return fmt.Errorf("local: backup: %w", err)
	}
	for i, r := range h.Readers {
		if err == nil {
			err = put(h.Names[i], r.Size(), io.LimitReader(r, r.Size()))
		}
	}
	if err = errors.Join(err, h.Close()); err != nil {
		return fmt.Errorf("local: backup: %w", err)
	}
	return nil
}

// neededLogs returns the log files that a recovery from m needs. The error is
// fs.ErrNotExist if a snapshot was taken meanwhile.
func neededLogs(files folder.Folder, m *snapshot.Manifest) ([]string, error) {
	all, err := files.List()
	if err != nil {
		return nil, err
	}
	logs, err := logFiles(all, m)
	if err != nil {
		return nil, errors.Join(err, fs.ErrNotExist)
	}
	if len(logs) == 0 {
		if err := cutOff(all); err != nil {
			return nil, err
		}
		return nil, ErrNoData
	}
	var names []string
	for _, f := range logs {
		names = append(names, f.name)
	}
	return names, nil
}
