// Package folder is the data folder of a server: its files, which all access goes
// through, so that tests can cut the power ([Files]); their names; and the frames
// that every file is made of. What is in the frames of a log, package local knows;
// of part files and of the manifest, package snapshot.
package folder

import (
	"errors"
	"fmt"
	"io"
	"slices"
)

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
	io.ReaderAt
	// Size returns the length of the file.
	Size() int64
}

// ReadFile reads a whole file into buf, or into a larger one.
func ReadFile(files Folder, name string, buf []byte) ([]byte, error) {
	r, err := files.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }() // it was only read
	buf = slices.Grow(buf[:0], int(r.Size()))[:r.Size()]
	if _, err := io.ReadFull(r, buf); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return buf, nil
}

// Replace puts data into the place of a file: all of it or nothing, also if the power goes
// meanwhile.
func Replace(files Files, name string, data []byte) error {
	temp := name + ".tmp"
	f, err := files.Create(temp)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = files.Rename(temp, name)
	}
	if err == nil {
		err = files.Sync()
	}
	return err
}

// Stoppable returns a folder whose readers ask stop before they read.
func Stoppable(files Folder, stop func() error) Folder { return stoppable{files, stop} }

type stoppable struct {
	Folder
	stop func() error
}

// Open implements Folder.
func (f stoppable) Open(name string) (Reader, error) {
	r, err := f.Folder.Open(name)
	if err != nil {
		return nil, err
	}
	return stoppableReader{r, f.stop}, nil
}

type stoppableReader struct {
	Reader
	stop func() error
}

func (r stoppableReader) Read(p []byte) (int, error) {
	if err := r.stop(); err != nil {
		return 0, err
	}
	return r.Reader.Read(p)
}

// Evict has whoever reads a file next read it from the disk, not from memory of the
// system, where that is possible. What was written to the file is synced.
func Evict(files Folder, name string) {
	if disk, ok := files.(Disk); ok {
		evict(disk.path(name))
	}
}

// Free returns how many bytes the disk of a folder has room for, if that is known.
func Free(files Folder) (bytes uint64, known bool) {
	if disk, ok := files.(Disk); ok {
		return free(string(disk))
	}
	return 0, false
}
