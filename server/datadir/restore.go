package datadir

// Restore: the data of a single server, or of a backup, as the beginning of a cluster.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/bloomery/bloomery/server/internal/door/cluster"
	"github.com/bloomery/bloomery/server/internal/door/local"
	"github.com/bloomery/bloomery/server/internal/folder"
	"github.com/bloomery/bloomery/server/internal/store"
)

// Restore is the data of a single server that is made the beginning of a cluster. The
// zero value of an optional field means its default.
//
// Safe for concurrent use of Done; Run needs exclusion.
type Restore struct {
	// From is the data folder of a single server, what bloomery cluster backup has
	// written, which is the same, or a tar file of one.
	From string
	// Dir is the folder of the first server of Join of a server.Cluster. It must be empty, or not
	// be there.
	Dir string
	// Lanes is how many streams carry the contents of filters, 1 to 64. The default
	// is 8.
	Lanes int

	done atomic.Int64
}

// Restored is what a Restore has made.
type Restored struct {
	Cluster uint64 // the id of the new cluster
	Names   int
	Bytes   int64 // of the contents, in memory
	Lanes   int
}

// Done returns how many bytes of From were read.
func (r *Restore) Done() int64 { return r.done.Load() }

// Run reads all data into memory and writes it to Dir. It changes nothing in From,
// which no server may use meanwhile. If it fails, or ctx ends, Dir is empty again; if
// it is killed, no server starts on Dir. The error may wrap bloomery.ErrCorrupt,
// ErrLocked, ErrNoData or ErrNotEmpty.
func (r *Restore) Run(ctx context.Context) (done Restored, err error) {
	if err := checkEmpty(r.Dir); err != nil {
		return done, err
	}
	from, closer, err := openSource(r.From)
	if err != nil {
		return done, err
	}
	defer func() { err = errors.Join(err, closer.Close()) }()
	state := store.New()
	defer state.Discard()
	if err := local.Load(counting{from, &r.done}, state, ctx.Err); err != nil {
		return done, fmt.Errorf("datadir: restore: %w", err)
	}
	made, err := makeFolder(r.Dir)
	if err != nil {
		return done, fmt.Errorf("datadir: restore: %w", err)
	}
	f, err := cluster.Found(stoppable{folder.Disk(r.Dir), ctx}, state, r.Lanes, time.Now)
	if err != nil {
		if made {
			_ = os.Remove(r.Dir) // if it is empty
		}
		return done, fmt.Errorf("datadir: restore: %w", err)
	}
	return Restored{Cluster: f.Cluster, Names: f.Names, Bytes: state.Bytes(), Lanes: f.Lanes}, nil
}

// checkEmpty refuses a folder with anything in it but what systems put there.
func checkEmpty(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() != "lost+found" && e.Name() != "LOCK" {
			return fmt.Errorf("%w: there is %s in %s", ErrNotEmpty, e.Name(), dir)
		}
	}
	return nil
}

// makeFolder makes a folder that only its owner can use. It reports whether it was not
// there.
func makeFolder(dir string) (made bool, err error) {
	if err = os.MkdirAll(filepath.Dir(filepath.Clean(dir)), 0o750); err != nil {
		return false, err
	}
	err = os.Mkdir(dir, 0o700)
	if errors.Is(err, fs.ErrExist) {
		return false, nil
	}
	return err == nil, err
}

// openSource opens a data folder that no server uses, or a tar file of one.
func openSource(name string) (folder.Folder, io.Closer, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, nil, err
	}
	if info.IsDir() {
		disk := folder.Disk(name)
		lock, err := disk.Lock()
		return disk, lock, err
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, nil, err
	}
	a, err := local.OpenArchive(f, info.Size())
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return a, f, nil
}

// counting counts what is read.
type counting struct {
	folder.Folder
	n *atomic.Int64
}

// Open implements folder.Folder.
func (c counting) Open(name string) (folder.Reader, error) {
	r, err := c.Folder.Open(name)
	if err != nil {
		return nil, err
	}
	return countingReader{r, c.n}, nil
}

type countingReader struct {
	folder.Reader
	n *atomic.Int64
}

func (r countingReader) Read(b []byte) (int, error) {
	n, err := r.Reader.Read(b)
	r.n.Add(int64(n))
	return n, err
}

// stoppable is a folder that nothing more is written to when its context has ended.
type stoppable struct {
	folder.Files
	ctx context.Context //nolint:containedctx // it is that of one call
}

// Create implements folder.Files.
func (s stoppable) Create(name string) (folder.File, error) {
	if err := s.ctx.Err(); err != nil {
		return nil, err
	}
	f, err := s.Files.Create(name)
	if err != nil {
		return nil, err
	}
	return stoppableFile{f, s.ctx}, nil
}

// Rename implements folder.Files.
func (s stoppable) Rename(from, to string) error {
	if err := s.ctx.Err(); err != nil {
		return err
	}
	return s.Files.Rename(from, to)
}

type stoppableFile struct {
	folder.File
	ctx context.Context //nolint:containedctx // it is that of one call
}

func (f stoppableFile) Write(b []byte) (int, error) {
	if err := f.ctx.Err(); err != nil {
		return 0, err
	}
	return f.File.Write(b)
}
