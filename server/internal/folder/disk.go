package folder

// A folder of the file system, with its lock.

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/internal/regular"
)

var _ Files = Disk("")

// lockName is the file that holds the lock where a folder cannot be locked. It
// holds nothing, and may be left from earlier releases.
const lockName = "LOCK"

// ErrLocked means that another process uses the folder.
var ErrLocked = errors.New("folder: in use by another process")

// Disk is a folder of the file system.
type Disk string

// OpenDisk returns the folder at path, which it makes if it is not there.
func OpenDisk(path string) (Disk, error) {
	if err := os.MkdirAll(path, 0o750); err != nil {
		return "", fmt.Errorf("folder: %w", err)
	}
	return Disk(path), nil
}

func (d Disk) path(name string) string { return filepath.Join(string(d), name) }

// Create implements Files.
func (d Disk) Create(name string) (File, error) {
	return os.OpenFile(d.path(name), os.O_WRONLY|os.O_CREATE|os.O_TRUNC|os.O_APPEND, 0o640)
}

// Append implements Files.
func (d Disk) Append(name string) (File, error) {
	return os.OpenFile(d.path(name), os.O_WRONLY|os.O_APPEND, 0)
}

// Open implements Files. What is not a file is damage: a pipe would never end.
func (d Disk) Open(name string) (Reader, error) {
	f, err := regular.Open(d.path(name))
	if errors.Is(err, regular.Err) {
		return nil, &Damage{name, fmt.Errorf("%w: %w", bloomery.ErrCorrupt, regular.Err)}
	}
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return diskReader{f, info.Size()}, nil
}

// List implements Files. Folders and the lock are not in the list, unless a folder
// has the name of a file that is needed: to open it is an error that names it.
func (d Disk) List() ([]string, error) {
	entries, err := os.ReadDir(string(d))
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if (!e.IsDir() || isOurs(e.Name())) && e.Name() != lockName {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// isOurs reports whether a name is one of a log, a part file or the manifest.
func isOurs(name string) bool {
	_, log := ParseLogName(name)
	_, part := ParsePartName(name)
	return log || part || name == Manifest
}

// Rename implements Files.
func (d Disk) Rename(from, to string) error { return os.Rename(d.path(from), d.path(to)) }

// Remove implements Files.
func (d Disk) Remove(name string) error { return os.Remove(d.path(name)) }

// Sync implements Files.
func (d Disk) Sync() error { return syncFolder(string(d)) }

// Lock implements Files.
func (d Disk) Lock() (io.Closer, error) { return lockFolder(string(d)) }

type diskReader struct {
	*os.File
	size int64
}

func (r diskReader) Size() int64 { return r.size }
