package local

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
)

// ErrNoData means that a folder is not one of a server.
var ErrNoData = errors.New("local: not a data folder: there is no manifest, log or part file in it")

// Backup passes every file that a recovery needs to put, with its size. The
// folder may be in use: what is written meanwhile is in the copy or not, but the
// copy is always one that recovers. It holds all files open, so that a snapshot
// that is taken meanwhile cannot remove them. A folder without a log is an error:
// every server that has started has one.
func Backup(files Folder, put func(name string, size int64, r io.Reader) error) error {
	const tries = 10
	var missing error
	for range tries {
		names, readers, err := openAll(files)
		if errors.Is(err, fs.ErrNotExist) {
			missing = err // a snapshot was taken, or it is not there at all
			continue
		}
		if err != nil {
			return fmt.Errorf("local: backup: %w", err)
		}
		for i, r := range readers {
			if err == nil {
				err = put(names[i], r.Size(), io.LimitReader(r, r.Size()))
			}
			err = errors.Join(err, r.Close())
		}
		if err != nil {
			return fmt.Errorf("local: backup: %w", err)
		}
		return nil
	}
	return fmt.Errorf("local: backup: after %d tries: %w", tries, missing)
}

// openAll opens the files that a recovery needs. The error is fs.ErrNotExist if
// a snapshot was taken meanwhile.
func openAll(files Folder) (names []string, readers []Reader, err error) {
	defer func() {
		if err == nil {
			return
		}
		for _, r := range readers {
			_ = r.Close()
		}
	}()
	m, err := readManifest(files)
	if err != nil {
		return nil, nil, err
	}
	if m == nil {
		m = &manifest{}
	} else {
		names = append(names, manifestName)
	}
	seen := map[uint64]bool{}
	for i := range m.items {
		if it := &m.items[i]; !it.gone && !seen[it.file] {
			seen[it.file] = true
			names = append(names, partName(it.file))
		}
	}
	all, err := files.List()
	if err != nil {
		return nil, nil, err
	}
	logs, err := logFiles(all, m)
	if err != nil {
		return nil, nil, errors.Join(err, fs.ErrNotExist)
	}
	if len(logs) == 0 {
		if err := cutOff(all); err != nil {
			return nil, nil, err
		}
		return nil, nil, ErrNoData
	}
	for _, f := range logs {
		names = append(names, f.name)
	}
	for _, name := range names {
		r, err := files.Open(name)
		if err != nil {
			return nil, readers, err
		}
		readers = append(readers, r)
	}
	again, err := readManifest(files)
	if err == nil && again != nil && again.number != m.number {
		err = fmt.Errorf("snapshots are taken all the time: %w", fs.ErrNotExist)
	}
	return names, readers, err
}
