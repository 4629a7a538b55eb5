package local

import "io"

// Files is a folder: where log, snapshots and manifest are kept. All file access
// goes through it, so that tests can cut the power.
type Files interface {
	Folder
	// Create makes an empty file, or empties one that is there.
	Create(name string) (File, error)
	// Append opens a file to write behind its end, or to cut it.
	Append(name string) (File, error)
	// Rename gives a file another name, replacing the file that had it.
	Rename(from, to string) error
	// Remove takes a file away.
	Remove(name string) error
	// Sync returns when what Create, Rename and Remove did is durable.
	Sync() error
	// Lock makes the caller the only one, until it closes the lock. The error
	// is ErrLocked if another process has it.
	Lock() (io.Closer, error)
}

// Folder is a folder that is only read.
type Folder interface {
	// Open opens a file to be read from its beginning.
	Open(name string) (Reader, error)
	// List returns the names of all files, sorted.
	List() ([]string, error)
}

// File is a file that is only appended to.
type File interface {
	io.Writer
	// Truncate cuts the file to size. Writes go on behind it.
	Truncate(size int64) error
	// Sync returns when what was written is durable.
	Sync() error
	io.Closer
}

// Reader reads a file.
type Reader interface {
	io.ReadCloser
	// Size returns the length of the file.
	Size() int64
}
