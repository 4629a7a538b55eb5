package server

import (
	"archive/tar"
	"errors"
	"io"
	"os"
	"time"

	"github.com/bloomery/bloomery/server/internal/door/local"
)

// Report describes a data folder, FileReport one of its files.
type (
	Report     = local.Report
	FileReport = local.FileReport
)

// ErrLocked means that another process uses the data folder.
var ErrLocked = local.ErrLocked

// Inspect reads and checks every byte of a data folder that no server uses. It
// changes nothing. The error is that of the file system, or ErrLocked; damage is
// in the report.
func Inspect(dir string) (*Report, error) {
	disk, unlock, err := lockFolder(dir)
	if err != nil {
		return nil, err
	}
	r, err := local.Inspect(disk)
	return r, errors.Join(err, unlock.Close())
}

// Repair does what is safe to a folder that Inspect has reported on: it cuts off
// the torn end of the log and removes files that nothing needs.
func Repair(dir string, r *Report) error {
	disk, unlock, err := lockFolder(dir)
	if err != nil {
		return err
	}
	return errors.Join(local.Repair(disk, r), unlock.Close())
}

// Backup writes the files of a data folder to w as a tar file: the last snapshot
// and the log behind it. A server may be using the folder.
func Backup(dir string, w io.Writer) error {
	t := tar.NewWriter(w)
	now := time.Now()
	err := local.Backup(local.Disk(dir), func(name string, size int64, r io.Reader) error {
		if err := t.WriteHeader(&tar.Header{Name: name, Size: size, Mode: 0o640, ModTime: now, Typeflag: tar.TypeReg}); err != nil {
			return err
		}
		_, err := io.Copy(t, r)
		return err
	})
	return errors.Join(err, t.Close())
}

// lockFolder returns a data folder that no server uses.
func lockFolder(dir string) (local.Disk, io.Closer, error) {
	if _, err := os.Stat(dir); err != nil {
		return "", nil, err
	}
	disk := local.Disk(dir)
	lock, err := disk.Lock()
	return disk, lock, err
}
