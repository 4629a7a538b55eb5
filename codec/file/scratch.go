package file

import (
	"fmt"
	"os"
	"sync/atomic"
)

// Scratch is a temporary file for static filters whose keys do not fit into
// memory, as fuse.Config and ribbon.Config take it. Where the system allows,
// its name is gone from the folder before anything is written, so that nothing
// is left behind whatever happens, a crash included; else Close removes it.
//
// Safe for concurrent use.
type Scratch struct {
	file   *os.File
	dir    string
	remove bool // when it is closed
	closed atomic.Bool
}

// NewScratch returns an empty Scratch in a folder, "" for that of the system.
// The folder should lie on a disk: there are systems whose temporary folder is
// memory. Errors are those of the file system.
func NewScratch(dir string) (*Scratch, error) {
	if dir == "" {
		dir = os.TempDir()
	}
	f, err := os.CreateTemp(dir, "bloomery-*.scratch")
	if err != nil {
		return nil, fmt.Errorf("file: scratch in %s: %w", dir, cause(err))
	}
	return &Scratch{file: f, dir: dir, remove: os.Remove(f.Name()) != nil}, nil
}

// ReadAt reads len(b) bytes from an offset, see io.ReaderAt.
func (s *Scratch) ReadAt(b []byte, at int64) (int, error) { return s.file.ReadAt(b, at) }

// WriteAt writes b at an offset, see io.WriterAt. The error names the folder,
// whose disk is perhaps full.
func (s *Scratch) WriteAt(b []byte, at int64) (int, error) {
	n, err := s.file.WriteAt(b, at)
	if err != nil {
		err = fmt.Errorf("file: scratch in %s: %w", s.dir, cause(err))
	}
	return n, err
}

// Close releases the file and its space on the disk. A second Close does
// nothing.
func (s *Scratch) Close() error {
	if s.closed.Swap(true) {
		return nil
	}
	err := s.file.Close()
	if s.remove {
		if e := os.Remove(s.file.Name()); err == nil {
			err = e
		}
	}
	if err != nil {
		return fmt.Errorf("file: scratch in %s: %w", s.dir, cause(err))
	}
	return nil
}
