// Package datadir looks after the data folders of servers that are not running: it reads
// and repairs them, backs them up (also while a server runs), and makes the folder of a
// single server the beginning of a cluster.
package datadir

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/server/internal/door/cluster"
	"github.com/bloomery/bloomery/server/internal/door/local"
	"github.com/bloomery/bloomery/server/internal/folder"
)

var (
	// ErrLocked means that another process uses the data folder.
	ErrLocked = folder.ErrLocked
	// ErrNoData means that a folder is not one of a server.
	ErrNoData = local.ErrNoData
	// ErrCluster means that a folder is that of a node of a cluster.
	ErrCluster = local.ErrCluster
	// ErrInside means that a folder would be made inside of the one that is read.
	ErrInside = errors.New("datadir: the folder is inside of the one that is read")
	// ErrNotEmpty means that a folder that data is to be restored into has files already.
	ErrNotEmpty = cluster.ErrNotEmpty
)

// Inspect reads and checks every byte of a data folder that no server uses. It
// changes nothing. The error is that of the file system, ErrLocked or ErrNoData;
// damage is in the report.
func Inspect(dir string) (*Report, error) {
	disk, unlock, err := lockFolder(dir)
	if err != nil {
		return nil, err
	}
	found, err := local.Inspect(disk)
	var remedies map[FileKind]string
	if err == nil {
		remedies, err = nodeFiles(dir, disk, found)
	}
	if err == nil && !found.Data() {
		err = ErrNoData
	}
	if err := errors.Join(err, unlock.Close()); err != nil {
		return nil, err
	}
	return reportOf(found, remedies), nil
}

// Repair does what is safe to a folder that Inspect has reported on: it cuts off
// the torn end of the log and removes files that nothing needs. Damage is an
// error that wraps bloomery.ErrCorrupt, and a report that Inspect did not return
// one that wraps bloomery.ErrParameter.
func Repair(dir string, r *Report) error {
	if r == nil || r.found == nil {
		return fmt.Errorf("datadir: repair: %w: a report that Inspect did not return", bloomery.ErrParameter)
	}
	disk, unlock, err := lockFolder(dir)
	if err != nil {
		return err
	}
	return errors.Join(local.Repair(disk, r.found), unlock.Close())
}

// Drop removes the names whose contents are damaged or missing, keeps all others
// and returns what it has removed. It is for a folder of which Inspect has
// reported that it is Droppable, and writes a snapshot of all that is left.
// Damaged files stay in the folder under another name, which ends in ".damaged".
func Drop(dir string, log *slog.Logger) ([]string, error) {
	if _, err := os.Stat(dir); err != nil {
		return nil, err
	}
	return local.Drop(folder.Disk(dir), log)
}

// Backup writes the files of a data folder to w as a tar file: the last snapshot
// and the log behind it. A server may be using the folder. CheckBackup reads the
// result.
func Backup(dir string, w io.Writer) error {
	t := tar.NewWriter(w)
	now := time.Now().Truncate(time.Second) // tar rounds, perhaps into the future, of which unpacking warns
	err := local.Backup(folder.Disk(dir), func(name string, size int64, r io.Reader) error {
		if err := t.WriteHeader(&tar.Header{Name: name, Size: size, Mode: 0o640, ModTime: now, Typeflag: tar.TypeReg}); err != nil {
			return err
		}
		_, err := io.Copy(t, r)
		return err
	})
	return errors.Join(err, t.Close())
}

// CheckBackup reads a tar file that Backup wrote, size bytes of r: every frame of
// every file, and that all that a start needs is there. It needs little memory.
// The error wraps bloomery.ErrCorrupt, or is that of r.
func CheckBackup(r io.ReaderAt, size int64) error {
	return local.CheckArchive(r, size)
}

// Check reads a data folder that no server uses: every frame of every file, and
// that all that a start needs is there. It needs little memory. The error wraps
// bloomery.ErrCorrupt, or is that of the file system.
func Check(dir string) error { return local.Check(folder.Disk(dir)) }

// lockFolder returns a data folder that no server uses.
func lockFolder(dir string) (folder.Disk, io.Closer, error) {
	if _, err := os.Stat(dir); err != nil {
		return "", nil, err
	}
	disk := folder.Disk(dir)
	lock, err := disk.Lock()
	return disk, lock, err
}
