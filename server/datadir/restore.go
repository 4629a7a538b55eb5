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
	"strconv"
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
	// be there. With Nodes it must not be there, and gets a folder for each node: 1, 2 and so on.
	Dir string
	// Lanes is how many streams carry the contents of filters, 1 to 64. The default
	// is 8.
	Lanes int
	// Nodes is over how many servers contents are spread, 3 to 100, and Copies how many of them
	// hold each, 2 to 5. Without them every server holds everything.
	Nodes, Copies int

	done atomic.Int64
}

// Restored is what a Restore has made.
type Restored struct {
	Cluster uint64 // the id of the new cluster
	Names   int
	Bytes   int64 // of the contents, in memory, at the server that has most
	Lanes   int
}

// Done returns how many bytes of From were read. With Nodes all of it is read for each.
func (r *Restore) Done() int64 { return r.done.Load() }

// Run writes the data to Dir. It has in memory what a server holds: all data, or with Nodes one
// share after the other. It changes nothing in From,
// which no server may use meanwhile. If it fails, or ctx ends, Dir is empty again; if
// it is killed, no server starts on Dir, or with Nodes there is no Dir. The error may wrap bloomery.ErrCorrupt,
// ErrInside, ErrLocked, ErrNoData, ErrNotEmpty or ErrUnfinished.
func (r *Restore) Run(ctx context.Context) (done Restored, err error) {
	if err := checkEmpty(r.Dir); err != nil {
		return done, err
	}
	cluster, err := cluster.NewFounding(r.Lanes, r.Nodes, r.Copies)
	if err != nil {
		return done, fmt.Errorf("datadir: restore: %w", err)
	}
	if isWithin(r.Dir, r.From) {
		return done, fmt.Errorf("%w: %s", ErrInside, r.Dir)
	}
	from, closer, err := openSource(r.From)
	if err != nil {
		return done, err
	}
	defer func() { err = errors.Join(err, closer.Close()) }()
	done.Cluster, done.Lanes = cluster.Cluster(), cluster.Lanes()
	one := founding{r, cluster, from, &done}
	if r.Nodes == 0 {
		err = one.node(ctx, r.Dir, 0)
	} else {
		err = one.nodes(ctx)
	}
	if err != nil {
		return Restored{}, fmt.Errorf("datadir: restore: %w", err)
	}
	return done, nil
}

// founding is a restore that runs.
type founding struct {
	*Restore
	cluster *cluster.Founding
	from    folder.Folder
	made    *Restored
}

// unfinished ends the name of the folder that nodes are made in: it gets its own when all of them are.
const unfinished = ".unfinished"

// ErrUnfinished means that a restore was killed, and has left a folder.
var ErrUnfinished = errors.New("datadir: a restore that did not end has left a folder")

// nodes makes the folders of all nodes, and then gives them their place in one step.
func (f founding) nodes(ctx context.Context) error {
	dir := filepath.Clean(f.Dir)
	if _, err := os.Lstat(dir); err == nil {
		return fmt.Errorf("%w: %s is there", ErrNotEmpty, dir)
	}
	making := dir + unfinished
	made, err := makeFolder(making)
	if err == nil && !made {
		err = fmt.Errorf("%w: %s", ErrUnfinished, making)
	}
	if err != nil {
		return err
	}
	for n := 1; n <= f.Nodes && err == nil; n++ {
		err = f.node(ctx, filepath.Join(making, strconv.Itoa(n)), uint32(n))
	}
	if err == nil {
		err = folder.Disk(making).Sync()
	}
	if err == nil {
		err = os.Rename(making, dir)
	}
	if err != nil {
		return errors.Join(err, os.RemoveAll(making))
	}
	return folder.Disk(filepath.Dir(dir)).Sync()
}

// node makes the folder of a node, or of the only one, which has no number yet.
func (f founding) node(ctx context.Context, dir string, number uint32) error {
	state := store.New()
	defer state.Discard()
	if number != 0 {
		f.cluster.Divide(state, number)
	}
	if err := local.Load(counting{f.from, &f.done}, state, ctx.Err); err != nil {
		return err
	}
	made, err := makeFolder(dir)
	if err != nil {
		return err
	}
	if err := f.cluster.Found(stoppable{folder.Disk(dir), ctx}, state, number, time.Now); err != nil {
		if made {
			_ = os.Remove(dir) // if it is empty
		}
		return err
	}
	f.made.Names, f.made.Bytes = state.Names.Len(), max(f.made.Bytes, state.Bytes())
	return nil
}

// isWithin reports whether a folder, which need not be there, is below another one, by whatever path.
func isWithin(dir, of string) bool {
	outer, err := os.Stat(of)
	if err != nil {
		return false // whoever opens it says why
	}
	dir, err = filepath.Abs(dir)
	if err != nil {
		return false
	}
	at, err := filepath.EvalSymlinks(dir)
	for err != nil && dir != filepath.Dir(dir) { // up to a folder that is there
		dir = filepath.Dir(dir)
		at, err = filepath.EvalSymlinks(dir)
	}
	for ; err == nil; at = filepath.Dir(at) {
		if info, err := os.Stat(at); err == nil && os.SameFile(info, outer) {
			return true
		}
		if at == filepath.Dir(at) {
			break
		}
	}
	return false
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
